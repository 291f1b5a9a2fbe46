"""The graph that most tests use: several node and edge types, a key, a cardinality, a unique value, history."""

import io
import json
from collections.abc import Iterable, Mapping
from typing import Any

import omnigraph
from omnigraph.engine.local import LocalEngine
from omnigraph.graph import Graph
from omnigraph.graphs.context import GraphContext
from omnigraph.storage.locks import LeaseTerms
from omnigraph.storage.locks.paths import READER_LEASES
from omnigraph.storage.store import GraphStore
from omnigraph.writes.pending import sidecars_of

SCHEMA = """
node Sailor {
    name: String @key
    rank: enum(captain, deckhand, mate)
    age: I32?
    badge: String? @unique
}
node Ship { hull: String @key  title: String @index  tons: F64? }
node Note { text: String }
edge Mentors: Sailor -> Sailor { since: Date? }
edge ServesOn: Sailor -> Ship @card(0..1) { berth: I32? }
"""

SHORT_LEASES = LeaseTerms(ttl_seconds=2.0, renew_seconds=0.5, margin_seconds=0.5, undo_grace_seconds=1.0)
"""Leases that a test can wait for."""


def sailor(name: str, rank: str = "mate", **more: Any) -> dict[str, Any]:
    return {"type": "Sailor", "data": {"name": name, "rank": rank, **more}}


def ship(hull: str, title: str = "a ship", **more: Any) -> dict[str, Any]:
    return {"type": "Ship", "data": {"hull": hull, "title": title, **more}}


def edge(kind: str, source: str, target: str, **data: Any) -> dict[str, Any]:
    return {"edge": kind, "from": source, "to": target, "data": data}


def lines(records: Iterable[Mapping[str, Any]]) -> io.BytesIO:
    """Spell records as load input."""
    return io.BytesIO("".join(json.dumps(record) + "\n" for record in records).encode())


CREW = [
    sailor("Ana", "captain", age=50, badge="b1"),
    sailor("Bo", age=34),
    sailor("Cy", "deckhand"),
    ship("S1", "Northern Star", tons=1200.5),
    ship("S2", "Star of the Sea"),
    edge("Mentors", "Ana", "Bo", id="m1", since="2019-03-01"),
    edge("Mentors", "Bo", "Cy", id="m2"),
    edge("ServesOn", "Ana", "S1", id="s1", berth=1),
]


def new_graph(uri: str, records: Iterable[Mapping[str, Any]] = CREW, *, schema: str = SCHEMA) -> Graph:
    """Create a graph and load records into it."""
    graph = omnigraph.init(uri, schema)
    graph.load(lines(records), mode="append")
    return graph


def open_with_short_leases(uri: str, *, settle: bool = False) -> Graph:
    """Open a graph whose leases on S3 expire within seconds; with `settle`, recover like a read-write open."""
    context = GraphContext.over(GraphStore.open(uri, lease_terms=SHORT_LEASES), LocalEngine())
    graph = Graph(context, read_only=False)
    if settle:
        graph.recover()
    return graph


def content(graph: Graph, **at: Any) -> str:
    """Return all rows of a snapshot as text, in a fixed order."""
    snapshot = graph.snapshot(**at)
    rows = {
        pin.table_key: sorted(
            json.dumps(row, sort_keys=True, default=str) for row in snapshot.table(pin.table_key).to_arrow().to_pylist()
        )
        for pin in snapshot.tables
    }
    return json.dumps(rows, indent=1)


def pins_equal_heads(graph: Graph) -> bool:
    """Whether no table has moved past what the graph publishes."""
    tables = graph._context.store.tables
    return all(tables.head(pin.address).version == pin.version for pin in graph.snapshot().tables)


def pending(graph: Graph) -> list[str]:
    """Return the operations whose sidecars are still there."""
    return list(sidecars_of(graph._context).pending())


def files_of(graph: Graph) -> dict[str, float]:
    """Return every object below the graph's root with its time of change: equal before and after a read.

    Leases of readers are left out: a snapshot that is held for a while puts one, on a busy machine any snapshot.
    """
    objects = graph._context.store.objects
    found = {}
    for path in objects.list(""):
        stored = None if path.startswith(READER_LEASES) else objects.read(path)
        if stored is not None:
            found[path] = stored.last_modified
    return found


def sailors(graph: Graph) -> set[str]:
    """Return the names of all sailors."""
    return set(graph.snapshot().table("Sailor").to_arrow(["name"])["name"].to_pylist())


def sailor_ids(graph: Graph) -> list[str]:
    """Return the ids of all sailors, in order; one that is there twice is listed twice."""
    return sorted(graph.snapshot().table("Sailor").to_arrow(["id"])["id"].to_pylist())
