"""The benchmark of queries, with little data: it runs, and whoever it compares gives equal answers."""

import re
import subprocess
import sys

import pytest
from benchmarks.both_ways import Times, both_ways, compared

from support.processes import TESTS, child_environment


def test_every_figure_is_measured_and_all_answers_are_equal():
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "query", "--small"],
        cwd=TESTS.parent,
        env=child_environment(),
        capture_output=True,
        encoding="utf-8",
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3_000:]
    for wanted in (
        "one person by key, a pinned snapshot",
        "one person by key, the head of main",
        "one hop from a key, the head of a branch",
        "two hops from a key",
        "one to three hops",
        "mutual friends of two",
        "triangles at a key",
        "aggregate over one hop of 41 % of people",
        "aggregate over two hops of 41 % of people",
        "the ten oldest people",
        "people by city",
        "all triangles",
        r"10 nearest of [\d,]+ vectors of 384 numbers \| [^|]+ recall 1\.00",
        "10 best of",
        "first hop of a new process, imports aside, image on disk",
        "first hop of a new process, imports aside, no image on disk",
        "`omnigraph query`",
        "memory per edge",
        "memory per node",
        "the hop after a commit of ten edges",
        "per commit of another process that it follows",
        "memory of that reader at the end",
    ):
        assert re.search(wanted, done.stdout), wanted


def test_every_figure_with_and_without_an_image_is_measured_and_answers_are_equal():
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "query_large", "--small"],
        cwd=TESTS.parent,
        env=child_environment(),
        capture_output=True,
        encoding="utf-8",
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3_000:]
    assert "without an image by DuckDB and look-ups" in done.stdout
    for wanted in (
        "hop from a key by look-ups",
        "image of",
        "aggregate over",
        "peak of memory",
        "after a commit of ten",
    ):
        assert wanted in done.stdout


def test_a_figure_shows_the_way_in_which_ours_does_worse():
    ways = (
        Times(way="in blocks", seconds={"ours": 1.0, "theirs": 4.0}),
        Times(way="alternating", seconds={"ours": 2.0, "theirs": 5.0}),
    )
    figure = compared(ways, "ours", "theirs", what="a question", goal=0.5)
    assert (figure.ours, figure.other, figure.compared) == (2.0, 5.0, "theirs, alternating")
    assert compared(ways, "ours", None, what="a question", goal=0.5).ours == 2.0


def test_blocks_run_one_after_the_other_and_alternating_calls_take_turns():
    calls: list[str] = []
    blocks, alternating = both_ways({name: lambda _, name=name: calls.append(name) for name in "ab"}, seconds_max=0)
    assert calls == [*"aaabbb", *"ababab"]
    assert (blocks.way, alternating.way) == ("in blocks", "alternating")
    assert set(blocks.seconds) == set(alternating.seconds) == {"a", "b"}
    assert min(blocks.seconds.values()) == pytest.approx(0, abs=1)
