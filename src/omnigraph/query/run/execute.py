"""Runs a plan over one snapshot: rows, then columns, then an Arrow table."""

from typing import Any

import numpy as np
import pyarrow as pa

from omnigraph.catalog.model import INTEGERS, NodeType
from omnigraph.query.access import MISSING, Ordinals
from omnigraph.query.plan.reading import property_tests
from omnigraph.query.plan.steps import AnyCondition, Close, Expand, Filter, LookUp, Negate, Plan, Scan, Step, Weigh
from omnigraph.query.run.bindings import Run
from omnigraph.query.run.columns import column_of
from omnigraph.query.run.conditions import entities_passing, filter_rows
from omnigraph.query.run.counting import solutions
from omnigraph.query.run.grouping import group_rows
from omnigraph.query.run.ordering import ordered_groups, ordered_rows
from omnigraph.query.run.products import ALL, LargeProduct, Wanted, in_blocks, product_of
from omnigraph.query.run.rows import ORIGIN, Rows
from omnigraph.query.run.trace import Trace
from omnigraph.query.run.traverse import close_rows, expand_rows
from omnigraph.query.typed import Parameter


def execute(run: Run, plan: Plan, schema: pa.Schema) -> pa.Table:
    """Answer a read; `schema` is that of its result."""
    if run.trace is not None:
        return _execute_traced(run, run.trace, plan, schema)
    rows_max = _rows_max(run, plan)
    rows = run_steps(run, plan.steps, Rows(1, {}), _wanted(run, plan, rows_max))
    if plan.read.is_aggregate:
        columns = _groups_in_order(group_rows(run, rows, plan.read), plan, rows_max)
    else:
        rows = _in_order(run, rows, plan, rows_max)
        columns = [column_of(run, rows, column.expression) for column in plan.read.columns]
    return pa.Table.from_arrays(columns, schema=schema)


def _execute_traced(run: Run, trace: Trace, plan: Plan, schema: pa.Schema) -> pa.Table:
    """Do the same and say how long each part takes."""
    rows_max = _rows_max(run, plan)
    rows = run_steps(run, plan.steps, Rows(1, {}), _wanted(run, plan, rows_max))
    if plan.read.is_aggregate:
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
            columns = [column_of(run, rows, column.expression) for column in plan.read.columns]
            count[0] = rows.count
    return pa.Table.from_arrays(columns, schema=schema)


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


def run_steps(run: Run, steps: tuple[Step, ...], rows: Rows, wanted: Wanted = ALL) -> Rows:
    """Run steps one after the other; rows that are gone stay gone."""
    try:
        if run.trace is not None:
            for step in steps:
                with run.trace.timing(id(step)) as count:
                    rows = _STEPS[type(step)](run, rows, step)
                    count[0] = rows.count
            return rows
        for step in steps:
            rows = _STEPS[type(step)](run, rows, step)
    except LargeProduct as product:
        rest = steps[steps.index(product.step) + 1 :]
        finish = (lambda block: run_steps(run, rest, block, wanted)) if rest else None
        return in_blocks(product, finish, wanted)
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


def _expand(run: Run, rows: Rows, step: Expand) -> Rows:
    if not rows.count:
        own = step.traversal.own_variable
        return rows.with_columns(**{name: np.zeros(0, np.int32) for name in (step.target, own) if name})
    return expand_rows(run, rows, step)


def _close(run: Run, rows: Rows, step: Close) -> Rows:
    if not rows.count:
        own = step.traversal.own_variable
        return rows.with_columns(**{own: np.zeros(0, np.int32)}) if own else rows
    return close_rows(run, rows, step)


def _negate(run: Run, rows: Rows, step: Negate) -> Rows:
    if not rows.count:
        return rows
    return rows.keep(solutions(run, rows, step.seeds, step.steps, run_steps) == 0)


def _weigh(run: Run, rows: Rows, step: Weigh) -> Rows:
    if not rows.count:
        return rows
    # Rows of inner steps are only counted, and one that stands for nothing adds nothing.
    counts = solutions(run, rows, step.seeds, step.steps, run_steps)
    return rows.weighted(counts, keeps_nothing=ORIGIN in rows.columns)


_STEPS: dict[type, Any] = {
    LookUp: _look_up,
    Scan: _scan,
    Filter: _filter,
    Expand: _expand,
    Close: _close,
    Negate: _negate,
    Weigh: _weigh,
}
