"""Crash matrix rows of branches: the first write to a table, and creating and deleting a branch."""

import json
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

import omnigraph
from omnigraph.errors import BranchNotFound
from omnigraph.graph import Graph
from support import harbor
from support.crash_cases import Case
from support.raw_tables import refs_of_tables
from support.writer_child import BRANCH_KINDS
from support.writers import run_child, sweep_until_free

FORK_CASES = [
    Case(row=28, point="fork.before_create", action="kill", outcome="old", settled="dropped"),
    Case(row=28, point="fork.before_create", action="error", outcome="old"),
    Case(row=28, point="fork.before_create", action="kill", skip=1, outcome="old", settled="rolled_back"),
    Case(row=30, point="fork.create_ack_lost", action="kill", outcome="old", settled="dropped"),
    Case(row=30, point="fork.create_ack_lost", action="error", outcome="new", succeeds=True),
    Case(row=30, point="fork.after_create", action="kill", outcome="old", settled="dropped"),
    Case(row=30, point="fork.after_create", action="error", outcome="old"),
    Case(row=31, point="fork.after_create", action="kill", skip=1, outcome="old", settled="rolled_back"),
    Case(row=32, point="fork.after_commit", action="kill", outcome="old", settled="rolled_back"),
    Case(row=32, point="fork.after_commit", action="error", outcome="old"),
    Case(row=33, point="fork.after_commit", action="kill", skip=3, outcome="new", settled="rolled_forward"),
    Case(row=33, point="write.after_effects", action="kill", outcome="new", settled="rolled_forward"),
    Case(row=33, point="write.after_publish", action="kill", outcome="new", settled="finished"),
]

FORK_RECOVERY_CASES = [
    Case(row=75, point="recover.after_fork_delete", action=action, skip=skip, outcome="old")
    for action in ("kill", "error")
    for skip in (0, 1)
]


@pytest.fixture(scope="module")
def expected_after(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    contents = {}
    for kind in ("branch_load", "branch_mutation"):
        graph = harbor.new_graph(str(tmp_path_factory.mktemp(kind) / "graph.omni"))
        graph.branches.create("review")
        BRANCH_KINDS[kind](graph)
        contents[kind] = harbor.content(graph, branch="review")
    return contents


@pytest.fixture(
    params=[("local", "branch_load"), ("local", "branch_mutation"), ("s3", "branch_load")],
    ids="-".join,
)
def store_and_kind(request: pytest.FixtureRequest) -> tuple[str, str]:
    store, kind = request.param
    return str(request.getfixturevalue(f"{store}_root")), kind


@pytest.mark.parametrize("case", FORK_CASES, ids=lambda case: case.id)
def test_a_first_write_to_a_table_leaves_all_or_nothing(
    store_and_kind: tuple[str, str], case: Case, expected_after: dict[str, str]
) -> None:
    uri, kind = store_and_kind
    graph = harbor.new_graph(uri)
    graph.branches.create("review")
    before = harbor.content(graph, branch="review")
    main_before = harbor.content(graph)

    status, said = run_child(uri, kind, case.failpoint)

    assert status == (-signal.SIGKILL if case.action == "kill" else 0), said
    if case.action == "error":
        assert said["ok"] is case.succeeds, said
    reader = omnigraph.open(uri, read_only=True)
    assert harbor.content(reader, branch="review") in {before, expected_after[kind]}
    settled = sweep_until_free(harbor.open_with_short_leases(uri))
    assert [operation.outcome for operation in settled] == ([case.settled] if case.settled else [])
    assert harbor.content(graph, branch="review") == (before if case.outcome == "old" else expected_after[kind])
    assert harbor.content(graph) == main_before
    assert harbor.pending(graph) == []
    if case.outcome == "old":
        assert refs_of_tables(graph) == set()
    BRANCH_KINDS[kind](harbor.open_with_short_leases(uri))
    assert harbor.content(graph, branch="review") == expected_after[kind]


@pytest.mark.parametrize("case", FORK_RECOVERY_CASES, ids=lambda case: case.id)
def test_row_75_a_recovery_that_dies_among_forks_is_finished_by_the_next(store_root: str, case: Case) -> None:
    graph = harbor.new_graph(store_root)
    graph.branches.create("review")
    before = harbor.content(graph, branch="review")
    run_child(store_root, "branch_load", "fork.after_commit:kill:1")

    status, said = run_child(store_root, "recover", case.failpoint)

    assert status == (-signal.SIGKILL if case.action == "kill" else 0), said
    assert said.get("ok") is not True
    settled = sweep_until_free(harbor.open_with_short_leases(store_root))
    assert [operation.outcome for operation in settled] == ["rolled_back"]
    assert harbor.content(graph, branch="review") == before
    assert refs_of_tables(graph) == set()
    assert len(graph.recoveries()) == 1


def test_row_29_a_tree_whose_ref_is_missing_is_nothing(local_root: str, expected_after: dict[str, str]) -> None:
    graph = harbor.new_graph(local_root)
    graph.branches.create("review")
    run_child(local_root, "branch_load", "fork.after_create:kill")
    for reference in Path(local_root).glob("*/*/_refs/branches/review*"):
        reference.unlink()

    (settled,) = graph.recover().recovered

    assert settled.outcome == "dropped"
    assert refs_of_tables(graph) == set()
    BRANCH_KINDS["branch_load"](graph)
    assert harbor.content(graph, branch="review") == expected_after["branch_load"]


def exists(graph: Graph) -> bool:
    return "review" in [branch.name for branch in graph.branches.list()]


@pytest.mark.parametrize(
    ("point", "survives"), [("branch.create.before_ref", False), ("branch.create.after_ref", True)]
)
@pytest.mark.parametrize("action", ["kill", "error"])
def test_rows_56_57_a_creation_that_dies_made_the_branch_or_did_not(
    store_root: str, point: str, survives: bool, action: str
) -> None:
    graph = harbor.new_graph(store_root)

    run_child(store_root, "branch_create", f"{point}:{action}")

    assert exists(graph) is survives
    assert harbor.content(graph, branch="review" if survives else None) == harbor.content(graph)
    if not survives:
        wait_for(store_root, lambda late: late.branches.create("review"))
        assert exists(graph)


def wait_for(uri: str, work: Callable[[Graph], object]) -> None:
    """Do something once the lease of a dead process has run out."""
    from omnigraph.base import clock

    graph = harbor.open_with_short_leases(uri)

    def done() -> bool:
        try:
            work(graph)
        except omnigraph.errors.BranchBusy:
            return False
        return True

    assert clock.wait_until(done, timeout_seconds=60, pause_seconds=0.2)


def test_row_56_files_of_a_creation_without_a_ref_are_in_nobodys_way(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    graph.branches.create("review")
    next(Path(local_root, "__manifest", "_refs", "branches").iterdir()).unlink()

    assert not exists(graph)
    with pytest.raises(BranchNotFound):
        graph.snapshot("review")
    graph.branches.create("review")
    assert graph.snapshot("review").graph_version == 2


@pytest.mark.parametrize("point", ["branch.delete.after_ref", "branch.delete.after_some_forks"])
@pytest.mark.parametrize("action", ["kill", "error"])
def test_rows_58_59_a_deletion_that_dies_removed_the_branch(store_root: str, point: str, action: str) -> None:
    graph = harbor.new_graph(store_root)
    graph.branches.create("review")
    BRANCH_KINDS["branch_load"](graph)

    status, said = run_child(store_root, "branch_delete", f"{point}:{action}")

    assert (status, said.get("ok")) in {(-signal.SIGKILL, None), (0, True), (0, False)}, json.dumps(said)
    assert not exists(graph)
    with pytest.raises(BranchNotFound):
        graph.snapshot("review")
    wait_for(store_root, lambda late: late.branches.create("review"))
    assert harbor.content(graph, branch="review") == harbor.content(graph)


def test_rows_19_20_an_operation_of_a_deleted_branch_is_discarded(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    graph.branches.create("review")
    run_child(local_root, "branch_load", "write.after_effects:kill")
    reference = next(Path(local_root, "__manifest", "_refs", "branches").iterdir())
    reference.unlink()
    graph.branches.create("review")
    fresh = harbor.content(graph, branch="review")

    (settled,) = graph.recover().recovered

    assert settled.outcome == "orphaned_branch_discarded"
    assert harbor.content(graph, branch="review") == fresh
    assert [record.recovery_kind for record in graph.recoveries()] == ["orphaned_branch_discarded"]


def test_row_22_a_blocked_operation_of_one_branch_blocks_no_other(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    graph.branches.create("review")
    run_child(local_root, "load_append", "write.after_effects:kill")
    run_child(local_root, "branch_load", "write.after_effects:kill")
    pin = next(pin for pin in graph.snapshot().tables if pin.type_name == "Ship")
    Path(local_root, pin.location).rename(Path(local_root).parent / "lost")

    swept = graph.recover()

    assert {blocked.branch for blocked in swept.blocked} >= {"main"}
    assert graph.snapshot("review").table("Sailor").count_rows() in {3, 4}
    assert graph.snapshot().table("Sailor").count_rows() == 3
