"""The short form of `make soak`."""

import pytest

from soak.places import Place, local_place, s3_place
from soak.run import CREWS, SPECIALISTS, Report, soak


def _expect_nothing_lost(report: Report, *, kills: int, commits: int) -> None:
    print("\n".join(report.lines()))
    assert report.findings == []
    assert report.lost == 0
    assert report.kills.total() >= kills
    assert report.acknowledged >= commits
    assert report.versions_read >= report.acknowledged


@pytest.mark.slow
def test_killed_writers_lose_nothing_and_every_version_reads_back() -> None:
    _expect_nothing_lost(soak(20, seed=4711, crews=CREWS, places=(local_place,)), kills=3, commits=10)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("place", "seconds", "commits"),
    # On S3 most of the time goes into waiting for the leases of the dead.
    [pytest.param(local_place, 45, 10, id="local"), pytest.param(s3_place, 75, 1, id="s3", marks=pytest.mark.s3)],
)
def test_all_verbs_together_lose_nothing(place: Place, seconds: float, commits: int) -> None:
    report = soak(seconds, seed=4712, crews=(*CREWS, *SPECIALISTS), places=(place,))

    _expect_nothing_lost(report, kills=1, commits=commits)
