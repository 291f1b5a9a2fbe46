"""A plan in words: one line per step, with the rows it is expected to leave, and what it did if it was run."""

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, assert_never

from omnigraph.base.values import dataclass
from omnigraph.query.plan.steps import (
    AnyCondition,
    Close,
    Expand,
    Filter,
    LookUp,
    Negate,
    Plan,
    Scan,
    Step,
    Weigh,
)
from omnigraph.query.typed import (
    Aggregate,
    CheckedRead,
    Condition,
    Constant,
    Expression,
    Fusion,
    NodeReference,
    Now,
    Parameter,
    PropertyRead,
    TextMatch,
    TextScore,
    Travel,
    Traversal,
    VectorDistance,
)

if TYPE_CHECKING:
    from omnigraph.query.ways.choice import Way

_ANONYMOUS = "#"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFacts:
    """What a step did: how often it ran, how many rows it left in all, and how long it took, inner steps included."""

    calls: int
    rows: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedStep:
    """One line of a plan; `depth` is above 0 for steps inside another one."""

    depth: int
    text: str
    estimated_rows: float | None
    did: StepFacts | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """How a query is answered; without having been run it says nothing about time."""

    query_name: str
    steps: tuple[ExplainedStep, ...]
    way: "Way"
    reads: tuple[str, ...] = ()
    """What is read from Lance where the image is not used: types, columns, and which rows."""
    rows: int | None = None
    seconds: float | None = None

    def __str__(self) -> str:
        return "\n".join(f"{'  ' * step.depth}{step.text}" for step in self.steps)


ENDING = ("group", "order", "limit", "return")
"""What comes after the steps, in the order in which it happens; the names under which a run tells of it."""


def explain(plan: Plan, facts: Mapping[object, StepFacts]) -> tuple[ExplainedStep, ...]:
    """Describe the steps of a plan, with what they did where that is known, by the step or the name of an ending."""
    return (*_steps(plan.steps, 0, facts), *_endings(plan.read, facts))


def _steps(steps: tuple[Step, ...], depth: int, facts: Mapping[object, StepFacts]) -> Iterator[ExplainedStep]:
    for step in steps:
        yield ExplainedStep(depth=depth, text=_said(step), estimated_rows=step.estimate, did=facts.get(id(step)))
        if isinstance(step, Negate | Weigh):
            yield from _steps(step.steps, depth + 1, facts)


def _endings(read: CheckedRead, facts: Mapping[object, StepFacts]) -> Iterator[ExplainedStep]:
    columns = [column.expression for column in read.columns]
    said = {"return": f"return {', '.join(map(spell, columns))}"}
    if read.is_aggregate:
        keys = [spell(column) for column in columns if not isinstance(column, Aggregate)]
        said["group"] = f"group by {', '.join(keys)}" if keys else "put all rows into one group"
    if read.order:
        keys = [f"{spell(key.expression)}{' desc' if key.descending else ''}" for key in read.order]
        said["order"] = f"order by {', '.join(keys)}"
    if read.limit is not None:
        limit = f"${read.limit.name}" if isinstance(read.limit, Parameter) else str(read.limit)
        said["limit"] = f"take the first {limit}"
    for name in ENDING:
        if name in said:
            yield ExplainedStep(depth=0, text=said[name], estimated_rows=None, did=facts.get(name))


def _said(step: Step) -> str:
    match step:
        case LookUp():
            return f"find {_variable(step.variable)}: {step.entity.name} by {step.property} = {spell(step.key)}"
        case Scan():
            where = f" where {_conditions(step.conditions)}" if step.conditions else ""
            return f"scan {_variable(step.variable)}: {step.entity.name}{where}"
        case Expand():
            return f"go from {_variable(step.source)} to {_variable(step.target)} along {_traversal(step.traversal)}"
        case Close():
            return f"check {_traversal(step.traversal)}"
        case Filter():
            return f"keep where {_conditions(step.conditions)}"
        case Negate():
            return f"keep {_each(step.seeds)} for which nothing is found by"
        case Weigh():
            return f"count {_each(step.seeds)} as often as is found by"
        case _ as never:
            assert_never(never)


def _each(seeds: tuple[str, ...]) -> str:
    return f"each {', '.join(map(_variable, seeds))}" if seeds else "each row"


def _variable(name: str) -> str:
    return "$_" if _ANONYMOUS in name else f"${name}"


def _traversal(traversal: Traversal) -> str:
    word = traversal.edge.name
    bounds = (
        f"{{{traversal.hops_min},{traversal.hops_max}}}" if traversal.hops_max > 1 or traversal.path_variable else ""
    )
    word = f"shortest {word}" if traversal.path_variable else word
    edge = f"${traversal.own_variable}:{word}" if traversal.own_variable else word
    arrows = {Travel.OUT: ("-", "->"), Travel.IN: ("<-", "-"), Travel.BOTH: ("-", "-")}[traversal.travel]
    return f"{_variable(traversal.left)} {arrows[0]}{edge}{bounds}{arrows[1]} {_variable(traversal.right)}"


def _conditions(conditions: tuple[AnyCondition, ...]) -> str:
    return " and ".join(map(spell_condition, conditions))


def spell_condition(condition: AnyCondition) -> str:
    """Spell a condition about as it was written."""
    if isinstance(condition, Condition):
        return f"{spell(condition.left)} {condition.operator} {spell(condition.right)}"
    return spell(condition)


def spell(expression: Expression) -> str:
    """Spell an expression about as it was written."""
    match expression:
        case PropertyRead():
            return f"{_variable(expression.variable)}.{expression.property}"
        case NodeReference():
            return _variable(expression.variable)
        case Parameter():
            return f"${expression.name}"
        case Now():
            return "now()"
        case Constant():
            return json.dumps(expression.value, ensure_ascii=False)
        case Aggregate():
            return f"{expression.function}({spell(expression.argument)})"
        case _:
            return _search(expression)


def _search(expression: TextMatch | TextScore | VectorDistance | Fusion) -> str:
    if isinstance(expression, Fusion):
        return f"rrf({spell(expression.first)}, {spell(expression.second)})"
    if isinstance(expression, TextMatch):
        function: str = expression.function
    else:
        function = "bm25" if isinstance(expression, TextScore) else "nearest"
    return f"{function}({spell(expression.field)}, {spell(expression.query)})"
