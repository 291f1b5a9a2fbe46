"""A restore silently wins over whatever landed since it was planned: what keeps it off the work of others."""

from dataclasses import replace

import pytest

import omnigraph
from omnigraph.errors import StaleView
from omnigraph.graph import Graph
from omnigraph.storage.stored_settings import stage_restore
from omnigraph.storage.tables import Table
from omnigraph.storage.transactions import commit_staged
from omnigraph.writes.pending import sidecars_of
from omnigraph.writes.sidecar import RollbackRecord
from support import harbor
from support.harbor import sailors
from support.raw_tables import foreign_append
from support.writers import run_child, sweep_until_free


def head_of_sailors(graph: Graph) -> Table:
    pin = next(pin for pin in graph.snapshot().tables if pin.type_name == "Sailor")
    return graph._context.store.tables.head(pin.address)


def names_in(table: Table) -> set[str]:
    return set(table.read(["name"])["name"].to_pylist())


def recovery_that_died_after_its_decision(uri: str) -> Graph:
    """Leave a write with some of its tables committed, and a recovery that wrote down to undo it and died."""
    graph = harbor.new_graph(uri)
    run_child(uri, "load_append", "write.between_tables:kill:2")
    run_child(uri, "recover", "recover.after_rollback_recorded:kill")
    assert "Di" in names_in(head_of_sailors(graph))
    return omnigraph.open(uri, recover=False)


def test_a_recorded_rollback_stops_before_a_foreign_commit(local_root: str) -> None:
    graph = recovery_that_died_after_its_decision(local_root)
    version = foreign_append(graph, "Sailor", id="Zoe", name="Zoe", rank="mate")

    swept = graph.recover()

    assert (swept.recovered, [blocked.kind for blocked in swept.blocked]) == ([], ["load"])
    assert "node:Sailor" in swept.blocked[0].reason
    assert head_of_sailors(graph).version == version
    assert {"Di", "Zoe"} <= names_in(head_of_sailors(graph))
    assert sailors(graph) == {"Ana", "Bo", "Cy"}


def test_a_restore_that_ran_over_a_foreign_commit_is_never_published(local_root: str) -> None:
    """What a recovery leaves that was paused past its lease between its last look and its restore."""
    graph = recovery_that_died_after_its_decision(local_root)
    (operation,) = harbor.pending(graph)
    foreign_append(graph, "Sailor", id="Zoe", name="Zoe", rank="mate")
    effects = sidecars_of(graph._context).read(operation).effects
    effect = next(effect for effect in effects if effect.table_key == "node:Sailor")
    pinned = graph._context.store.tables.open(effect.address, effect.expected_version)
    late = stage_restore(head_of_sailors(graph), pinned, uuid=effect.compensation_uuid, properties={})
    commit_staged(graph._context.store.tables, effect.address, late)

    swept = graph.recover()

    assert (swept.recovered, [blocked.kind for blocked in swept.blocked]) == ([], ["load"])
    assert "Zoe" in names_in(graph._context.store.tables.open(effect.address, late.read_version))
    assert [commit.kind for commit in graph.commits()] == ["load", "genesis"]
    assert harbor.pending(graph) == [operation]


def test_a_late_decision_brings_no_finished_operation_back(store_root: str) -> None:
    """What a recovery tries that was paused past its lease between its decision and writing it down."""
    graph = harbor.new_graph(store_root)
    run_child(store_root, "load_append", "write.between_tables:kill:2")
    (operation,) = harbor.pending(graph)
    sidecar = sidecars_of(graph._context).read(operation)
    late = replace(sidecar, rollback=RollbackRecord(restores={"node:Sailor": 2}, classes={"node:Sailor": "complete"}))
    settled = sweep_until_free(harbor.open_with_short_leases(store_root))
    assert [operation.outcome for operation in settled] == ["rolled_back"]

    with pytest.raises(StaleView):
        sidecars_of(graph._context).record_rollback(late)

    assert harbor.pending(graph) == []
