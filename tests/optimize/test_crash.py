"""Crash matrix rows of optimize: whatever it died of, the rows are the same and what it reached is published."""

import signal

import lance
import pytest
from lance.optimize import Compaction

import omnigraph
from omnigraph.graph import Graph
from omnigraph.storage.tables import TableAddress
from support import harbor, library
from support.crash_cases import Case
from support.library import BOOK, CITES
from support.writers import run_child, sweep_until_free

# `new` means that at least one table has moved and its pin with it; rows are the same in every case.
CASES = [
    Case(row=35, point="optimize.in_task", action="kill", outcome="old"),
    Case(row=35, point="optimize.after_rewrite_tasks", action="kill", outcome="old"),
    Case(row=35, point="optimize.after_rewrite_tasks", action="error", outcome="old"),
    Case(row=5, point="write.after_arm", action="kill", outcome="old", settled="dropped"),
    Case(row=36, point="optimize.after_strip", action="kill", outcome="new", settled="rolled_forward"),
    Case(row=38, point="optimize.after_index_fold", action="kill", outcome="new", settled="rolled_forward"),
    Case(row=38, point="optimize.after_index_build", action="kill", outcome="new", settled="rolled_forward"),
    Case(row=38, point="optimize.after_index_build", action="error", outcome="new", succeeds=True),
    Case(row=38, point="optimize.after_rewrite", action="kill", outcome="new", settled="rolled_forward"),
    Case(row=38, point="optimize.after_rewrite", action="kill", outcome="new", settled="rolled_forward", skip=1),
    Case(row=38, point="optimize.after_address_fold", action="kill", outcome="new", settled="rolled_forward"),
    Case(row=39, point="optimize.before_publish", action="kill", outcome="new", settled="rolled_forward"),
    Case(row=39, point="optimize.before_publish", action="error", outcome="new", succeeds=True),
    Case(row=9, point="write.publish_ack_lost", action="kill", outcome="new", settled="finished"),
    Case(row=11, point="write.after_publish", action="kill", outcome="new", settled="finished"),
    Case(row=42, point="optimize.internal_rewritten", action="kill", outcome="new"),
]
FORESEEING = [
    Case(row=35, point="optimize.after_foresight", action="kill", outcome="old"),
    Case(row=35, point="optimize.after_foresight", action="error", outcome="new", succeeds=True),
    Case(row=38, point="optimize.after_rewrite", action="kill", outcome="new", settled="rolled_forward"),
    Case(row=38, point="optimize.after_foreseen_index", action="kill", outcome="new", settled="rolled_forward"),
    Case(row=39, point="optimize.before_publish", action="kill", outcome="new", settled="rolled_forward"),
]
"""BTREEs are built on the rewritten files before the gates are taken, as they are for large tables."""
ON_A_REF = [
    case
    for case in CASES
    if case.point in {"optimize.after_rewrite", "optimize.after_address_fold"}
    or (case.point, case.action) == ("optimize.before_publish", "kill")
]


def stale_library(uri: str) -> Graph:
    """A graph with every kind of work for optimize: indexes to fold and to rebuild, a setting to strip, fragments."""
    graph = library.library(uri, loads=2)
    graph.optimize()
    books = graph._context.store.tables.fresh_head(_address(graph, BOOK)).dataset
    books.create_scalar_index("title", "NGRAM", name="made_by_hand")
    graph.repair(confirm=True, force=True)
    graph.load(
        harbor.lines([library.book(50), library.book(51), harbor.edge("Cites", "b50", "b0", id="c50")]), mode="append"
    )
    (pin,) = [pin for pin in graph.snapshot().tables if pin.table_key == CITES]
    dataset = graph._context.store.tables.fresh_head(pin.address).dataset
    dataset.update_config({"lance.auto_cleanup.interval": "1", "lance.auto_cleanup.older_than": "999d"})
    graph.repair(confirm=True, force=True)
    return graph


@pytest.mark.parametrize(
    ("store", "case"),
    [("local", case) for case in CASES] + [("s3", case) for case in CASES if case.action == "kill" and not case.skip],
    ids=lambda part: part if isinstance(part, str) else part.id,
)
def test_an_optimize_that_dies_changes_no_row_and_what_it_reached_is_published(
    request: pytest.FixtureRequest, store: str, case: Case
) -> None:
    _dies(str(request.getfixturevalue(f"{store}_root")), "optimize", case)


@pytest.mark.parametrize(
    ("store", "case"),
    [("local", case) for case in FORESEEING] + [("s3", FORESEEING[3])],
    ids=lambda part: part if isinstance(part, str) else part.id,
)
def test_an_optimize_that_builds_on_rewritten_files_dies_as_harmlessly(
    request: pytest.FixtureRequest, store: str, case: Case
) -> None:
    _dies(str(request.getfixturevalue(f"{store}_root")), "foreseeing_optimize", case)


def _dies(uri: str, kind: str, case: Case) -> None:
    graph = stale_library(uri)
    before, version = harbor.content(graph), graph.snapshot().graph_version

    status, said = run_child(uri, kind, case.failpoint)

    assert status == (-signal.SIGKILL if case.action == "kill" else 0), said
    if case.action == "error":
        assert said["ok"] is case.succeeds, said
    assert harbor.content(omnigraph.open(uri, read_only=True)) == before
    graph = harbor.open_with_short_leases(uri)
    swept = sweep_until_free(graph)
    assert [settled.outcome for settled in swept] == ([case.settled] if case.settled else [])
    assert harbor.content(graph) == before
    assert harbor.pins_equal_heads(graph)
    assert harbor.pending(graph) == []
    assert graph.snapshot().graph_version == version + (case.outcome == "new")
    assert graph.commits(limit=1)[0].kind == ("maintenance" if case.outcome == "new" else "repair")
    again = graph.recover()
    assert (again.recovered, again.blocked, again.in_use) == ([], [], [])
    _the_next_run_does_the_rest(graph, before)


def _the_next_run_does_the_rest(graph: Graph, before: str) -> None:
    # On S3 the maintenance lock of the dead run has to run out first.
    result = graph.optimize(wait_seconds=60)
    assert result.failure is None
    assert harbor.content(graph) == before
    assert {library.fragments(graph, key) for key in (BOOK, CITES)} == {1}
    assert set(library.uncovered(graph).values()) == {0}
    library.lookups_agree(graph)
    assert graph.optimize().commit is None


@pytest.mark.parametrize(
    ("kind", "case"),
    [("branch_optimize", case) for case in ON_A_REF if not case.skip]
    + [("foreseeing_branch_optimize", case) for case in FORESEEING if case.settled],
    ids=lambda part: part if isinstance(part, str) else part.id,
)
def test_an_optimize_that_dies_on_a_branch_touches_nothing_of_its_parent(
    local_root: str, kind: str, case: Case
) -> None:
    graph = library.library(local_root, loads=3)
    graph.optimize(max_bytes=1)
    graph.branches.create("review")
    for number in (60, 61):
        graph.load(harbor.lines([library.book(number, "a late edition")]), mode="append", branch="review")
    with graph.write(branch="review") as batch:
        batch.delete("Book", ids=["b4"])
    before, on_main = harbor.content(graph, branch="review"), harbor.content(graph)
    pins = {pin.table_key: pin.version for pin in graph.snapshot().tables}

    status, said = run_child(local_root, kind, case.failpoint)

    assert status == -signal.SIGKILL, said
    graph = harbor.open_with_short_leases(local_root)
    assert harbor.content(graph, branch="review") == before
    assert [settled.outcome for settled in sweep_until_free(graph)] == [case.settled]
    assert harbor.content(graph, branch="review") == before
    (found,) = graph.snapshot("review").table("Book").to_arrow(["id"], where=[("id", "=", "b60")]).to_pylist()
    assert found == {"id": "b60"}
    result = graph.optimize(branch="review")
    assert result.failure is None
    assert harbor.content(graph, branch="review") == before
    assert library.fragments(graph, BOOK, "review") == 1
    assert set(library.uncovered(graph, BOOK, "review").values()) == {0}
    library.lookups_agree(graph, "review")
    library.lookups_agree(graph)
    assert (harbor.content(graph), {pin.table_key: pin.version for pin in graph.snapshot().tables}) == (on_main, pins)


def test_a_reservation_without_its_rewrite_is_rolled_forward(local_root: str) -> None:
    """Row 37: Lance commits a reservation before the rewrite, and a failed compaction leaves it behind."""
    graph = stale_library(local_root)
    graph.load(harbor.lines([library.book(52)]), mode="append")
    before = harbor.content(graph)
    run_child(local_root, "optimize", "write.after_arm:kill")
    _leave_a_reservation(graph._context.store.tables.uri(_address(graph, BOOK)))

    swept = sweep_until_free(harbor.open_with_short_leases(local_root))

    assert [settled.outcome for settled in swept] == ["rolled_forward"]
    graph = omnigraph.open(local_root)
    assert harbor.content(graph) == before
    assert harbor.pins_equal_heads(graph)


def test_a_foreign_append_on_one_table_stays_drift_and_the_others_are_rolled_forward(local_root: str) -> None:
    """Row 41."""
    graph = stale_library(local_root)
    before = harbor.content(graph)
    run_child(local_root, "optimize", "optimize.before_publish:kill")
    address = _address(graph, CITES)
    head = graph._context.store.tables.fresh_head(address)
    rows = head.dataset.to_table().slice(0, 1)
    lance.write_dataset(rows, graph._context.store.tables.uri(address), mode="append")

    swept = sweep_until_free(harbor.open_with_short_leases(local_root))

    graph = omnigraph.open(local_root)
    assert [settled.outcome for settled in swept] == ["rolled_forward"]
    assert harbor.content(graph) == before
    drifted = {row.table_key: row.classification for row in graph.repair().rows if row.classification != "no_drift"}
    assert drifted == {CITES: "suspicious"}
    assert library.fragments(graph, BOOK) == 1


def test_a_publish_on_another_table_meanwhile_does_not_keep_it_from_rolling_forward(local_root: str) -> None:
    """Row 40: the head has moved, and maintenance does not mind."""
    graph = stale_library(local_root)
    run_child(local_root, "optimize", "optimize.before_publish:kill")
    (operation_id,) = harbor.pending(graph)
    objects, path = graph._context.store.objects, f"__recovery/{operation_id}.json"
    sidecar = objects.read(path)
    # Writers settle what is pending first, so the record is hidden from this one, as a slow listing would.
    objects.delete(path)
    graph.load(harbor.lines([{"type": "Shelf", "data": {"label": "top"}}]), mode="append")
    before = harbor.content(graph)
    objects.create(path, sidecar.content)

    swept = sweep_until_free(harbor.open_with_short_leases(local_root))

    assert [settled.outcome for settled in swept] == ["rolled_forward"]
    assert [commit.kind for commit in graph.commits(limit=2)] == ["maintenance", "load"]
    assert harbor.content(graph) == before
    assert harbor.pins_equal_heads(graph)


def _address(graph: Graph, table_key: str) -> TableAddress:
    (pin,) = [pin for pin in graph.snapshot().tables if pin.table_key == table_key]
    return pin.address


def _leave_a_reservation(uri: str) -> None:
    handle = lance.dataset(uri)
    results = [task.execute(handle) for task in Compaction.plan(handle, {}).tasks]
    version = handle.version
    lance.dataset(uri).optimize.optimize_indices()
    with pytest.raises(OSError, match="preempted by concurrent transaction"):
        Compaction.commit(lance.dataset(uri), results)
    assert lance.dataset(uri).version == version + 2
