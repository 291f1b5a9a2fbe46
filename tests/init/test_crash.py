"""Crash matrix rows 61 to 63: an init that dies or breaks anywhere leaves no graph, or a whole one."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import omnigraph
from omnigraph.errors import (
    AlreadyInitialized,
    Effect,
    GraphNotFound,
    InitClaimed,
    InitIndeterminate,
    StorageError,
)
from omnigraph.storage.store import GraphStore
from support import harbor
from support.crash_cases import INIT_CASES, Case
from support.faulty_s3 import Answer, FaultyS3, LoseAnswer
from support.forks import run_module
from support.processes import child_environment

RACERS = 4

UNBORN = [case for case in INIT_CASES if case.outcome == "old"]
BORN = [case for case in INIT_CASES if case.outcome == "new"]
KILLED_UNBORN = [case for case in UNBORN if case.action == "kill"]
BROKEN_UNBORN = [case for case in UNBORN if case.action == "error"]


def start_init(uri: str, *words: str, failpoint: str | None = None) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "support.init_child", uri, *words],
        env=_environment(failpoint),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def run_init(uri: str, *words: str, failpoint: str | None = None) -> tuple[int, dict[str, object]]:
    """Init in a child process; return its exit status and what it said."""
    done = run_module("support.init_child", [uri, *words], _environment(failpoint))
    return done.returncode, json.loads(done.stdout) if done.stdout.strip() else {}


def _environment(failpoint: str | None) -> dict[str, str]:
    return child_environment() if failpoint is None else child_environment(OMNIGRAPH_FAILPOINT=failpoint)


def objects_of(uri: str) -> list[str]:
    """Return everything below the root but locks, which say nothing about a graph."""
    return [path for path in GraphStore.open(uri).objects.list("") if not path.startswith("__locks/")]


def assert_whole_and_clean(uri: str) -> None:
    """Check that a graph works and that nothing lies around that it does not name."""
    graph = omnigraph.open(uri)
    pins = graph.snapshot().tables
    graph.load(harbor.lines(harbor.CREW), mode="append")
    assert harbor.pins_equal_heads(graph)
    assert [commit.kind for commit in graph.commits()] == ["load", "genesis"]
    located = {path.rpartition("/_versions")[0] for path in objects_of(uri) if "/_versions/" in path}
    assert {name for name in located if name.startswith(("nodes/", "edges/"))} == {pin.location for pin in pins}
    schemas = [path for path in objects_of(uri) if path.startswith("_schemas/")]
    assert len(schemas) == len({"source", "ir"})
    assert "__init_claim.json" not in objects_of(uri)


def assert_no_graph(uri: str) -> None:
    for read_only in (True, False):
        with pytest.raises(GraphNotFound):
            omnigraph.open(uri, read_only=read_only)


@pytest.mark.parametrize("case", KILLED_UNBORN, ids=lambda case: case.id)
def test_row_61_an_init_killed_before_the_birth_is_no_graph_until_force_begins_anew(
    store_root: str, case: Case
) -> None:
    status, _ = run_init(store_root, failpoint=case.failpoint)

    assert status == -signal.SIGKILL
    assert_no_graph(store_root)
    left = objects_of(store_root)
    with pytest.raises(InitClaimed, match="--force"):
        omnigraph.init(store_root, harbor.SCHEMA)
    assert objects_of(store_root) == left
    omnigraph.init(store_root, harbor.SCHEMA, force=True)
    assert_whole_and_clean(store_root)


@pytest.mark.parametrize("case", BROKEN_UNBORN, ids=lambda case: case.id)
def test_row_61_an_init_that_fails_before_the_birth_takes_back_what_it_made(store_root: str, case: Case) -> None:
    status, said = run_init(store_root, failpoint=case.failpoint)

    assert (status, said["ok"], said["effect"]) == (0, False, "none")
    assert_no_graph(store_root)
    assert objects_of(store_root) == []
    omnigraph.init(store_root, harbor.SCHEMA)
    assert_whole_and_clean(store_root)


@pytest.mark.parametrize("case", BORN, ids=lambda case: case.id)
def test_rows_62_and_63_from_the_birth_on_the_graph_opens_and_the_next_open_completes_it(
    store_root: str, case: Case
) -> None:
    status, said = run_init(store_root, failpoint=case.failpoint)

    if case.action == "kill":
        assert status == -signal.SIGKILL
    elif case.succeeds:
        assert (status, said["ok"]) == (0, True)
    else:
        assert (said["error"], said["effect"]) == ("init_committed", "published")
    reader = omnigraph.open(store_root, read_only=True)
    files = harbor.files_of(reader)
    assert reader.snapshot().graph_version == 1
    assert [commit.kind for commit in reader.commits()] == ["genesis"]
    assert harbor.files_of(reader) == files
    for force in (False, True):
        with pytest.raises(AlreadyInitialized):
            omnigraph.init(store_root, harbor.SCHEMA, force=force)
    omnigraph.open(store_root)
    assert {"_schema.pg", "_schema.ir.json", "__schema_state.json"} <= set(objects_of(store_root))
    assert_whole_and_clean(store_root)


def test_a_force_that_dies_while_it_clears_is_cleared_by_the_next(local_root: str) -> None:
    run_init(local_root, failpoint="init.after_each_table:kill:4")

    status, _ = run_init(local_root, "force", failpoint="init.after_each_table:kill:1")

    assert status == -signal.SIGKILL
    assert_no_graph(local_root)
    omnigraph.init(local_root, harbor.SCHEMA, force=True)
    assert_whole_and_clean(local_root)


def test_a_birth_that_surely_did_not_happen_is_taken_back(local_root: str) -> None:
    Path(local_root).mkdir()
    Path(local_root, "__manifest").symlink_to("/proc/nothing/here")

    with pytest.raises(StorageError, match="creating __manifest"):
        omnigraph.init(local_root, harbor.SCHEMA)

    Path(local_root, "__manifest").unlink()
    assert objects_of(local_root) == []
    omnigraph.init(local_root, harbor.SCHEMA)
    assert_whole_and_clean(local_root)


@pytest.mark.s3
def test_row_62_a_birth_whose_answer_is_lost_is_recognised(s3_root: str, s3_faults: FaultyS3) -> None:
    s3_faults.break_next(LoseAnswer(), method="PUT", path_contains="__manifest/_versions")

    omnigraph.init(s3_root, harbor.SCHEMA)

    assert s3_faults.rules[0].times == 0
    assert_whole_and_clean(s3_root)


@pytest.mark.s3
def test_a_birth_that_may_yet_happen_leaves_everything_as_it_is(s3_root: str, s3_faults: FaultyS3) -> None:
    s3_faults.break_next(Answer(403), method="PUT", path_contains="__manifest/_versions", times=100)

    with pytest.raises(InitIndeterminate) as failure:
        omnigraph.init(s3_root, harbor.SCHEMA)

    assert failure.value.effect is Effect.UNKNOWN
    assert_no_graph(s3_root)
    assert "__init_claim.json" in objects_of(s3_root)
    assert len([path for path in objects_of(s3_root) if "/_versions/" in path]) == len({"Sailor", "Ship", "Note"}) + 2


def test_remains_without_a_claim_are_refused_and_left_alone(local_root: str) -> None:
    run_init(local_root, failpoint="init.after_each_table:kill")
    Path(local_root, "__init_claim.json").unlink()
    left = objects_of(local_root)

    with pytest.raises(AlreadyInitialized, match="--force"):
        omnigraph.init(local_root, harbor.SCHEMA)

    assert objects_of(local_root) == left
    omnigraph.init(local_root, harbor.SCHEMA, force=True)
    assert_whole_and_clean(local_root)


def test_the_claim_of_a_living_process_is_never_broken(local_root: str) -> None:
    child = start_init(local_root, failpoint="init.after_schemas:pause")
    try:
        os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WNOWAIT)
        for force in (False, True):
            with pytest.raises(InitClaimed, match=str(child.pid)):
                omnigraph.init(local_root, harbor.SCHEMA, force=force)
        child.send_signal(signal.SIGCONT)
        said = json.loads(child.communicate(timeout=60)[0])
    finally:
        child.kill()
        child.wait()

    assert said == {"ok": True}
    assert_whole_and_clean(local_root)


@pytest.fixture(params=["fresh", "force"])
def contested_root(request: pytest.FixtureRequest, store_root: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """A root that several inits want: nobody has been there, or a dead one has and all bring `--force`."""
    if request.param == "force":
        run_init(store_root, failpoint="init.after_each_table:kill:2")
        yield store_root, ("force",)
    else:
        yield store_root, ()


def test_of_racing_inits_exactly_one_wins(contested_root: tuple[str, tuple[str, ...]]) -> None:
    uri, words = contested_root
    racers = [start_init(uri, *words, "wait") for _ in range(RACERS)]
    for racer in racers:
        assert racer.stdout.readline() == "ready\n"

    for racer in racers:
        racer.stdin.write("go\n")
        racer.stdin.flush()
    said = [json.loads(racer.communicate(timeout=120)[0]) for racer in racers]

    assert [racer.returncode for racer in racers] == [0] * RACERS
    losers = [entry["error"] for entry in said if not entry["ok"]]
    assert len(losers) == RACERS - 1, said
    assert set(losers) <= {"init_claimed", "already_initialized"}
    assert_whole_and_clean(uri)
