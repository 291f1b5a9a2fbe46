"""What N counts: published versions, so that the newest N graph versions of a branch stay readable as a whole."""

from datetime import timedelta

import pytest

import omnigraph
from omnigraph.errors import HistoricalVersionReclaimed, InvalidTarget
from omnigraph.graph import Graph
from omnigraph.maintenance.cleanup.policy import CleanupPolicy
from omnigraph.maintenance.cleanup.report import CleanupReport, CleanupRow, as_document
from omnigraph.storage.retention import stored_versions
from support import harbor


def with_rounds(uri: str, rounds: int) -> Graph:
    """Make a history of two writes and one optimize each round, as a busy graph that is maintained has it."""
    graph = harbor.new_graph(uri)
    for number in range(rounds):
        graph.load(harbor.lines([harbor.sailor(f"a{number}"), harbor.ship(f"b{number}")]), mode="append")
        with graph.write() as batch:
            batch.update("Sailor", {"age": number}, ids=["Bo"])
        graph.optimize()
    return graph


def row_of(report: CleanupReport, key: str = "node:Sailor") -> CleanupRow:
    return next(row for row in report.rows if (row.table_key, row.branch) == (key, None))


def can_read(graph: Graph, version: int, branch: str = "main") -> bool:
    """Whether all of a graph version can be read, on a handle that knows nothing yet."""
    try:
        harbor.content(omnigraph.open(graph.uri), branch=branch, version=version)
    except HistoricalVersionReclaimed:
        return False
    return True


def test_the_steps_of_an_optimize_use_up_no_place(store_root: str) -> None:
    graph = with_rounds(store_root, rounds=4)
    head = graph.snapshot().graph_version
    ids = {commit.graph_version: commit.graph_commit_id for commit in graph.commits()}

    preview = graph.cleanup(keep=5)
    done = graph.cleanup(keep=5, confirm=True)

    assert done.failed == ()
    readable = [version for version in range(1, head + 1) if can_read(graph, version)]
    assert set(readable) >= set(range(head - 4, head + 1))
    assert preview.readable_from == done.readable_from == {"main": min(readable)}
    assert readable == list(range(min(readable), head + 1))
    assert preview.commits_lost == done.commits_lost
    assert set(done.commits_lost) == {ids[version] for version in range(1, head + 1) if version not in readable}
    assert as_document(done)["commits_lost"] == [ids[version] for version in range(min(readable) - 1, 0, -1)]
    assert graph.cleanup(keep=5, confirm=True).commits_lost == ()


def test_the_default_keeps_ten_graph_versions_of_a_maintained_graph(local_root: str) -> None:
    graph = with_rounds(local_root, rounds=8)
    head = graph.snapshot().graph_version

    report = graph.cleanup(keep=10, confirm=True)

    assert all(can_read(graph, version) for version in range(head - 9, head + 1))
    oldest = report.readable_from["main"]
    assert oldest is not None
    assert oldest <= head - 9


def test_steps_go_as_soon_as_nothing_protects_them(local_root: str) -> None:
    graph = with_rounds(local_root, rounds=3)
    objects = graph._context.store.objects
    address = next(pin.address for pin in graph.snapshot().tables if pin.type_name == "Sailor")
    published = {
        pin.version
        for version in range(1, graph.snapshot().graph_version + 1)
        for pin in graph.snapshot(version=version).tables
        if pin.type_name == "Sailor"
    }
    assert {stored.version for stored in stored_versions(objects, address)} > published
    graph._context.store.tables.forget_table(address.location)

    report = graph.cleanup(keep=1_000, confirm=True)

    assert {stored.version for stored in stored_versions(objects, address)} == published
    assert (report.commits_lost, report.readable_from) == ((), {"main": 1})
    assert row_of(report).removed.versions > 0


def test_young_steps_stay_where_an_age_is_given(local_root: str) -> None:
    graph = with_rounds(local_root, rounds=2)

    report = graph.cleanup(keep=1_000, older_than=timedelta(days=1), confirm=True)

    assert sum(row.removed.versions for row in report.rows) == 0


def test_the_past_of_a_branch_stays_readable_across_its_forks(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    graph.branches.create("review")
    for number in range(3):
        graph.load(harbor.lines([harbor.ship(f"r{number}")]), mode="append", branch="review")
        graph.load(harbor.lines([harbor.sailor(f"m{number}")]), mode="append")
    graph.load(harbor.lines([harbor.sailor("Flo")]), mode="append", branch="review")
    head = graph.snapshot("review").graph_version

    report = graph.cleanup(keep=3, confirm=True)

    assert report.readable_from.keys() == {"main", "review"}
    for branch, oldest in report.readable_from.items():
        newest = graph.snapshot(branch).graph_version
        assert oldest is not None
        assert oldest <= newest - 2
        assert all(can_read(graph, version, branch) for version in range(oldest, newest + 1))
    assert head == graph.snapshot("review").graph_version


def test_a_policy_is_one_value_or_keywords(local_root: str) -> None:
    graph = harbor.new_graph(local_root)

    assert graph.cleanup(keep=2).policy == graph.cleanup(CleanupPolicy(keep_versions=2)).policy
    assert graph.cleanup(older_than="7d").policy == CleanupPolicy(older_than=timedelta(days=7))
    assert graph.cleanup(older_than=timedelta(days=7)).policy == CleanupPolicy(older_than=timedelta(days=7))
    with pytest.raises(InvalidTarget, match="keep=10"):
        graph.cleanup()
    with pytest.raises(InvalidTarget, match="not both"):
        graph.cleanup(CleanupPolicy(keep_versions=2), keep=3)
    with pytest.raises(InvalidTarget, match="is not a duration"):
        graph.cleanup(older_than="a week")
    with pytest.raises(InvalidTarget, match="keep 1"):
        graph.cleanup(keep=0)
