"""Eight processes merge their branches into main at once: nothing is lost, and nothing of a branch stays behind."""

import os

import pytest

from soak import merging

BRANCHES = int(os.environ.get("OMNIGRAPH_TEST_BRANCHES", "12"))


@pytest.mark.slow
def test_branches_merged_by_many_processes_are_all_in_main(local_root: str) -> None:
    done = merging.run(local_root, branches=BRANCHES)

    print(f"{done.merged} merged, refused: {dict(done.refused)}")
    assert done.findings(BRANCHES) == []
    unneeded, left = done.leftovers()
    assert unneeded > 0, "merges that lost a race have written files"
    assert left == []
