"""Branches of a whole graph: lazy forks, isolation, creation from the past, deletion, and loads that make one."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

import omnigraph
from omnigraph.errors import (
    BranchExists,
    BranchHasDependents,
    BranchNotFound,
    CommitNotFound,
    InvalidRecord,
    InvalidTarget,
    SnapshotNotFound,
)
from omnigraph.graph import Graph
from support import harbor

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def sailors(graph: Graph, branch: str | None = None) -> set[str]:
    return set(graph.snapshot(branch).table("Sailor").to_arrow(["name"])["name"].to_pylist())


def owned(graph: Graph, name: str) -> tuple[str, ...]:
    return next(branch.owned_tables for branch in graph.branches.list() if branch.name == name)


def test_a_branch_shares_every_table_until_it_writes_to_it(store_root: str) -> None:
    graph = harbor.new_graph(store_root)

    graph.branches.create("review")
    before = owned(graph, "review")
    graph.load(harbor.lines([harbor.sailor("Flo"), harbor.sailor("Bo", "captain")]), mode="merge", branch="review")

    assert before == ()
    assert owned(graph, "review") == ("node:Sailor",)
    assert sailors(graph, "review") == {"Ana", "Bo", "Cy", "Flo"}
    assert sailors(graph) == {"Ana", "Bo", "Cy"}
    promoted = graph.snapshot("review").table("Sailor").to_arrow(["rank"], where=[("name", "=", "Bo")])
    assert promoted["rank"].to_pylist() == ["captain"]


def test_branches_write_next_to_main_and_to_each_other(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    graph.branches.create("left")
    graph.branches.create("right")

    for turn in range(3):
        for branch in ("main", "left", "right"):
            graph.load(harbor.lines([harbor.sailor(f"{branch}{turn}")]), mode="append", branch=branch)

    for branch in ("main", "left", "right"):
        assert sailors(graph, branch) == {"Ana", "Bo", "Cy", *(f"{branch}{turn}" for turn in range(3))}
    assert [commit.graph_branch for commit in graph.commits("left")] == ["left"] * 3 + ["main"] * 2


def test_deletes_and_updates_on_a_branch_leave_its_parent_alone(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    before = harbor.content(graph)
    graph.branches.create("review")

    with graph.write(branch="review") as batch:
        batch.delete("Ship", ids=["S1"])
        batch.update("Sailor", {"age": 77}, ids=["Ana"])
        batch.insert("Note", [{"text": "on the branch"}])

    assert harbor.content(graph) == before
    assert graph.snapshot("review").table("ServesOn").count_rows() == 0
    assert graph.snapshot("review").table("Note").count_rows() == 1


def test_a_branch_of_a_branch_reads_what_its_parent_wrote(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    graph.branches.create("one")
    graph.load(harbor.lines([harbor.sailor("Flo")]), mode="append", branch="one")
    graph.branches.create("two", source="one")

    graph.load(harbor.lines([harbor.sailor("Gus")]), mode="append", branch="two")
    graph.load(harbor.lines([harbor.sailor("Hal")]), mode="append", branch="one")

    assert sailors(graph, "two") == {"Ana", "Bo", "Cy", "Flo", "Gus"}
    assert sailors(graph, "one") == {"Ana", "Bo", "Cy", "Flo", "Hal"}


@pytest.mark.parametrize("address", ["main@2", "commit"])
def test_a_branch_from_the_past_shows_the_past(store_root: str, address: str) -> None:
    graph = harbor.new_graph(store_root)
    past = graph.commits()[0].graph_commit_id
    before = harbor.content(graph)
    for turn in range(3):
        graph.load(harbor.lines([harbor.sailor(f"later{turn}")]), mode="append")

    graph.branches.create("past", source=past if address == "commit" else address)

    assert harbor.content(graph, branch="past") == before
    graph.load(harbor.lines([harbor.sailor("Flo")]), mode="append", branch="past")
    assert sailors(graph, "past") == {"Ana", "Bo", "Cy", "Flo"}
    assert graph.snapshot("past").graph_version == 3


def test_time_travel_reads_commits_of_any_branch(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    graph.branches.create("review")
    commit = graph.load(harbor.lines([harbor.sailor("Flo")]), mode="append", branch="review").commit

    snapshot = graph.snapshot(commit=commit.graph_commit_id)

    assert (snapshot.branch, snapshot.graph_version) == ("review", 3)
    assert graph.snapshot_at("review~1").graph_version == 2
    assert graph.commit(commit.graph_commit_id) == commit
    graph.branches.delete("review")
    with pytest.raises(SnapshotNotFound, match="review"):
        graph.snapshot(commit=commit.graph_commit_id)


def test_a_time_means_the_newest_commit_of_the_branch_that_was_not_made_later(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    loads = [graph.load(harbor.lines([harbor.sailor(name)]), mode="append").commit for name in ("Flo", "Gus", "Ida")]
    moments = [EPOCH + timedelta(microseconds=load.created_at_us) for load in loads]

    for load, moment in zip(loads, moments, strict=True):
        assert graph.snapshot(at=moment).commit_id == load.graph_commit_id
        assert graph.snapshot_at(f"main@{moment.isoformat()}").commit_id == load.graph_commit_id
        elsewhere = moment.astimezone(timezone(timedelta(hours=-7)))
        assert graph.snapshot_at(f"main@{elsewhere.isoformat()}").commit_id == load.graph_commit_id
    assert graph.snapshot(at=moments[1] - timedelta(microseconds=1)).commit_id == loads[0].graph_commit_id
    assert graph.snapshot_at("main@2999-01-01T00:00:00Z").commit_id == loads[2].graph_commit_id
    graph.branches.create("then", source=f"main@{moments[0].isoformat()}")
    assert sailors(graph, "then") == {"Ana", "Bo", "Cy", "Flo"}


@pytest.mark.parametrize("text", ["main@2026-01-31T18:00:00", "main@2026-01-31", "main@yesterday", "main@"])
def test_a_time_without_a_zone_is_no_address(local_root: str, text: str) -> None:
    with pytest.raises(InvalidTarget, match="a time with its zone"):
        harbor.new_graph(local_root).snapshot_at(text)


def test_a_time_before_the_first_commit_names_the_first_commit(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    with pytest.raises(SnapshotNotFound, match=r"did not exist at 1999-.*; its first commit was made at 20"):
        graph.snapshot_at("main@1999-12-31T23:59:59Z")
    with pytest.raises(InvalidTarget, match="in which zone"):
        graph.snapshot(at=datetime(2026, 1, 31))  # noqa: DTZ001  # the mistake to be refused
    with pytest.raises(InvalidTarget, match="which state is meant"):
        graph.snapshot(version=1, at=EPOCH)


def test_a_branch_that_others_need_is_not_deleted(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    graph.branches.create("one")
    graph.load(harbor.lines([harbor.sailor("Flo")]), mode="append", branch="one")
    graph.branches.create("two", source="one")

    with pytest.raises(BranchHasDependents) as refusal:
        graph.branches.delete("one")

    assert refusal.value.details == {"branch": "one", "dependents": ["two"]}
    graph.branches.delete("two")
    graph.branches.delete("one")
    assert [branch.name for branch in graph.branches.list()] == ["main"]


def test_a_name_that_was_deleted_comes_back_empty(store_root: str) -> None:
    graph = harbor.new_graph(store_root)
    for turn in range(3):
        graph.branches.create("review")
        graph.load(harbor.lines([harbor.sailor(f"turn{turn}")]), mode="append", branch="review")
        assert sailors(graph, "review") == {"Ana", "Bo", "Cy", f"turn{turn}"}
        graph.branches.delete("review")

    with pytest.raises(BranchNotFound):
        graph.snapshot("review")


def test_what_cannot_be_created_or_deleted_is_said_by_name(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    graph.branches.create("review")

    with pytest.raises(BranchExists):
        graph.branches.create("review")
    with pytest.raises(BranchNotFound):
        graph.branches.delete("nowhere")
    with pytest.raises(InvalidTarget):
        graph.branches.delete("main")
    with pytest.raises(CommitNotFound):
        graph.branches.create("other", source="01J9ZK3V6Q0T8M7R5N2B4C6D8E")
    with pytest.raises(SnapshotNotFound):
        graph.branches.create("other", source="main@9")


def test_a_load_makes_the_branch_it_needs_and_takes_it_back_when_it_fails(local_root: str) -> None:
    graph = harbor.new_graph(local_root)

    with pytest.raises(BranchNotFound, match="--from"):
        graph.load(harbor.lines([harbor.sailor("Flo")]), mode="append", branch="review")
    with pytest.raises(InvalidRecord):
        graph.load(harbor.lines([{"type": "Boat"}]), mode="append", branch="review", from_branch="main")
    left = [branch.name for branch in graph.branches.list()]
    made = graph.load(harbor.lines([harbor.sailor("Flo")]), mode="append", branch="review", from_branch="main")
    again = graph.load(harbor.lines([harbor.sailor("Gus")]), mode="append", branch="review", from_branch="main")

    assert left == ["main"]
    assert (made.branch_created, made.base_branch) == (True, "main")
    assert (again.branch_created, again.base_branch) == (False, "main")
    assert sailors(graph, "review") == {"Ana", "Bo", "Cy", "Flo", "Gus"}


def test_a_read_only_graph_makes_no_branch(local_root: str) -> None:
    harbor.new_graph(local_root)
    graph = omnigraph.open(local_root, read_only=True)

    with pytest.raises(InvalidTarget):
        graph.branches.create("review")
    assert [branch.name for branch in graph.branches.list()] == ["main"]
