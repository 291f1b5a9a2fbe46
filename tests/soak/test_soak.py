"""The short form of `make soak`."""

import pytest

from soak.places import local_place, s3_place
from soak.run import CREWS, SPECIALISTS, soak


def _expect_nothing_lost(report):
    print("\n".join(report.lines()))
    assert report.findings == []
    assert report.lost == 0
    assert report.kills.total() > 3
    assert report.acknowledged > 10
    assert report.versions_read >= report.acknowledged


@pytest.mark.slow
def test_killed_writers_lose_nothing_and_every_version_reads_back() -> None:
    _expect_nothing_lost(soak(20, seed=4711, crews=CREWS, places=(local_place,)))


@pytest.mark.slow
@pytest.mark.parametrize("place", [local_place, s3_place])
def test_all_verbs_together_lose_nothing(place) -> None:
    _expect_nothing_lost(soak(45, seed=4712, crews=(*CREWS, *SPECIALISTS), places=(place,)))
