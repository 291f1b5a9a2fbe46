"""Which variables an expression, a condition or a pattern reads."""

from omnigraph.query.plan.steps import AnyCondition
from omnigraph.query.typed import (
    Aggregate,
    CheckedRead,
    Condition,
    Expression,
    Fusion,
    NodeReference,
    Pattern,
    PropertyRead,
    TextMatch,
    TextScore,
    VectorDistance,
)

NOTHING: frozenset[str] = frozenset()


def read_by(expression: Expression | None) -> frozenset[str]:
    """Return the variables that an expression reads; counting a node reads nothing of it but that it is there."""
    match expression:
        case PropertyRead() | NodeReference():
            return frozenset({expression.variable})
        case TextMatch():
            return read_by(expression.field) | read_by(expression.query) | read_by(expression.edits)
        case TextScore() | VectorDistance():
            return read_by(expression.field) | read_by(expression.query)
        case Fusion():
            return read_by(expression.first) | read_by(expression.second) | read_by(expression.k)
        case Aggregate(argument=NodeReference()):
            return NOTHING
        case Aggregate():
            return read_by(expression.argument)
        case _:
            return NOTHING


def read_by_condition(condition: AnyCondition) -> frozenset[str]:
    """Return the variables that a condition reads."""
    if isinstance(condition, Condition):
        return read_by(condition.left) | read_by(condition.right)
    return read_by(condition)


def needed_by(read: CheckedRead) -> frozenset[str]:
    """Return the variables whose values a result shows or is ordered by."""
    found = NOTHING
    for column in read.columns:
        found |= read_by(column.expression)
    for key in read.order:
        found |= read_by(key.expression)
    return found


def free_variables(pattern: Pattern) -> frozenset[str]:
    """Return the variables of patterns around it that a pattern uses, at any depth."""
    found = frozenset(pattern.outer)
    for inner in pattern.negations:
        found |= free_variables(inner)
    return found - frozenset(pattern.nodes) - frozenset(pattern.edges) - frozenset(pattern.paths)


def most_hops(pattern: Pattern) -> int:
    """Return how many hops the longest traversal of a pattern may have, at any depth."""
    own = (traversal.hops_max for traversal in pattern.traversals)
    return max((*own, *map(most_hops, pattern.negations)), default=0)


def searches(read: CheckedRead) -> bool:
    """Whether a read has a search function anywhere."""
    shown = [*(column.expression for column in read.columns), *(key.expression for key in read.order)]
    return any(map(_is_search, shown)) or _pattern_searches(read.pattern)


def _pattern_searches(pattern: Pattern) -> bool:
    for condition in pattern.conditions:
        sides = (condition.left, condition.right) if isinstance(condition, Condition) else (condition,)
        if any(map(_is_search, sides)):
            return True
    return any(map(_pattern_searches, pattern.negations))


def _is_search(expression: Expression) -> bool:
    if isinstance(expression, Aggregate):
        return _is_search(expression.argument)
    return isinstance(expression, TextMatch | TextScore | VectorDistance | Fusion)
