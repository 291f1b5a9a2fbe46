"""The short form of `make soak`."""

import pytest

from soak.run import soak


@pytest.mark.slow
def test_killed_writers_lose_nothing_and_every_version_reads_back() -> None:
    report = soak(20, seed=4711, maintains=False)

    print("\n".join(report.lines()))
    assert report.findings == []
    assert report.lost == 0
    assert report.kills.total() > 3
    assert report.acknowledged > 10
    assert report.versions_read >= report.acknowledged
