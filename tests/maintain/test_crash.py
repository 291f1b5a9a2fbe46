"""Runs that die: wherever a process is killed, the next run finds out what is left to do and does it."""

import os
import signal
import subprocess

import pytest

import omnigraph
from support import harbor
from support.museum import museum, statuses

KILLED = [
    ("maintain.before_step", "none"),
    ("write.after_arm", "none"),
    ("optimize.after_rewrite", "some"),
    ("optimize.before_publish", "some"),
    ("write.after_publish", "all"),
    ("maintain.after_step", "all"),
    ("maintain.before_journal", "all"),
]


@pytest.mark.parametrize(("point", "done"), KILLED)
def test_a_run_that_is_killed_is_completed_by_the_next(tmp_path, program, point, done):
    graphs = museum(str(tmp_path), ["one", "two"], due=["one", "two"])
    rows = {name: harbor.content(graph) for name, graph in graphs.items()}

    killed = subprocess.run(
        [program, "maintain", "--cluster", str(tmp_path), "--quiet"],
        env={**os.environ, "OMNIGRAPH_FAILPOINT": f"{point}:kill"},
        capture_output=True,
        timeout=120,
        check=False,
    )
    report = omnigraph.maintain_cluster(str(tmp_path))
    after = omnigraph.maintain_cluster(str(tmp_path), full=True)

    assert killed.returncode == -signal.SIGKILL
    assert not report.having("failed", "left", "elsewhere")
    assert statuses(report)["two"] == ("nothing_due" if point == "maintain.before_journal" else "done")
    steps = [type(step.step).__name__ for step in report.graphs[0].steps]
    assert ("Recover" in steps) == (done == "some" or point in {"write.after_arm", "write.after_publish"})
    assert statuses(after) == {"one": "nothing_due", "two": "nothing_due"}
    assert {name: harbor.content(graph) for name, graph in graphs.items()} == rows
    assert all(harbor.pins_equal_heads(graph) and not harbor.pending(graph) for graph in graphs.values())


@pytest.mark.parametrize("point", ["maintain.before_step", "maintain.after_step"])
def test_a_step_that_breaks_fails_its_graph_and_the_next_graph_has_its_turn(tmp_path, program, point):
    museum(str(tmp_path), ["one", "two"], due=["one", "two"])

    ran = subprocess.run(
        [program, "maintain", "--cluster", str(tmp_path), "--quiet"],
        env={**os.environ, "OMNIGRAPH_FAILPOINT": f"{point}:error:0:1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert ran.returncode == 1, ran.stderr
    assert f"one: optimize: fail point {point}" in ran.stderr.replace("first: ", "one: ")
    assert statuses(omnigraph.maintain_cluster(str(tmp_path)))["two"] == "nothing_due"
