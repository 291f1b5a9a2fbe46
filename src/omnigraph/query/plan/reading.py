"""Which variables an expression, a condition or a pattern reads."""

from collections.abc import Callable, Iterable, Iterator

from omnigraph.catalog.model import Scalar, TableKey
from omnigraph.query.access import PropertyTest
from omnigraph.query.plan.steps import AnyCondition
from omnigraph.query.typed import (
    ID,
    Aggregate,
    CheckedRead,
    Condition,
    Constant,
    ConstantValue,
    Expression,
    Fusion,
    NodeReference,
    Now,
    Parameter,
    PathType,
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


def properties_asked(read: CheckedRead) -> dict[tuple[str, str], set[str]]:
    """Return which properties are asked of a variable of a type, anywhere in the read."""
    found: dict[tuple[str, str], set[str]] = {}
    for expression in _expressions(read):
        if isinstance(expression, PropertyRead):
            if isinstance(expression.entity, PathType):
                continue  # the hops of a path are stored nowhere
            found.setdefault((expression.variable, expression.entity.table_key), set()).add(expression.property)
        elif isinstance(expression, NodeReference):
            names = {each.name for each in expression.entity.properties if each.type.scalar is not Scalar.BLOB}
            found.setdefault((expression.variable, expression.entity.table_key), set()).update(names)
    return found


def _expressions(read: CheckedRead) -> Iterator[Expression]:
    for column in read.columns:
        expression = column.expression
        if isinstance(expression, Aggregate):
            # Counting a node counts rows, and asks nothing of it.
            if not isinstance(expression.argument, NodeReference):
                yield expression.argument
        else:
            yield expression
    yield from (key.expression for key in read.order)
    yield from _of_pattern(read.pattern)


def _of_pattern(pattern: Pattern) -> Iterator[Expression]:
    for condition in pattern.conditions:
        if isinstance(condition, Condition):
            yield condition.left
            yield condition.right
    for negation in pattern.negations:
        yield from _of_pattern(negation)


def names_read(read: CheckedRead) -> dict[TableKey, set[str]]:
    """Return which columns of each type a read looks at, those that break ties included."""
    found: dict[TableKey, set[str]] = {}
    for (_, table_key), names in properties_asked(read).items():
        found.setdefault(TableKey(table_key), set()).update(names)
    if read.order:
        for edge in read.pattern.edges.values():
            found.setdefault(edge.table_key, set()).add(ID)
    return found


def property_tests(
    conditions: Iterable[AnyCondition], constant: Callable[[Constant | Parameter | Now], ConstantValue | None]
) -> list[PropertyTest]:
    """Return the conditions that compare a property with one value; `constant` knows the values of a run."""
    found = []
    for condition in conditions:
        if (
            isinstance(condition, Condition)
            and isinstance(condition.left, PropertyRead)
            and isinstance(condition.right, Constant | Parameter | Now)
        ):
            value = constant(condition.right)
            if value is not None:
                found.append(PropertyTest(property=condition.left.property, operator=condition.operator, value=value))
    return found
