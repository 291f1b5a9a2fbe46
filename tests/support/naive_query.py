"""Answers reads by trying everything, straight from the contract: what every other way of answering is compared with.

A graph is plain dictionaries, a solution a dictionary from variables to ids. Nothing here is clever, so that it can be
read beside the contract; it takes small graphs only.
"""

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cmp_to_key
from itertools import product
from typing import Any

from omnigraph.catalog.model import PropertyType, Scalar
from omnigraph.query.typed import (
    Aggregate,
    CheckedRead,
    Condition,
    Constant,
    NodeReference,
    Now,
    Parameter,
    PathType,
    Pattern,
    PropertyRead,
    Travel,
    Traversal,
)

Row = dict[str, Any]
Solution = dict[str, Any]
"""The id of a node or an edge, and the number of hops of a path."""


@dataclass
class NaiveGraph:
    """Entities by type and id; an edge also has `src` and `dst`. Values are what columns store."""

    nodes: dict[str, dict[str, Row]] = field(default_factory=dict)
    edges: dict[str, dict[str, Row]] = field(default_factory=dict)

    def ids(self, type_name: str) -> list[str]:
        return list(self.nodes.get(type_name, {}))

    def between(self, edge: str) -> list[tuple[str, str, str]]:
        return [(edge_id, row["src"], row["dst"]) for edge_id, row in self.edges.get(edge, {}).items()]


@dataclass
class NaiveAnswer:
    """Rows in their order; `is_ordered` says whether that is anybody's business."""

    rows: list[tuple[Any, ...]]
    is_ordered: bool
    limit: int | None


class Naive:
    """One read of one graph."""

    def __init__(self, graph: NaiveGraph, read: CheckedRead, parameters: Mapping[str, Any], now_ms: int = 0) -> None:
        self.graph = graph
        self.read = read
        self.parameters = parameters
        self.now_ms = now_ms

    def answer(self) -> NaiveAnswer:
        solutions = list(self.solutions(self.read.pattern, {}))
        limit = self.read.limit
        count = self.parameters[limit.name] if isinstance(limit, Parameter) else limit
        rows = self._grouped(solutions) if self.read.is_aggregate else self._projected(solutions)
        if self.read.order and count is not None:
            rows = rows[:count]
        return NaiveAnswer(rows=rows, is_ordered=bool(self.read.order), limit=count)

    # --- matching

    def solutions(self, pattern: Pattern, outer: Solution) -> Iterator[Solution]:
        names = list(pattern.nodes)
        for chosen in product(*(self.graph.ids(pattern.nodes[name].name) for name in names)):
            nodes = {**outer, **dict(zip(names, chosen, strict=True))}
            for solution in self._with_edges(list(pattern.traversals), nodes, pattern):
                if all(self._holds(condition, solution, pattern) for condition in pattern.conditions) and not any(
                    any(True for _ in self.solutions(inner, solution)) for inner in pattern.negations
                ):
                    yield solution

    def _with_edges(self, traversals: list[Traversal], solution: Solution, pattern: Pattern) -> Iterator[Solution]:
        if not traversals:
            yield solution
            return
        first, *rest = traversals
        left, right = solution[first.left], solution[first.right]
        if first.edge_variable is None:
            hops = self._reach(first, left).get(right)
            if hops is not None:
                path = {first.path_variable: hops} if first.path_variable else {}
                yield from self._with_edges(rest, {**solution, **path}, pattern)
            return
        for edge_id, source, target in self.graph.between(first.edge.name):
            ways = {Travel.OUT: [(source, target)], Travel.IN: [(target, source)]}
            if (left, right) in ways.get(first.travel, [(source, target), (target, source)]):
                yield from self._with_edges(rest, {**solution, first.edge_variable: edge_id}, pattern)

    def _reach(self, traversal: Traversal, start: str) -> dict[str, int]:
        """Return the nodes within reach and how many hops each is away, the fewest that the bounds allow."""
        steps: dict[str, set[str]] = {}
        for _, source, target in self.graph.between(traversal.edge.name):
            if traversal.travel is not Travel.IN:
                steps.setdefault(source, set()).add(target)
            if traversal.travel is not Travel.OUT:
                steps.setdefault(target, set()).add(source)
        low, high = traversal.hops_min, traversal.hops_max
        if traversal.edge.from_type != traversal.edge.to_type:
            return dict.fromkeys(steps.get(start, set()), 1) if low == 1 else {}
        distance = {start: 0}
        frontier = [start]
        while frontier:
            node = frontier.pop(0)
            for following in steps.get(node, set()):
                if following not in distance:
                    distance[following] = distance[node] + 1
                    frontier.append(following)
        direct = {node: hops for node, hops in distance.items() if node != start and low <= hops <= high}
        looped = {
            node: hops + 1
            for node, hops in distance.items()
            if node in steps.get(node, set()) and low <= hops + 1 <= high
        }
        return looped | direct

    # --- values

    def value(self, expression: Any, solution: Solution) -> Any:
        match expression:
            case Constant():
                return expression.value
            case Parameter():
                return self.parameters[expression.name]
            case Now():
                return self.now_ms
            case PropertyRead():
                entity_id = solution[expression.variable]
                if expression.property == "id" or isinstance(expression.entity, PathType):
                    return entity_id
                tables = self.graph.nodes if expression.entity.kind == "node" else self.graph.edges
                return tables[expression.entity.name][entity_id][expression.property]
            case NodeReference():
                node = self.graph.nodes[expression.entity.name][solution[expression.variable]]
                return {"id": solution[expression.variable], **{name: node[name] for name in sorted(node)}}
        raise NotImplementedError(expression)

    def _holds(self, condition: Any, solution: Solution, pattern: Pattern) -> bool:
        del pattern
        assert isinstance(condition, Condition)
        left, right = self.value(condition.left, solution), self.value(condition.right, solution)
        left = _rounded(left, condition.left, condition.right)
        right = _rounded(right, condition.right, condition.left)
        if left is None or right is None:
            return False
        match condition.operator:
            case "=":
                return bool(left == right)
            case "!=":
                return bool(left != right)
            case "<":
                return bool(left < right)
            case "<=":
                return bool(left <= right)
            case ">":
                return bool(left > right)
            case ">=":
                return bool(left >= right)
            case "contains":
                return right in left
            case "starts_with":
                return str(left).startswith(right)

    # --- columns, groups and order

    def _projected(self, solutions: list[Solution]) -> list[tuple[Any, ...]]:
        if self.read.order:
            pattern = self.read.pattern
            named = sorted(name for name in (*pattern.nodes, *pattern.edges) if "#" not in name)

            def compare(one: Solution, other: Solution) -> int:
                for key in self.read.order:
                    sign = _compare(self.value(key.expression, one), self.value(key.expression, other))
                    if sign:
                        return -sign if key.descending else sign
                return next((s for name in named if (s := _compare(one[name], other[name]))), 0)

            solutions = sorted(solutions, key=cmp_to_key(compare))
        return [tuple(self.value(column.expression, found) for column in self.read.columns) for found in solutions]

    def _grouped(self, solutions: list[Solution]) -> list[tuple[Any, ...]]:
        keys = [column.expression for column in self.read.columns if not isinstance(column.expression, Aggregate)]
        groups: dict[str, list[Solution]] = {} if keys else {"": []}
        for solution in solutions:
            groups.setdefault(repr([_same(self.value(key, solution)) for key in keys]) if keys else "", []).append(
                solution
            )
        rows = [
            tuple(
                self._aggregate(column.expression, group)
                if isinstance(column.expression, Aggregate)
                else self.value(column.expression, group[0])
                for column in self.read.columns
            )
            for group in groups.values()
        ]
        if not self.read.order:
            return rows
        ties = [p for p, column in enumerate(self.read.columns) if not isinstance(column.expression, Aggregate)]

        def compare(one: tuple[Any, ...], other: tuple[Any, ...]) -> int:
            for key in self.read.order:
                assert key.column is not None
                sign = _compare(one[key.column], other[key.column])
                if sign:
                    return -sign if key.descending else sign
            return next((s for place in ties if (s := _compare(one[place], other[place]))), 0)

        return sorted(rows, key=cmp_to_key(compare))

    def _aggregate(self, aggregate: Aggregate, group: list[Solution]) -> Any:
        if isinstance(aggregate.argument, NodeReference):
            return len(group)
        values = [v for solution in group if (v := self.value(aggregate.argument, solution)) is not None]
        match aggregate.function:
            case "count":
                return len(values)
            case "sum":
                return float(sum(values)) if values else None
            case "avg":
                return sum(values) / len(values) if values else None
            case "min":
                return min(values, default=None)
            case "max":
                return max(values, default=None)


def _rounded(value: Any, expression: Any, other: Any) -> Any:
    """Round a literal or a parameter that is compared with single floats."""
    is_given = isinstance(expression, Constant | Parameter)
    declared: PropertyType | None = other.type if isinstance(other, PropertyRead) else None
    if value is None or not is_given or declared is None or declared.scalar is not Scalar.F32:
        return value
    try:
        return struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _compare(one: Any, other: Any) -> int:
    """Compare two values of one type; null is below all, a node is its id."""
    if one is None or other is None:
        return (one is not None) - (other is not None)
    if isinstance(one, dict):
        one, other = one["id"], other["id"]
    return int(one > other) - int(one < other)


def _same(value: Any) -> Any:
    """Return a value whose spelling is equal where the value is: minus zero equals zero."""
    return value + 0.0 if isinstance(value, float) else value
