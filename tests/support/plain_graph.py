"""A snapshot as plain Python, and an image of it held against that."""

from collections import Counter
from typing import Any

import numpy as np

from omnigraph.catalog.model import Catalog, EdgeType, NodeType
from omnigraph.graphs.snapshot import Snapshot
from omnigraph.query.access import MISSING, Direction, GraphAccess, NodeAccess

Row = dict[str, Any]


def rows_of(snapshot: Snapshot, table_key: str) -> dict[str, Row]:
    """Return the rows of a type by id, dates and times as the numbers that are stored."""
    table = snapshot.table(table_key).to_arrow()
    numbers = {"date32[day]": "int32", "timestamp[ms, tz=UTC]": "int64"}
    for place, field in enumerate(table.schema):
        if str(field.type) in numbers:
            table = table.set_column(place, field.name, table[field.name].cast(numbers[str(field.type)]))
    return {row["id"]: row for row in table.to_pylist()}


def hold_against(access: GraphAccess, snapshot: Snapshot) -> None:
    """Insist that an access says the same as the tables, in every way in which it can be asked."""
    catalog = snapshot.catalog
    for entity in catalog.type_by_table_key.values():
        if isinstance(entity, NodeType):
            hold_nodes(access, entity, rows_of(snapshot, entity.table_key))
        elif isinstance(entity, EdgeType):
            hold_edges(access, catalog, entity, rows_of(snapshot, entity.table_key))


def hold_nodes(access: GraphAccess, entity: NodeType, rows: dict[str, Row]) -> None:
    nodes = access.nodes(entity)
    ordinals = nodes.ordinals()
    ids = nodes.column("id").take(ordinals).to_pylist()

    assert sorted(ids) == sorted(rows)
    assert nodes.count == len(rows) == len(ordinals)
    assert (np.diff(ordinals) > 0).all()
    assert not len(ordinals) or ordinals[-1] < nodes.size
    assert [nodes.find(node_id) for node_id in ids] == ordinals.tolist()
    assert nodes.find("nobody at all") == nodes.find("") == MISSING
    assert nodes.find_many([*ids, "nobody"]).tolist() == [*ordinals.tolist(), MISSING]
    hold_columns(nodes, entity, rows, ids)


def hold_columns(entities: Any, entity: NodeType | EdgeType, rows: dict[str, Row], ids: list[str]) -> None:
    ordinals = entities.ordinals()
    by_rank = [ids[place] for place in np.argsort(entities.id_ranks(ordinals))]
    assert by_rank == sorted(ids, key=str.encode)
    for declared in entity.properties:
        column = entities.column(declared.name)
        expected = [rows[entity_id][declared.name] for entity_id in ids]
        assert [column.one(ordinal) for ordinal in ordinals.tolist()] == expected
        kind = str(column.take(ordinals).type)
        if kind in {"int32", "int64", "uint32", "uint64", "float", "double", "bool", "date32[day]"} or "time" in kind:
            everything, some = column.numbers(), column.numbers(ordinals)
            assert len(everything.values) == entities.size
            assert plain_numbers(some) == expected
            assert [plain_numbers(everything)[ordinal] for ordinal in ordinals.tolist()] == expected
        if kind == "string":
            codes = column.codes()
            assert codes is not None
            words = codes.words.to_pylist()
            assert words == sorted(set(words), key=str.encode)
            shown = [None if code == MISSING else words[code] for code in column.codes(ordinals).codes.tolist()]
            assert shown == expected == column.take(ordinals).to_pylist()
            assert len(codes.codes) == entities.size


def plain_numbers(numbers: Any) -> list[Any]:
    valid = [True] * len(numbers.values) if numbers.valid is None else numbers.valid.tolist()
    return [value if there else None for value, there in zip(numbers.values.tolist(), valid, strict=True)]


def hold_edges(access: GraphAccess, catalog: Catalog, entity: EdgeType, rows: dict[str, Row]) -> None:
    edges = access.edges(entity)
    ordinals = edges.ordinals()
    ids = edges.column("id").take(ordinals).to_pylist()
    assert sorted(ids) == sorted(rows)
    assert edges.count == len(rows)
    hold_columns(edges, entity, rows, ids)
    id_by_edge = dict(zip(ordinals.tolist(), ids, strict=True))
    for direction in Direction:
        near, far = (entity.from_type, entity.to_type)[:: 1 if direction is Direction.OUT else -1]
        types = catalog.type_by_table_key
        hold_lists(
            edges,
            direction,
            access.nodes(types[f"node:{near}"]),
            access.nodes(types[f"node:{far}"]),
            rows,
            id_by_edge,
        )


def hold_lists(
    edges: Any,
    direction: Direction,
    near: NodeAccess,
    far: NodeAccess,
    rows: dict[str, Row],
    id_by_edge: dict[int, str],
) -> None:
    source, target = ("src", "dst")[:: 1 if direction is Direction.OUT else -1]
    expected: dict[int, Counter[int]] = {int(node): Counter() for node in near.ordinals()}
    for row in rows.values():
        expected[near.find(row[source])][far.find(row[target])] += 1
    nodes = near.ordinals()
    for asked in (nodes, np.repeat(nodes, 40), nodes[:0], nodes[::-1][:3].copy()):
        distinct = [(place, n) for place, node in enumerate(asked.tolist()) for n in sorted(expected[node])]
        positions, neighbours = edges.expand(asked, direction)
        assert [*zip(positions.tolist(), neighbours.tolist(), strict=True)] == distinct
        each = [(place, n) for place, node in enumerate(asked.tolist()) for n in sorted(expected[node].elements())]
        positions, neighbours, by_edges = edges.expand_edges(asked, direction)
        assert [*zip(positions.tolist(), neighbours.tolist(), strict=True)] == each
        for position, neighbour, edge in zip(positions.tolist(), neighbours.tolist(), by_edges.tolist(), strict=True):
            row = rows[id_by_edge[edge]]
            assert (near.find(row[source]), far.find(row[target])) == (asked[position], neighbour)
        degrees = edges.degrees(asked, direction, distinct=True).tolist()
        assert degrees == [len(expected[node]) for node in asked.tolist()]
    for node, neighbours in expected.items():
        assert edges.neighbours(node, direction).tolist() == sorted(neighbours)
    counts = edges.degrees(None, direction, distinct=False)
    assert len(counts) == near.size
    assert {node: int(counts[node]) for node in expected} == {node: c.total() for node, c in expected.items()}
    for distinct in (True, False):
        whole = edges.adjacency(direction, distinct=distinct)
        assert len(whole.offsets) == near.size + 1
        for node, neighbours in expected.items():
            here = whole.targets[whole.offsets[node] : whole.offsets[node + 1]].tolist()
            assert here == sorted(neighbours if distinct else neighbours.elements())
    if direction is Direction.OUT:
        pairs = [(a, int(b)) for a in expected for b in far.ordinals()]
        froms, tos = (np.array([pair[side] for pair in pairs], np.int32) for side in (0, 1))
        assert edges.connects(froms, tos).tolist() == [b in expected[a] for a, b in pairs]
