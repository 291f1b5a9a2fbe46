"""Rows with whole nodes as a picture: each node once, joined where the query's pattern joins them."""

from collections.abc import Mapping, Sequence
from typing import Any

from omnigraph.base.values import dataclass
from omnigraph.query.typed import CheckedRead, NodeReference, Travel

NODES_MAX = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundNode:
    """A node that rows hold."""

    id: str
    type_name: str
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundEdge:
    """Two nodes of one row that the pattern joins."""

    source: str
    target: str
    label: str
    is_directed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundGraph:
    """What rows show of the graph, and how many nodes are left out because no picture stays readable with them."""

    nodes: tuple[FoundNode, ...]
    edges: tuple[FoundEdge, ...]
    left_out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _NodeColumn:
    place: int
    type_name: str
    keys: tuple[str, ...]


def found_graph(read: CheckedRead | None, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> FoundGraph | None:
    """Return the picture of rows, or None where no column holds whole nodes.

    Without the checked query, as with queries that a server keeps, nodes are known by their shape and nothing joins
    them.
    """
    by_variable = _declared(read) if read is not None else _guessed(columns, rows)
    if not by_variable:
        return None
    nodes: dict[str, FoundNode] = {}
    left_out: set[str] = set()
    edges: dict[FoundEdge, None] = {}
    for row in rows:
        for column in by_variable.values():
            value = row[column.place]
            if not isinstance(value, dict) or value["id"] in nodes:
                continue
            if len(nodes) >= NODES_MAX:
                left_out.add(value["id"])
                continue
            nodes[value["id"]] = FoundNode(id=value["id"], type_name=column.type_name, label=_label(value, column))
        for edge in _edges(read, by_variable, row):
            if edge.source in nodes and edge.target in nodes:
                edges[edge] = None
    return FoundGraph(nodes=tuple(nodes.values()), edges=tuple(edges), left_out=len(left_out))


def _declared(read: CheckedRead) -> dict[str, _NodeColumn]:
    found = {}
    for place, column in enumerate(read.columns):
        if isinstance(column.expression, NodeReference):
            entity = column.expression.entity
            keys = tuple(entity.key.properties) if entity.key is not None else ()
            found[column.expression.variable] = _NodeColumn(place=place, type_name=entity.name, keys=keys)
    return found


def _guessed(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> dict[str, _NodeColumn]:
    return {
        name: _NodeColumn(place=place, type_name=name, keys=())
        for place, name in enumerate(columns)
        if rows and all(isinstance(row[place], dict) and isinstance(row[place].get("id"), str) for row in rows)
    }


def _edges(read: CheckedRead | None, by_variable: Mapping[str, _NodeColumn], row: Sequence[Any]) -> list[FoundEdge]:
    found = []
    for traversal in read.pattern.traversals if read is not None else ():
        ends = [by_variable.get(variable) for variable in (traversal.left, traversal.right)]
        ids = [row[end.place]["id"] for end in ends if end is not None and isinstance(row[end.place], dict)]
        if len(ids) == len(ends):
            source, target = reversed(ids) if traversal.travel is Travel.IN else ids
            hops = f" ({traversal.hops_min} to {traversal.hops_max})" if traversal.hops_max > 1 else ""
            is_directed = traversal.travel is not Travel.BOTH
            label = f"{traversal.edge.name}{hops}"
            found.append(FoundEdge(source=source, target=target, label=label, is_directed=is_directed))
    return found


def _label(value: Mapping[str, Any], column: _NodeColumn) -> str:
    parts = [str(value[key]) for key in column.keys if value.get(key) is not None]
    return " · ".join(parts) or next(
        (each for name, each in value.items() if name != "id" and isinstance(each, str) and each), value["id"]
    )
