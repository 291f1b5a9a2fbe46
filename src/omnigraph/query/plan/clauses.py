"""A pattern as one list of clauses, each with the variables it connects: what the planner moves around."""

from collections.abc import Iterable
from typing import TypeAlias

from omnigraph.base.values import dataclass
from omnigraph.query.plan.reading import free_variables, read_by_condition
from omnigraph.query.plan.steps import AnyCondition
from omnigraph.query.typed import Condition, Constant, Now, Parameter, Pattern, PropertyRead, TextMatch, Traversal


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Clause:
    """One thing that must hold."""

    says: "Traversal | AnyCondition | Pattern"
    variables: frozenset[str]
    """All variables that it needs or binds: the ends of a traversal, and its edge or path."""


Clauses: TypeAlias = tuple[Clause, ...]


def clauses_of(pattern: Pattern) -> Clauses:
    """Return what a pattern says, clause by clause."""
    traversals = (
        Clause(says=traversal, variables=frozenset(filter(None, _variables_of(traversal))))
        for traversal in pattern.traversals
    )
    conditions = (Clause(says=condition, variables=read_by_condition(condition)) for condition in pattern.conditions)
    negations = (Clause(says=negated, variables=free_variables(negated)) for negated in pattern.negations)
    return (*traversals, *conditions, *negations)


def _variables_of(traversal: Traversal) -> tuple[str | None, ...]:
    return traversal.left, traversal.right, traversal.own_variable


def conditions_on(variable: str, clauses: Iterable[Clause]) -> list[Clause]:
    """Return the conditions that read this variable and no other."""
    alone = frozenset({variable})
    return [
        clause for clause in clauses if clause.variables == alone and isinstance(clause.says, Condition | TextMatch)
    ]


def key_of(clause: Clause, variable: str) -> "tuple[str, Constant | Parameter | Now] | None":
    """Return the property and the value where a condition says what key the node of a variable has."""
    condition = clause.says
    if not isinstance(condition, Condition) or condition.operator != "=":
        return None
    for read, value in ((condition.left, condition.right), (condition.right, condition.left)):
        if (
            isinstance(read, PropertyRead)
            and read.variable == variable
            and isinstance(value, Constant | Parameter | Now)
            and is_key(read)
        ):
            return read.property, value
    return None


def is_key(read: PropertyRead) -> bool:
    """Whether the value of this property alone tells the id of a node."""
    from omnigraph.catalog.model import INTEGERS, NodeType, Scalar
    from omnigraph.query.typed import ID

    if not isinstance(read.entity, NodeType):
        return False
    if read.property == ID:
        return True
    key = read.entity.key
    return (
        key is not None
        and key.properties == (read.property,)
        and read.type.scalar in INTEGERS | {Scalar.STRING, Scalar.DATE, Scalar.DATETIME}
    )
