"""What is read from Lance where a query goes another way than over the image: which columns, and which rows."""

from collections.abc import Iterable, Iterator
from typing import Any

from omnigraph.catalog.model import EdgeType, EntityType, Scalar
from omnigraph.query.lookups.pushed import filter_of_tests, is_id
from omnigraph.query.plan.explain import spell_condition
from omnigraph.query.plan.reading import names_read, properties_asked, property_tests, read_by_condition
from omnigraph.query.plan.steps import AnyCondition, Close, Expand, LookUp, Negate, Plan, Scan, Step, Weigh
from omnigraph.query.typed import ID, Constant, Now, Parameter
from omnigraph.query.ways.choice import Way, WayName
from omnigraph.query.ways.parts import directions

_SAMPLES: dict[Scalar, Any] = {Scalar.STRING: "", Scalar.BOOL: True}
"""What stands for the value of a parameter that nobody has given; any other is a number."""


def reads_of(plan: Plan, way: Way) -> tuple[str, ...]:
    """Say what each question to Lance asks for, in the order of the steps; the image asks none."""
    match way.name:
        case WayName.LOOK_UPS:
            return tuple(dict.fromkeys(_LookUps(plan).of_steps(plan.steps)))
        case WayName.DUCKDB:
            return tuple(dict.fromkeys(_scans(plan)))
        case _:
            return ()


class _LookUps:
    """What the steps of a plan look up."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    def of_steps(self, steps: Iterable[Step]) -> Iterator[str]:
        for step in steps:
            match step:
                case LookUp():
                    yield f"{_columns(self._plan, step.entity)} by id"
                case Scan():
                    yield f"{_columns(self._plan, step.entity)}{_rows(step.entity, step.conditions)}"
                case Expand():
                    yield from self._followed(step, step.source)
                case Close():
                    yield from self._followed(step, step.traversal.left)
                case Negate() | Weigh():
                    yield from self.of_steps(step.steps)

    def _followed(self, step: Expand | Close, source: str) -> Iterator[str]:
        edge = step.traversal.edge
        for direction in directions(step.traversal, source):
            yield f"{_columns(self._plan, edge)} by {'src' if direction == 'out' else 'dst'}"
        if isinstance(step, Expand):
            target = self._plan.read.pattern.nodes.get(step.target)
            if target is not None and _names(self._plan, target) != [ID]:
                yield f"{_columns(self._plan, target)} by id"


def _scans(plan: Plan) -> Iterator[str]:
    pattern = plan.read.pattern
    for variable, entity in (*pattern.nodes.items(), *pattern.edges.items()):
        own = [condition for condition in pattern.conditions if read_by_condition(condition) == {variable}]
        asked = properties_asked(plan.read).get((variable, entity.table_key), set())
        yield f"{entity.name}: {', '.join(_listed(entity, asked - {ID}))}{_rows(entity, own)}"
    for traversal in pattern.traversals:
        if traversal.edge_variable is None:
            yield f"{traversal.edge.name}: src, dst, all rows"


def _columns(plan: Plan, entity: EntityType) -> str:
    return f"{entity.name}: {', '.join(_names(plan, entity))}"


def _names(plan: Plan, entity: EntityType) -> list[str]:
    asked = names_read(plan.read).get(entity.table_key, set())
    return _listed(entity, {name for name in asked if not is_id(entity, name)})


def _listed(entity: EntityType, asked: set[str]) -> list[str]:
    return [*(("src", "dst") if isinstance(entity, EdgeType) else (ID,)), *sorted(asked)]


def _rows(entity: EntityType, conditions: Iterable[AnyCondition]) -> str:
    pushed = [spell_condition(each) for each in conditions if _is_pushed(entity, each)]
    return f" where {' and '.join(pushed)}" if pushed else ", all rows"


def _is_pushed(entity: EntityType, condition: AnyCondition) -> bool:
    return filter_of_tests(entity, property_tests([condition], _sample))[0] is not None


def _sample(expression: Constant | Parameter | Now) -> Any:
    return expression.value if isinstance(expression, Constant) else _SAMPLES.get(expression.type.scalar, 1)
