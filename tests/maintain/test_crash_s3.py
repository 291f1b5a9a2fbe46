"""A run that is killed on S3: its leases outlive it by up to a minute, and the first run after that completes it."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator

import pytest

import omnigraph
from support import harbor
from support.museum import museum, statuses


def statuses_until_settled(root: str) -> Iterator[str]:
    """Run again every five seconds, as somebody impatient would, until nothing is in the way."""
    for _ in range(30):
        status = statuses(omnigraph.maintain_cluster(root))["one"]
        yield status
        if status not in {"elsewhere", "left"}:
            return
        time.sleep(5)


@pytest.mark.s3
def test_a_run_that_is_killed_on_s3_is_completed_by_the_next(s3_root, program):
    root = s3_root.rpartition("/")[0]
    graph = museum(root, ["one"], due=["one"])["one"]
    rows = harbor.content(graph)

    killed = subprocess.run(
        [program, "maintain", "--cluster", root, "--quiet"],
        env={**os.environ, "OMNIGRAPH_FAILPOINT": "optimize.before_publish:kill"},
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    seen = list(statuses_until_settled(root))
    after = omnigraph.maintain_cluster(root, full=True)

    # Until its leases have run out nobody can tell that it is dead.
    assert set(seen[:-1]) <= {"elsewhere", "left"}
    assert seen[-1] == "done"
    assert statuses(after) == {"one": "nothing_due"}
    assert harbor.content(graph) == rows
    assert harbor.pins_equal_heads(graph)
    assert not harbor.pending(graph)
