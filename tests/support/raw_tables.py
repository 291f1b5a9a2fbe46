"""The tables of a graph behind its back: what others see there, and commits that go round the write protocol."""

import lance
import pyarrow as pa

from omnigraph.base import clock, ids
from omnigraph.graph import Graph
from omnigraph.manifest.commits import Commit, CommitId, CommitKind
from omnigraph.manifest.publish import ManifestChanges, PinMove, Preconditions
from omnigraph.manifest.snapshot import TablePin
from omnigraph.storage.refs import list_refs
from omnigraph.storage.staging import stage_change
from omnigraph.storage.transactions import commit_staged


def pin_of(graph: Graph, type_name: str) -> TablePin:
    """Return where the newest state of a type is published to be."""
    return next(pin for pin in graph.snapshot().tables if pin.type_name == type_name)


def dataset_of(graph: Graph, pin: TablePin) -> lance.LanceDataset:
    """Open a table's HEAD behind the graph's back."""
    return lance.dataset(graph._context.store.tables.uri(pin.address), session=lance.Session())


def heads(graph: Graph) -> dict[str, int]:
    """Return the newest version of every table, published or not."""
    return {pin.table_key: dataset_of(graph, pin).version for pin in graph.snapshot().tables}


def refs_of_tables(graph: Graph) -> set[str]:
    """Collect the refs of all data tables."""
    tables = graph._context.store.tables
    return {name for pin in graph.snapshot().tables for name in list_refs(tables, pin.location)}


def foreign_append(graph: Graph, type_name: str, **row: object) -> int:
    """Append a row behind the graph's back; return the version it made."""
    pin = pin_of(graph, type_name)
    uri = graph._context.store.tables.uri(pin.address)
    dataset = lance.dataset(uri, storage_options=graph._context.store.tables.storage_options)
    written = lance.write_dataset(
        pa.Table.from_pylist([row], schema=dataset.schema),
        uri,
        mode="append",
        storage_options=graph._context.store.tables.storage_options,
    )
    return int(written.version)


def publish_note(graph: Graph) -> Commit:
    """Publish a row of another table without taking the branch's lock, as a writer whose lease was lost might."""
    context = graph._context
    snapshot = context.manifest.load("main").snapshot
    pin = next(pin for pin in snapshot.pins.values() if pin.type_name == "Note")
    table = context.store.tables.open(pin.address, pin.version)
    rows = pa.Table.from_pylist([{"id": ids.new_ulid(), "text": "hello"}], schema=table.schema)
    staged = stage_change(
        context.store.tables,
        table,
        pin.address,
        rewritten=None,
        inserted=rows,
        removed_addresses=pa.array([], pa.uint64()),
        properties={},
    )
    landed = commit_staged(context.store.tables, pin.address, staged)
    move = PinMove.to(landed, table_key=pin.table_key, identity=pin.identity, transaction_uuid=staged.uuid)
    commit = Commit(
        graph_commit_id=CommitId(ids.new_ulid()),
        parent_commit_id=None,
        graph_branch="main",
        graph_version=0,
        kind=CommitKind.MUTATION,
        actor_id=None,
        created_at_us=clock.now_us(),
    )
    preconditions = Preconditions(incarnation="main", exact_head=None, ir_hash=None)
    return context.publisher.publish("main", ManifestChanges(pins=(move,)), commit, preconditions)


def publish_unchecked_row(graph: Graph, branch: str) -> None:
    """Put a row with a rank that nobody has into a branch, past all checks, as somebody's own tool may do."""
    with graph.write(branch=branch) as batch:
        batch.update("Sailor", {"age": 1}, ids=["Ana"])
    context = graph._context
    pin = context.manifest.load(branch).snapshot.pins["node:Sailor"]
    uri, row = context.store.tables.uri(pin.address), {"id": "Raw", "name": "Raw", "rank": "admiral"}
    rows = pa.Table.from_pylist([row], schema=lance.dataset(uri).schema)
    lance.write_dataset(rows, uri, mode="append")
    head = context.store.tables.head(pin.address)
    context.publisher.publish(
        branch,
        ManifestChanges(
            pins=(PinMove.to(head, table_key=pin.table_key, identity=pin.identity, transaction_uuid=None),)
        ),
        Commit(
            graph_commit_id=CommitId(ids.new_ulid()),
            parent_commit_id=None,
            graph_branch=branch,
            graph_version=0,
            kind=CommitKind.REPAIR,
            actor_id=None,
            created_at_us=0,
        ),
        Preconditions(incarnation=context.manifest.load(branch).branch.incarnation, exact_head=None, ir_hash=None),
    )
