"""What a comparison reads is kept from a cleanup that runs meanwhile, and only for as long as it reads."""

import pytest

import omnigraph
from omnigraph.errors import MaintenanceLocked, StorageError
from omnigraph.graph import Graph
from omnigraph.graphs import holding
from omnigraph.storage.locks import list_reader_leases
from support import harbor


@pytest.fixture
def graph(local_root: str) -> Graph:
    graph = harbor.new_graph(local_root)
    with graph.write() as batch:
        batch.update("Sailor", {"age": 1}, ids=["Ana", "Bo"])
    return graph


def leases(graph: Graph) -> list[tuple[str, set[tuple[str, int]]]]:
    found = list_reader_leases(graph._context.store.objects, store_clock=None)
    return [
        (lease.holder.operation, {(pinned.address.location, pinned.version) for pinned in lease.versions})
        for lease in found
    ]


def test_a_diff_holds_both_versions_of_the_tables_it_compares_while_it_is_read(graph: Graph) -> None:
    pins = [next(pin for pin in graph.snapshot_at(at).tables if pin.type_name == "Sailor") for at in ("main~1", "main")]
    changes = iter(graph.diff("main~1", "main"))

    assert leases(graph) == []
    next(changes)
    assert leases(graph) == [("diff", {(pin.location, pin.version) for pin in pins})]
    assert len(list(changes)) == 1
    assert leases(graph) == []


@pytest.mark.parametrize("read", ["counts", "page", "of_commit", "poll"])
def test_every_way_to_read_changes_holds_and_lets_go(graph: Graph, read: str, monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[str] = []
    hold = holding.hold_versions
    monkeypatch.setattr(
        holding,
        "hold_versions",
        lambda context, pins, *, operation: held.append(operation) or hold(context, pins, operation=operation),
    )
    ways = {
        "counts": lambda: graph.diff("main~1", "main").counts(),
        "page": lambda: graph.diff("main~1", "main").page(),
        "of_commit": lambda: graph.changes.of_commit(graph.snapshot().commit_id).counts(),
        "poll": lambda: graph.changes.poll(start=f"after:{graph.snapshot_at('main~1').commit_id}"),
    }

    ways[read]()

    assert held == ["diff"]
    assert leases(graph) == []


def test_a_poll_with_nothing_new_and_a_diff_of_nothing_put_no_lease(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(holding, "hold_versions", None)

    assert graph.changes.poll().caught_up
    assert graph.diff("main", "main").counts() == ()


@pytest.mark.parametrize(
    "refused", [StorageError("read only", storage_kind="denied", uri="x"), MaintenanceLocked("busy")]
)
def test_who_cannot_hold_versions_reads_all_the_same(
    graph: Graph, refused: Exception, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*arguments: object, **options: object) -> None:
        raise refused

    monkeypatch.setattr(holding, "hold_versions", refuse)

    (counts,) = graph.diff("main~1", "main").counts()

    assert counts.updated == 2
    assert "not protected from a cleanup" in caplog.text


def test_a_merge_holds_its_source_and_its_bases_while_it_is_planned(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    from omnigraph.branches.merge import ways

    graph.branches.create("review")
    base = graph.snapshot().tables
    for branch, age in (("review", 5), ("main", 6)):
        with graph.write(branch=branch) as batch:
            batch.update("Sailor", {"age": age}, ids=["Ana" if branch == "main" else "Bo"])
    seen: list[tuple[str, set[tuple[str, int]]]] = []
    plan = ways.plan_in_process
    monkeypatch.setattr(
        ways,
        "plan_in_process",
        lambda *arguments, **options: seen.extend(leases(graph)) or plan(*arguments, **options),
    )

    omnigraph.open(graph.uri, read_only=True).branches.merge("review", dry_run=True)

    compared = [pin for pin in (*base, *graph.snapshot("review").tables) if pin.type_name == "Sailor"]
    wanted = {(pin.location, pin.version) for pin in compared}
    assert [operation for operation, _ in seen] == ["branch merge"]
    assert seen[0][1] == wanted
    assert leases(graph) == []
