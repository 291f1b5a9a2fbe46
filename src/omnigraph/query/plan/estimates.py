"""Guesses of how many rows a step leaves: from the sizes of tables, what the schema promises, and rules of thumb.

A wrong guess makes a query slower, never wrong.
"""

from collections.abc import Callable, Iterable

from omnigraph.catalog.model import EntityType, NodeType, Scalar
from omnigraph.query.plan.steps import AnyCondition
from omnigraph.query.typed import ID, PropertyRead, TextMatch, Travel, Traversal

Counts = Callable[[EntityType], int]
"""How many entities of a type there are, known without reading them."""

_BY_OPERATOR = {"=": 0.1, "!=": 0.9, "<": 0.3, "<=": 0.3, ">": 0.3, ">=": 0.3, "contains": 0.1, "starts_with": 0.05}
_TEXT_MATCH = 0.05
_HOPS_COUNTED = 6
"""Further hops hardly find anything new."""


def entities_passing(entity: NodeType, conditions: Iterable[AnyCondition], counts: Counts) -> float:
    """Guess how many nodes of a type pass conditions."""
    total = counts(entity)
    found = float(total)
    for condition in conditions:
        found *= share_passing(condition, counts)
    return found


def share_passing(condition: AnyCondition, counts: Counts) -> float:
    """Guess the share of rows that pass a condition."""
    if isinstance(condition, TextMatch):
        return _TEXT_MATCH
    if condition.operator == "=":
        for side in (condition.left, condition.right):
            if isinstance(side, PropertyRead):
                return _share_equal(side, counts)
    return _BY_OPERATOR[condition.operator]


def _share_equal(read: PropertyRead, counts: Counts) -> float:
    if is_unique(read):
        return 1 / max(counts(read.entity), 1)
    if read.type.enum_values is not None:
        return 1 / max(len(read.type.enum_values), 1)
    return 0.5 if read.type.scalar is Scalar.BOOL else _BY_OPERATOR["="]


def is_unique(read: PropertyRead) -> bool:
    """Whether no two entities have the same value."""
    if read.property == ID:
        return True
    if isinstance(read.entity, NodeType) and read.entity.key and read.entity.key.properties == (read.property,):
        return True
    return any(rule.properties == (read.property,) for rule in read.entity.uniques)


def fan_out(traversal: Traversal, source: str, nodes: dict[str, NodeType], counts: Counts) -> float:
    """Guess how many ends a traversal has for one beginning at `source`, either of its variables."""
    edges = counts(traversal.edge)
    here = max(counts(nodes[source]), 1)
    there = counts(nodes[traversal.right if source == traversal.left else traversal.left])
    single = edges / here * (2 if traversal.travel is Travel.BOTH else 1)
    if traversal.hops_max == 1:
        return single
    if traversal.edge.from_type != traversal.edge.to_type:
        return single if traversal.hops_min == 1 else 0.0
    hops = range(traversal.hops_min, min(traversal.hops_max, traversal.hops_min + _HOPS_COUNTED) + 1)
    return min(sum(single**hop for hop in hops), float(there))


def pair_share(traversal: Traversal, nodes: dict[str, NodeType], counts: Counts) -> float:
    """Guess the share of pairs of nodes that a traversal connects."""
    there = max(counts(nodes[traversal.right]), 1)
    return min(fan_out(traversal, traversal.left, nodes, counts) / there, 1.0)
