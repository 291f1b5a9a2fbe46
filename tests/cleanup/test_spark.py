"""Cleanup on Spark removes what cleanup in this process removes, from one and the same graph."""

import shutil
from pathlib import Path

import pytest

import omnigraph
from omnigraph.maintenance.cleanup.policy import CleanupPolicy
from support import harbor, library

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def test_both_engines_remove_exactly_what_the_preview_names(tmp_path: Path) -> None:
    graph = library.library(str(tmp_path / "stocked.omni"), loads=5)
    graph.branches.create("review")
    graph.load(harbor.lines([library.book(900)]), mode="append", branch="review")
    graph.optimize()
    policy = CleanupPolicy(keep_versions=1)
    pristine = tmp_path / "pristine"
    shutil.copytree(graph.uri, pristine)
    rows = {}
    for engine in ("local", "spark"):
        # In one place, one after the other: a graph with branches cannot be copied elsewhere.
        shutil.rmtree(graph.uri)
        shutil.copytree(pristine, graph.uri)
        opened = omnigraph.open(graph.uri)
        before = harbor.content(opened), harbor.content(opened, branch="review")
        preview = opened.cleanup(policy).rows

        done = opened.cleanup(policy, confirm=True, engine=engine)

        assert (done.engine, done.rows, done.failed) == (engine, preview, ())
        assert (harbor.content(opened), harbor.content(opened, branch="review")) == before
        rows[engine] = done.rows
    assert rows["local"] == rows["spark"]
    assert sum(row.removed.versions for row in rows["spark"]) > 3
