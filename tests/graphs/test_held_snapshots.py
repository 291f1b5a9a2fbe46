"""A snapshot that somebody holds is kept from a cleanup elsewhere; where it cannot be, reads say what happened."""

import gc
import io
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import omnigraph
from omnigraph.base import clock
from omnigraph.errors import HistoricalVersionReclaimed, StorageError
from omnigraph.graph import Graph
from omnigraph.maintenance.cleanup.policy import CleanupPolicy
from omnigraph.storage.locks import held_versions, list_reader_leases
from omnigraph.storage.objects import ControlStore
from support import harbor
from support.processes import child

SECONDS_MAX = 30


def leases(graph: Graph) -> list[tuple[int, set[tuple[str, int]]]]:
    """Return the leases of held snapshots: whose, and the versions that they name."""
    return [
        (lease.holder.pid, {(pinned.address.location, pinned.version) for pinned in lease.versions})
        for lease in list_reader_leases(graph._context.store.objects, store_clock=None)
        if lease.holder.operation == "snapshot"
    ]


def versions(snapshot: omnigraph.Snapshot) -> set[tuple[str, int]]:
    return {(pin.location, pin.version) for pin in snapshot.tables}


def wait_for(condition: Callable[[], bool]) -> None:
    assert clock.wait_until(condition, timeout_seconds=SECONDS_MAX)


def move_on(graph: Graph, times: int = 3) -> None:
    """Rewrite rows, so that the versions before hold files that no later one needs."""
    for age in range(times):
        with graph.write() as batch:
            batch.update("Sailor", {"age": age}, where=[])
            batch.update("Ship", {"tons": float(age)}, where=[])


def clean_up_elsewhere(uri: str) -> None:
    command = [
        sys.executable,
        "-m",
        "omnigraph.cli.main",
        "cleanup",
        uri,
        "--keep",
        "1",
        "--confirm",
        "--yes",
        "--json",
    ]
    subprocess.run(command, check=True, capture_output=True, timeout=120)


@pytest.fixture
def graph(store_root: str) -> Graph:
    return harbor.new_graph(store_root)


def ages(table: omnigraph.SnapshotTable) -> dict[str, Any]:
    return {row["name"]: row["age"] for row in table.to_arrow(["name", "age"]).to_pylist()}


def test_a_cleanup_in_another_process_spares_a_held_snapshot_and_takes_it_once_it_is_let_go(graph: Graph) -> None:
    snapshot = graph.snapshot()
    before = ages(snapshot.table("Sailor"))
    move_on(graph)

    clean_up_elsewhere(graph.uri)
    reopened = omnigraph.open(graph.uri).snapshot(version=snapshot.graph_version)

    assert ages(snapshot.table("Sailor")) == before == ages(reopened.table("Sailor"))
    assert snapshot.table("Ship").count_rows() == 2

    address = snapshot.graph_version
    del snapshot, reopened
    wait_for(lambda: not leases(graph))
    clean_up_elsewhere(graph.uri)
    with pytest.raises(HistoricalVersionReclaimed):
        ages(omnigraph.open(graph.uri).snapshot(version=address).table("Sailor"))


HANDLES: dict[str, Callable[[omnigraph.SnapshotTable], Any]] = {
    "table": lambda table: table,
    "reader": lambda table: table.to_reader(["name"]),
    "scanner": lambda table: table.scanner(columns=["name"]),
    "relation": lambda table: table.to_duckdb(),
}


@pytest.mark.parametrize("handle", HANDLES)
def test_whatever_reads_a_snapshot_holds_it_and_lets_it_go(local_root: str, handle: str) -> None:
    graph = harbor.new_graph(local_root)
    held = HANDLES[handle](graph.snapshot().table("Sailor"))

    wait_for(lambda: len(leases(graph)) == 1)
    held_versions.settle_holds(graph._context.store.objects)
    assert len(leases(graph)) == 1

    del held
    wait_for(lambda: not leases(graph))


def test_a_cleanup_in_the_same_process_sees_a_snapshot_that_was_taken_a_moment_ago(graph: Graph) -> None:
    first = graph.snapshot()
    expected = ages(first.table("Sailor"))
    move_on(graph)
    second = graph.snapshot(version=first.graph_version)

    graph.cleanup(CleanupPolicy(keep_versions=1), confirm=True)

    assert ages(second.table("Sailor")) == expected
    assert (os.getpid(), versions(first)) in [(pid, held & versions(first)) for pid, held in leases(graph)]


def test_a_snapshot_that_is_read_at_once_writes_nothing(local_root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = harbor.new_graph(local_root)
    monkeypatch.setattr(held_versions, "_UNNOTICED_SECONDS", 3_600.0)

    with graph.snapshot() as snapshot:
        assert snapshot.table("Sailor").count_rows() == 3

    assert not leases(graph)
    assert not Path(local_root, "__locks/readers").exists()


def test_many_snapshots_need_one_lease_and_the_with_block_ends_it(graph: Graph) -> None:
    older = graph.snapshot()
    move_on(graph, times=1)
    with graph.snapshot() as newer:
        again = [graph.snapshot() for _ in range(20)]
        wait_for(lambda: leases(graph) == [(os.getpid(), versions(older) | versions(newer))])
        again.clear()
        older.release()
        wait_for(lambda: leases(graph) == [(os.getpid(), versions(newer))])

    wait_for(lambda: not leases(graph))


def test_a_lease_is_renewed_for_as_long_as_the_snapshot_is_held(graph: Graph, short_terms: None) -> None:
    snapshot = graph.snapshot()
    wait_for(lambda: bool(leases(graph)))
    objects = graph._context.store.objects
    (path,) = objects.list("__locks/readers")

    # Somebody who deletes what looks dead takes it from a machine that slept; it comes back with the next renewal.
    objects.delete(path)

    wait_for(lambda: leases(graph) == [(os.getpid(), versions(snapshot))])


@pytest.fixture
def short_terms(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A thread of its own with leases that a test can wait for."""
    monkeypatch.setattr(held_versions, "_terms", harbor.SHORT_LEASES)
    monkeypatch.setattr(held_versions, "_keeper", None)
    yield
    gc.collect()


def test_the_end_of_the_process_gives_everything_back(graph: Graph) -> None:
    code = """
        import sys, omnigraph
        from omnigraph.storage.locks import list_reader_leases
        graph = omnigraph.open(sys.argv[1])
        snapshot = graph.snapshot()
        print("held")
        sys.stdin.readline()
    """
    with child(code, graph.uri) as reader:
        assert reader.hear() == "held"
        wait_for(lambda: [pid for pid, _ in leases(graph)] == [reader.pid])
        reader.tell()
        wait_for(lambda: not leases(graph))


def test_a_forked_child_neither_ends_its_parents_lease_nor_goes_without_its_own(local_root: str) -> None:
    """The child leaves by `sys.exit`, so that its finalisers and exit handlers run, and before that it reads on."""
    graph = harbor.new_graph(local_root)
    code = """
        import os, sys, omnigraph
        graph = omnigraph.open(sys.argv[1])
        snapshot = graph.snapshot()
        print("held")
        sys.stdin.readline()
        pid = os.fork()
        if pid == 0:
            snapshot._held.renew_after_fork()
            print(os.getpid())
            os.read(0, 1)
            sys.exit(0)
        print("child", os.waitpid(pid, 0)[1])
        sys.stdin.readline()
    """
    with child(code, local_root) as parent:
        assert parent.hear() == "held"
        wait_for(lambda: [pid for pid, _ in leases(graph)] == [parent.pid])
        parent.tell()
        forked = int(parent.hear())
        wait_for(lambda: {pid for pid, _ in leases(graph)} == {parent.pid, forked})
        parent.tell()
        assert parent.hear() == "child 0"
        wait_for(lambda: [pid for pid, _ in leases(graph)] == [parent.pid])
        parent.tell()
        wait_for(lambda: not leases(graph))


READS: dict[str, Callable[[omnigraph.Snapshot, omnigraph.SnapshotTable], object]] = {
    "count": lambda _, table: table.count_rows() and table.to_arrow(),
    "arrow": lambda _, table: table.to_arrow(),
    "reader": lambda _, table: table.to_reader().read_all(),
    "in id order": lambda _, table: list(table.in_id_order()),
    "open": lambda snapshot, _: snapshot.table("Ship").to_arrow(),
}


def test_without_a_lease_a_read_that_lost_its_version_says_so(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that one may only read refuses the lease: the snapshot is read as long as its files are there."""
    refuse_leases(graph, monkeypatch)
    snapshot = graph.snapshot()
    table = snapshot.table("Sailor")
    assert len(ages(table)) == 3
    move_on(graph)

    clean_up_elsewhere(graph.uri)

    assert not leases(graph)
    for read in READS.values():
        with pytest.raises(HistoricalVersionReclaimed) as caught:
            read(snapshot, table)
        assert caught.value.kind == "version_reclaimed"
    with pytest.raises(HistoricalVersionReclaimed):
        graph.export(io.BytesIO(), snapshot=f"main@{snapshot.graph_version}")


def test_a_snapshot_of_a_branch_that_was_deleted_says_so(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    graph.branches.create("review")
    graph.load(harbor.lines([harbor.sailor("Moe")]), mode="append", branch="review")
    table = graph.snapshot("review").table("Sailor")

    graph.branches.delete("review")

    with pytest.raises(HistoricalVersionReclaimed, match="the deletion of its branch"):
        table.to_arrow()


def test_a_missing_file_of_a_version_that_is_there_is_damage_and_not_a_cleanup(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    table = graph.snapshot().table("Sailor")
    for data in Path(local_root, table.pin.location, "data").iterdir():
        data.unlink()

    with pytest.raises(StorageError) as caught:
        omnigraph.open(local_root).snapshot().table("Sailor").to_arrow()
    assert caught.value.details["storage_kind"] == "not_found"


def refuse_leases(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the store answer to a lease as one that may only be read does."""
    objects: ControlStore = graph._context.store.objects
    create = objects.create

    def refused(path: str, content: bytes) -> Any:
        if path.startswith("__locks/readers/"):
            raise StorageError("no permission to write", storage_kind="configuration", uri=graph.uri)
        return create(path, content)

    monkeypatch.setattr(objects, "create", refused)
