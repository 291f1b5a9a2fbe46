"""Runs a plan over one snapshot: rows, then columns, then an Arrow table."""

from collections.abc import Callable, Iterable
from functools import partial
from itertools import repeat
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from omnigraph.catalog.model import INTEGERS, NodeType
from omnigraph.graphs.result import FewRows
from omnigraph.query.access import MISSING, Ordinals
from omnigraph.query.plan.liveness import read_later
from omnigraph.query.plan.reading import property_tests
from omnigraph.query.plan.steps import AnyCondition, Close, Expand, Filter, LookUp, Negate, Plan, Scan, Step, Weigh
from omnigraph.query.run.best_first import best_rows, is_best_first
from omnigraph.query.run.bindings import Run
from omnigraph.query.run.blocks import MANY, blocks, checked_until, run_blocks
from omnigraph.query.run.columns import column_maker, values_maker
from omnigraph.query.run.conditions import entities_passing, filter_rows
from omnigraph.query.run.counting import RunSteps, solutions
from omnigraph.query.run.grouping import group_rows
from omnigraph.query.run.ordering import ordered_groups, ordered_rows
from omnigraph.query.run.products import ALL, LargeProduct, Wanted, in_blocks, joined, product_of
from omnigraph.query.run.rows import ORIGIN, Rows
from omnigraph.query.run.trace import Trace
from omnigraph.query.run.traverse import close_rows, expansion
from omnigraph.query.typed import Parameter

_FEW_ROWS = 32
"""So many are put together value by value sooner than by Arrow."""
StepFunction: TypeAlias = Callable[[Run, Rows], Rows]

_BEGINNING = Rows(1, {})
"""The row that every plan begins with, of no variables."""


class Program:
    """A plan as functions that are called one after the other: what follows from the plan alone is decided once."""

    def __init__(self, plan: Plan, schema: pa.Schema) -> None:
        """Take the schema of the result."""
        self.plan = plan
        self._schema = schema
        self._function_by_step: dict[int, StepFunction] = {}
        self._functions = self._chained(self._compiled(plan.steps, read_later(plan)))
        self._is_best_first = is_best_first(plan)
        self._is_aggregate = plan.read.is_aggregate
        self._has_order = bool(plan.read.order) or plan.read.limit is not None
        self._columns = () if self._is_aggregate else tuple(column_maker(each.expression) for each in plan.read.columns)
        values = [values_maker(each.expression) for each in plan.read.columns]
        is_plain = not (self._is_aggregate or self._is_best_first or self._has_order) and None not in values
        self._values = tuple(value for value in values if value is not None) if is_plain else ()
        self._names = tuple(schema.names)

    def answer(self, run: Run) -> pa.Table | FewRows:
        """Answer the read; a few rows of plain values stay such."""
        if not self._values or run.trace is not None:
            return self.run(run)
        rows = self._rows(run)
        if rows.count <= _FEW_ROWS:
            return FewRows([make(run, rows) for make in self._values], rows.count, self._schema, self._names)
        return pa.Table.from_arrays([make(run, rows) for make in self._columns], schema=self._schema)

    def run(self, run: Run) -> pa.Table:
        """Answer the read."""
        if run.trace is not None:
            return self._run_traced(run, run.trace)
        plan = self.plan
        rows = self._best_rows(run) if self._is_best_first else self._rows(run)
        if self._is_aggregate:
            columns = _groups_in_order(group_rows(run, rows, plan.read), plan, _rows_max(run, plan))
        else:
            if self._has_order:
                rows = _in_order(run, rows, plan, _rows_max(run, plan))
            columns = [make(run, rows) for make in self._columns]
        return pa.Table.from_arrays(columns, schema=self._schema)

    def _run_traced(self, run: Run, trace: Trace) -> pa.Table:
        """Do the same and say how long each part takes."""
        plan = self.plan
        rows_max = _rows_max(run, plan)
        if self._is_best_first:
            rows = self._best_rows(run)
        else:
            rows = self.run_steps(run, plan.steps, _BEGINNING, _wanted(run, plan, rows_max))
        if self._is_aggregate:
            with trace.timing("group") as count:
                columns = group_rows(run, rows, plan.read)
                count[0] = len(columns[0])
            with trace.timing("order") as count:
                columns = _groups_in_order(columns, plan, rows_max)
                count[0] = len(columns[0])
        else:
            with trace.timing("order") as count:
                rows = _in_order(run, rows, plan, rows_max)
                count[0] = rows.count
            with trace.timing("return") as count:
                columns = [make(run, rows) for make in self._columns]
                count[0] = rows.count
        return pa.Table.from_arrays(columns, schema=self._schema)

    def _rows(self, run: Run) -> Rows:
        rows = _BEGINNING
        try:
            for function in self._functions:
                rows = function(run, rows)
        except LargeProduct as product:
            plan = self.plan
            return self._in_blocks(run, plan.steps, product, _wanted(run, plan, _rows_max(run, plan)))
        return rows

    def _best_rows(self, run: Run) -> Rows:
        """Return rows among which those are that a limit lets through."""
        limit = _rows_max(run, self.plan)
        wanted = _wanted(run, self.plan, limit)
        return best_rows(run, self.plan, limit, lambda steps, rows: self.run_steps(run, steps, rows, wanted))

    def run_steps(self, run: Run, steps: tuple[Step, ...], rows: Rows, wanted: Wanted = ALL) -> Rows:
        """Run some steps of the plan, inner ones included; rows that are gone stay gone."""
        place = 0
        try:
            while place < len(steps):
                end = checked_until(steps, place) if rows.count >= MANY else place + 1
                if end > place + 1:
                    some = steps[place:end]
                    rows = joined([self._run_each(run, some, block) for block in blocks(rows, steps, place)])
                else:
                    rows = self._run_each(run, steps[place:end], rows)
                place = end
        except LargeProduct as product:
            return self._in_blocks(run, steps, product, wanted)
        return rows

    def _run_each(self, run: Run, steps: tuple[Step, ...], rows: Rows) -> Rows:
        for step in steps:
            if run.trace is None:
                rows = self._function_by_step[id(step)](run, rows)
                continue
            with run.trace.timing(id(step)) as count:
                rows = self._function_by_step[id(step)](run, rows)
                count[0] = rows.count
        return rows

    def _in_blocks(self, run: Run, steps: tuple[Step, ...], product: LargeProduct, wanted: Wanted) -> Rows:
        """Run the steps behind a product once for each block of it."""
        rest = steps[steps.index(product.step) + 1 :]
        finish = (lambda block: self.run_steps(run, rest, block, wanted.deeper())) if rest else None
        return in_blocks(product, finish, wanted)

    def _compiled(self, steps: tuple[Step, ...], kept: Iterable[frozenset[str] | None]) -> tuple[StepFunction, ...]:
        functions = tuple(map(self._compiled_step, steps, kept))
        # The plan keeps its steps, so that each goes by its own number.
        self._function_by_step.update((id(step), function) for step, function in zip(steps, functions, strict=True))
        return functions

    def _chained(self, functions: tuple[StepFunction, ...]) -> tuple[StepFunction, ...]:
        """Put an expansion and the checks behind it into one function, which goes through many rows by blocks."""
        steps = self.plan.steps
        chained: list[StepFunction] = []
        place = 0
        while place < len(steps):
            end = checked_until(steps, place)
            is_alone = end == place + 1
            chained.append(functions[place] if is_alone else _chain(functions[place:end], steps, place))
            place = end
        return tuple(chained)

    def _compiled_step(self, step: Step, kept: frozenset[str] | None) -> StepFunction:
        if isinstance(step, Negate | Weigh):
            self._compiled(step.steps, repeat(None))
            if isinstance(step, Negate):
                return partial(_negate, step=step, run_steps=self.run_steps)
            return partial(_weigh, step=step, run_steps=self.run_steps)
        if isinstance(step, LookUp):
            return _look_up(step)
        if isinstance(step, Expand):
            return expansion(step, kept)
        return partial(_STEPS[type(step)], step=step)


def execute(run: Run, plan: Plan, schema: pa.Schema) -> pa.Table:
    """Answer a read that is run once; `schema` is that of its result."""
    return Program(plan, schema).run(run)


def _groups_in_order(columns: list[pa.Array], plan: Plan, limit: int | None) -> list[pa.Array]:
    if plan.read.order:
        return ordered_groups(columns, plan.read, limit)
    return columns if limit is None else [values.slice(0, limit) for values in columns]


def _rows_max(run: Run, plan: Plan) -> int | None:
    limit = plan.read.limit
    if not isinstance(limit, Parameter):
        return limit
    given = run.parameters[limit.name]
    assert isinstance(given, int)
    return given


def _wanted(run: Run, plan: Plan, limit: int | None) -> Wanted:
    """Say which rows of a large product need be kept: a ranking needs them all, as groups do."""
    if limit is None or plan.read.is_aggregate or plan.has_ranking:
        return ALL
    return Wanted(keep=lambda rows: _in_order(run, rows, plan, limit)) if plan.read.order else Wanted(enough=limit)


def _in_order(run: Run, rows: Rows, plan: Plan, limit: int | None) -> Rows:
    if plan.read.order and (rows.count > 1 or plan.has_ranking):
        return ordered_rows(run, rows, plan, limit)
    if limit is not None and rows.count > limit:
        return rows.at(np.arange(limit))
    return rows


def _chain(functions: tuple[StepFunction, ...], steps: tuple[Step, ...], place: int) -> StepFunction:
    def run_all(run: Run, rows: Rows) -> Rows:
        if rows.count >= MANY:
            return joined(run_blocks(partial(run_each, run), blocks(rows, steps, place)))
        return run_each(run, rows)

    def run_each(run: Run, rows: Rows) -> Rows:
        for function in functions:
            rows = function(run, rows)
        return rows

    return run_all


def _look_up(step: LookUp) -> StepFunction:
    entity, variable = step.entity, step.variable
    parameter = step.key.name if isinstance(step.key, Parameter) else None
    declared = entity.property_by_name.get(step.property)
    is_integer = declared is not None and declared.type.scalar in INTEGERS

    def look_up(run: Run, rows: Rows) -> Rows:
        key = run.constant(step.key) if parameter is None else run.parameters[parameter]
        if not isinstance(key, str):
            key = _id_of_number(key, is_integer=is_integer)
        node = MISSING if key is None else run.access.nodes(entity).find(key)
        if node == MISSING:
            rows, node = rows.nothing(), 0
        return Rows(rows.count, {**rows.columns, variable: node}, rows.weights)

    return look_up


def _id_of_number(key: Any, *, is_integer: bool) -> str | None:
    """Return the id of a node whose key is no text; None where no node can have it."""
    if isinstance(key, float):
        # A whole number may be written as a float; the id is that of the whole number.
        return str(int(key)) if key.is_integer() else None
    return None if key is None or (is_integer and isinstance(key, bool)) else str(key)


def _scan(run: Run, rows: Rows, step: Scan) -> Rows:
    if not rows.count:
        return Rows(0, {**rows.columns, step.variable: np.zeros(0, np.int32)}, rows.weights)
    nodes = _selected(run, step.entity, step.variable, step.conditions)
    return product_of(step, rows, nodes)


def _selected(run: Run, entity: NodeType, variable: str, conditions: tuple[AnyCondition, ...]) -> Ordinals:
    nodes = run.access.nodes(entity)
    if not conditions:
        return nodes.ordinals()
    selected = nodes.select(property_tests(conditions, run.constant))
    if selected is not None:
        return filter_rows(run, Rows(len(selected), {variable: selected}), conditions).values(variable)
    mask = np.ones(nodes.size, np.bool_)
    for condition in conditions:
        mask &= entities_passing(run, nodes.size, variable, condition)
    if nodes.count == nodes.size:
        return np.flatnonzero(mask).astype(np.int32)
    every = nodes.ordinals()
    return every[mask[every]]


def _filter(run: Run, rows: Rows, step: Filter) -> Rows:
    return filter_rows(run, rows, step.conditions)


def _close(run: Run, rows: Rows, step: Close) -> Rows:
    if not rows.count:
        own = step.traversal.own_variable
        return rows.with_columns(**{own: np.zeros(0, np.int32)}) if own else rows
    return close_rows(run, rows, step)


def _negate(run: Run, rows: Rows, *, step: Negate, run_steps: RunSteps) -> Rows:
    if not rows.count:
        return rows
    return rows.keep(solutions(run, rows, step.seeds, step.steps, run_steps) == 0)


def _weigh(run: Run, rows: Rows, *, step: Weigh, run_steps: RunSteps) -> Rows:
    if not rows.count:
        return rows
    # Rows of inner steps are only counted, and one that stands for nothing adds nothing.
    counts = solutions(run, rows, step.seeds, step.steps, run_steps)
    return rows.weighted(counts, keeps_nothing=ORIGIN in rows.columns)


_STEPS: dict[type, Any] = {
    Scan: _scan,
    Filter: _filter,
    Close: _close,
}
