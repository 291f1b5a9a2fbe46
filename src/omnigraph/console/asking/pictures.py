"""Rows with whole nodes as a picture: each node once, joined where the query's pattern joins them."""

from collections.abc import Mapping, Sequence
from typing import Any

from omnigraph.base.values import dataclass
from omnigraph.drawing.picture import NodeKey, Picture, PictureEdge, PictureNode
from omnigraph.query.typed import CheckedRead, NodeReference, Travel

NODES_MAX = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundGraph:
    """What rows show of the graph, and how many nodes are left out because no picture stays readable with them."""

    picture: Picture
    left_out: int
    undirected: frozenset[PictureEdge] = frozenset()
    """Edges that the pattern follows both ways, so that rows do not tell which way they go."""


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
    nodes: dict[NodeKey, PictureNode] = {}
    left_out: set[NodeKey] = set()
    edges: dict[PictureEdge, bool] = {}
    for row in rows:
        for column in by_variable.values():
            key = _key(column, row)
            if key is None or key in nodes:
                continue
            if len(nodes) >= NODES_MAX:
                left_out.add(key)
                continue
            nodes[key] = PictureNode(key=key, label=_label(row[column.place], column))
        joined = _edges(read, by_variable, row)
        edges.update((edge, known) for edge, known in joined if edge.source in nodes and edge.target in nodes)
    return FoundGraph(
        picture=Picture(nodes=tuple(nodes.values()), edges=tuple(edges)),
        left_out=len(left_out),
        undirected=frozenset(edge for edge, is_directed in edges.items() if not is_directed),
    )


def _key(column: _NodeColumn, row: Sequence[Any]) -> NodeKey | None:
    value = row[column.place]
    return NodeKey(column.type_name, value["id"]) if isinstance(value, dict) else None


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


def _edges(
    read: CheckedRead | None, by_variable: Mapping[str, _NodeColumn], row: Sequence[Any]
) -> list[tuple[PictureEdge, bool]]:
    """Return what the pattern joins in a row, and whether its direction is known."""
    found = []
    for traversal in read.pattern.traversals if read is not None else ():
        columns = [by_variable.get(variable) for variable in (traversal.left, traversal.right)]
        keys = [key for column in columns if column is not None and (key := _key(column, row)) is not None]
        if len(keys) == len(columns):
            source, target = reversed(keys) if traversal.travel is Travel.IN else keys
            hops = f" ({traversal.hops_min} to {traversal.hops_max})" if traversal.hops_max > 1 else ""
            edge = PictureEdge(type_name=f"{traversal.edge.name}{hops}", source=source, target=target)
            found.append((edge, traversal.travel is not Travel.BOTH))
    return found


def _label(value: Mapping[str, Any], column: _NodeColumn) -> str:
    parts = [str(value[key]) for key in column.keys if value.get(key) is not None]
    return " · ".join(parts) or next(
        (each for name, each in value.items() if name != "id" and isinstance(each, str) and each), value["id"]
    )
