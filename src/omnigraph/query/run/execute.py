"""Runs a plan over one snapshot: rows, then columns, then an Arrow table."""

from typing import Any

import numpy as np
import pyarrow as pa

from omnigraph.catalog.model import INTEGERS, NodeType
from omnigraph.query.access import MISSING, Ordinals, PropertyTest
from omnigraph.query.plan.steps import AnyCondition, Close, Expand, Filter, LookUp, Negate, Plan, Scan, Step, Weigh
from omnigraph.query.run.arrays import distinct_sorted
from omnigraph.query.run.bindings import Run, is_constant
from omnigraph.query.run.columns import column_of
from omnigraph.query.run.conditions import entities_passing, filter_rows
from omnigraph.query.run.grouping import group_rows
from omnigraph.query.run.ordering import ordered_groups, ordered_rows
from omnigraph.query.run.rows import ORIGIN, Rows
from omnigraph.query.run.traverse import DIRECTION, close_rows, expand_rows
from omnigraph.query.typed import Condition, Parameter, PropertyRead, Travel


def execute(run: Run, plan: Plan, schema: pa.Schema) -> pa.Table:
    """Answer a read; `schema` is that of its result."""
    read = plan.read
    rows_max = _rows_max(run, plan)
    rows = run_steps(run, plan.steps, Rows(1, {}))
    if read.is_aggregate:
        columns = group_rows(run, rows, read)
        if read.order:
            columns = ordered_groups(columns, read, rows_max)
        elif rows_max is not None:
            columns = [values.slice(0, rows_max) for values in columns]
    else:
        rows = _in_order(run, rows, plan, rows_max)
        columns = [column_of(run, rows, column.expression) for column in read.columns]
    return pa.Table.from_arrays(columns, schema=schema)


def _rows_max(run: Run, plan: Plan) -> int | None:
    limit = plan.read.limit
    if not isinstance(limit, Parameter):
        return limit
    given = run.parameters[limit.name]
    assert isinstance(given, int)
    return given


def _in_order(run: Run, rows: Rows, plan: Plan, limit: int | None) -> Rows:
    if plan.read.order and (rows.count > 1 or plan.has_ranking):
        return ordered_rows(run, rows, plan, limit)
    if limit is not None and rows.count > limit:
        return rows.at(np.arange(limit))
    return rows


def run_steps(run: Run, steps: tuple[Step, ...], rows: Rows) -> Rows:
    """Run steps one after the other; rows that are gone stay gone."""
    for step in steps:
        rows = _STEPS[type(step)](run, rows, step)
    return rows


def _look_up(run: Run, rows: Rows, step: LookUp) -> Rows:
    key = run.constant(step.key)
    node = MISSING if key is None else _find(run, step, key)
    if node == MISSING:
        rows = rows.nothing()
    return Rows(rows.count, {**rows.columns, step.variable: max(node, 0)}, rows.weights)


def _find(run: Run, step: LookUp, key: Any) -> int:
    if isinstance(key, float):
        # A whole number may be written as a float; the id is that of the whole number.
        if not key.is_integer():
            return MISSING
        key = int(key)
    declared = step.entity.property_by_name.get(step.property)
    if declared is not None and declared.type.scalar in INTEGERS and isinstance(key, bool):
        return MISSING
    return run.access.nodes(step.entity).find(key if isinstance(key, str) else str(key))


def _scan(run: Run, rows: Rows, step: Scan) -> Rows:
    if not rows.count:
        return Rows(0, {**rows.columns, step.variable: np.zeros(0, np.int32)}, rows.weights)
    nodes = _selected(run, step.entity, step.variable, step.conditions)
    if rows.count == 1 and rows.weights is None and all(isinstance(column, int) for column in rows.columns.values()):
        return Rows(len(nodes), {**rows.columns, step.variable: nodes})
    spread = rows.at(np.repeat(np.arange(rows.count), len(nodes)))
    spread.columns[step.variable] = np.tile(nodes, rows.count)
    return spread


def _selected(run: Run, entity: NodeType, variable: str, conditions: tuple[AnyCondition, ...]) -> Ordinals:
    nodes = run.access.nodes(entity)
    if not conditions:
        return nodes.ordinals()
    tests, others = _tests(run, conditions)
    selected = nodes.select(tests) if tests else None
    if selected is not None:
        return filter_rows(run, Rows(len(selected), {variable: selected}), others).values(variable)
    mask = np.ones(nodes.size, np.bool_)
    for condition in conditions:
        mask &= entities_passing(run, nodes.size, variable, condition)
    if nodes.count == nodes.size:
        return np.flatnonzero(mask).astype(np.int32)
    every = nodes.ordinals()
    return every[mask[every]]


def _tests(run: Run, conditions: tuple[AnyCondition, ...]) -> tuple[list[PropertyTest], list[AnyCondition]]:
    """Split conditions into those that an access may answer itself, and others."""
    tests: list[PropertyTest] = []
    others: list[AnyCondition] = []
    for condition in conditions:
        value = (
            run.constant(condition.right)  # type: ignore[arg-type]  # asked for below
            if isinstance(condition, Condition)
            and isinstance(condition.left, PropertyRead)
            and is_constant(condition.right)
            else None
        )
        if value is None:
            others.append(condition)
        else:
            assert isinstance(condition, Condition)
            assert isinstance(condition.left, PropertyRead)
            tests.append(PropertyTest(property=condition.left.property, operator=condition.operator, value=value))
    return tests, others


def _filter(run: Run, rows: Rows, step: Filter) -> Rows:
    return filter_rows(run, rows, step.conditions)


def _expand(run: Run, rows: Rows, step: Expand) -> Rows:
    if not rows.count:
        edge = step.traversal.edge_variable
        return rows.with_columns(**{name: np.zeros(0, np.int32) for name in (step.target, edge) if name})
    return expand_rows(run, rows, step)


def _close(run: Run, rows: Rows, step: Close) -> Rows:
    if not rows.count:
        edge = step.traversal.edge_variable
        return rows.with_columns(**{edge: np.zeros(0, np.int32)}) if edge else rows
    return close_rows(run, rows, step)


def _negate(run: Run, rows: Rows, step: Negate) -> Rows:
    if not rows.count:
        return rows
    return rows.keep(_solutions(run, rows, step) == 0)


def _weigh(run: Run, rows: Rows, step: Weigh) -> Rows:
    if not rows.count:
        return rows
    return rows.weighted(_solutions(run, rows, step))


def _solutions(run: Run, rows: Rows, step: Negate | Weigh) -> Any:
    """Return for every row how many solutions inner steps have; those with the same seeds are asked once."""
    varying = [name for name in step.seeds if not isinstance(rows.columns[name], int)]
    fixed: dict[str, Any] = {name: rows.columns[name] for name in step.seeds if name not in varying}
    if not varying:
        found = run_steps(run, step.steps, Rows(1, {**fixed, ORIGIN: 0}))
        return np.full(rows.count, found.total(), np.int64)
    if len(varying) > 1:
        columns = {name: rows.columns[name] for name in varying}
        return _counted(run, step, {**fixed, **columns}, rows.count)
    (name,) = varying
    values = rows.values(name)
    distinct = distinct_sorted(values)
    if len(distinct) == len(values):
        return _counted(run, step, {**fixed, name: values}, rows.count)
    counts = _counted(run, step, {**fixed, name: distinct}, len(distinct))
    return counts[np.searchsorted(distinct, values)]


def _counted(run: Run, step: Negate | Weigh, columns: dict[str, Any], count: int) -> Any:
    degrees = _degrees(run, step.steps, columns)
    if degrees is not None:
        return degrees
    found = run_steps(run, step.steps, Rows(count, {**columns, ORIGIN: np.arange(count)}))
    origin = found.values(ORIGIN)
    if found.weights is None:
        return np.bincount(origin, minlength=count)
    return np.rint(np.bincount(origin, weights=found.weights, minlength=count)).astype(np.int64)


def _degrees(run: Run, steps: tuple[Step, ...], columns: dict[str, Any]) -> Any:
    """Count without following: where all that is asked for is the number of neighbours or of edges."""
    if len(steps) != 1 or not isinstance(steps[0], Expand):
        return None
    step = steps[0]
    traversal = step.traversal
    if traversal.travel is Travel.BOTH or traversal.hops_max > 1:
        return None
    if isinstance(columns[step.source], int):
        return None
    travel = traversal.travel
    if step.source != traversal.left:
        travel = Travel.IN if travel is Travel.OUT else Travel.OUT
    edges = run.access.edges(traversal.edge)
    is_distinct = traversal.edge_variable is None
    return edges.degrees(columns[step.source], DIRECTION[travel], distinct=is_distinct)


_STEPS: dict[type, Any] = {
    LookUp: _look_up,
    Scan: _scan,
    Filter: _filter,
    Expand: _expand,
    Close: _close,
    Negate: _negate,
    Weigh: _weigh,
}
