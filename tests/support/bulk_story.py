"""One story of loads and refusals, told to a small in-memory load and to a bulk load, which must agree about it."""

import gzip
import io
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

import omnigraph
from omnigraph.errors import OmniError
from omnigraph.graph import Graph
from support.graphs import edge, node

SCHEMA = """
node Port { code: String @key  mail: String? @unique  zone: String?  slot: I32?  seen: DateTime?  chart: Blob?
            at: Vector(2)?  @unique(zone, slot) }
node Buoy { colour: String? }
edge Route: Port -> Port @card(0..2) { miles: F64?  tags: [String]? }
edge Serves: Port -> Buoy { note: String?  @unique(src) }
"""

PORTS = [
    node("Port", code=f"p{n}", mail=f"{n}@x", zone="z", slot=n, seen=n, chart="base64:AAEC", at=[n, 0.5])
    for n in range(6)
]
ROUTES = [edge("Route", f"p{n}", f"p{n + 1}", miles=n / 4, tags=["a", str(n)]) for n in range(5)]
BUOYS = [node("Buoy", id="b1", colour="red"), node("Buoy", id="b2")]
SERVES = [edge("Serves", "p0", "b1", note="calm")]

LOADS = [
    ("append", [*ROUTES, *PORTS, *BUOYS, *SERVES]),
    # The same again changes nothing: edges without ids find the edges they mean.
    ("merge", [*PORTS, *ROUTES, *BUOYS, *SERVES]),
    # One changed, one equal, one new; a keyless id twice, of which the last counts; an edge that moves by its source.
    (
        "merge",
        [
            node("Port", code="p0", mail="new@x"),
            PORTS[1],
            node("Port", code="p9"),
            node("Buoy", id="b2", colour="green"),
            node("Buoy", id="b2", colour="white"),
            edge("Serves", "p0", "b2", note="rough"),
            ROUTES[0],
            edge("Route", "p9", "p0", miles=-0.0),
        ],
    ),
    ("overwrite", [*(edge("Route", "p1", f"p{n}") for n in (2, 3)), node("Buoy", id="b2"), node("Buoy", id="b3")]),
]

REFUSED: list[tuple[str, list[Any]]] = [
    ("append", [PORTS[0], node("Port", code="n1"), PORTS[1]]),
    ("append", [node("Port", code="n1"), node("Port", code="n1"), node("Port", code="n1")]),
    ("merge", [node("Port", code="n1", mail="1@x"), node("Port", code="n2", zone="z", slot=2)]),
    (
        "append",
        [node("Port", code="n1", mail="n"), node("Port", code="n2", mail="n"), node("Port", code="n3", mail="n")],
    ),
    ("append", [edge("Route", "p1", "nowhere"), edge("Route", "nobody", "p1"), edge("Serves", "p4", "p1")]),
    ("append", [edge("Route", "p4", "p1"), edge("Route", "p4", "p2"), edge("Route", "p4", "p3")]),
    ("overwrite", [node("Port", code="p1")]),
    ("append", [{"type": "Port", "data": {"code": n}} for n in range(30)] + ["{", {"type": "Shop"}]),
]


def write_input(directory: Path, records: Sequence[Any]) -> Path:
    """Spell records as two files, the second one compressed."""
    directory.mkdir()
    lines = [record if isinstance(record, str) else json.dumps(record) for record in records]
    half = (len(lines) + 1) // 2
    (directory / "a.jsonl").write_text("\n".join(["", *lines[:half]]))
    with gzip.open(directory / "b.jsonl.gz", "wt") as packed:
        packed.write("\n".join(lines[half:]) + "\n")
    return directory


def content(graph: Graph) -> Mapping[str, list[Any]]:
    """Return all entities; minted ids of edges differ between graphs and are left out."""
    found = {}
    for type_name in ("Port", "Buoy", "Route", "Serves"):
        rows = graph.snapshot().table(type_name).to_arrow()
        rows = rows if type_name in {"Port", "Buoy"} else rows.drop_columns(["id"])
        found[type_name] = sorted(map(repr, rows.to_pylist()))
    return found


def edge_ids(graph: Graph, type_name: str) -> list[str]:
    return sorted(graph.snapshot().table(type_name).to_arrow()["id"].to_pylist())


def row_ids(graph: Graph, table_key: str) -> dict[str, int]:
    """Return Lance's own ids of the rows by entity: an update must keep them."""
    snapshot = graph.snapshot()
    pin = next(pin for pin in snapshot.tables if pin.table_key == table_key)
    table = graph._context.store.tables.head(omnigraph_address(pin))
    assert table is not None
    rows: pa.Table = table.read(["id"], with_row_ids=True)
    return dict(zip(rows["id"].to_pylist(), rows["_rowid"].to_pylist(), strict=True))


def omnigraph_address(pin: Any) -> Any:
    from omnigraph.storage.tables import TableAddress

    return TableAddress(pin.location, pin.ref)


def refused(call: Callable[[], object]) -> dict[str, Any]:
    """Return the error document of a call that must fail."""
    try:
        call()
    except OmniError as error:
        return error.document()
    raise AssertionError("was not refused")


def tell(directory: Path, *, bulk: Callable[..., Any], refusals: Sequence[int]) -> None:
    """Do every load twice, small and bulk, and compare results, content, refusals and what is left behind."""
    small = omnigraph.init(str(directory / "small.omni"), SCHEMA)
    large = omnigraph.init(str(directory / "large.omni"), SCHEMA)
    for number, (mode, records) in enumerate(LOADS):
        data = write_input(directory / f"load-{number}", records)
        kept = row_ids(large, "node:Port")
        routes = edge_ids(large, "Route")
        expected = small.load(data, mode=mode, engine="local")
        loaded = bulk(large, data, mode=mode)
        assert loaded.tables == expected.tables, (number, mode)
        assert (loaded.commit is None) == (expected.commit is None), (number, mode)
        assert content(large) == content(small), (number, mode)
        if mode == "merge":
            assert kept.items() <= row_ids(large, "node:Port").items()
            assert set(routes) <= set(edge_ids(large, "Route"))
        if number == 2:
            for place in refusals:
                refused_mode, bad = REFUSED[place]
                given = write_input(directory / f"refused-{place}", bad)
                told = refused(lambda: large.load(given, mode=refused_mode, engine="local"))  # noqa: B023
                assert (place, refused(lambda: bulk(large, given, mode=refused_mode))) == (place, told)  # noqa: B023
                assert content(large) == content(small)
    assert not (directory / "large.omni" / "__staging").exists()
    assert large.pending_operations() == []
    stream = io.BytesIO(json.dumps(node("Port", code="s1")).encode())
    assert bulk(large, stream, mode="append").total_rows == 1
