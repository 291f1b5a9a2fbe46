"""How many solutions inner steps have for each row, without listing them where that can be avoided.

Rows with the same seeds are asked once. Where many nodes are asked about their neighbours, weights are pushed along the
whole adjacency: one number per node, added up edge by edge, hop by hop.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from omnigraph.query.access import Adjacency, Direction
from omnigraph.query.plan.reading import read_by_condition
from omnigraph.query.plan.steps import Expand, Filter, Negate, Step, Weigh
from omnigraph.query.run.arrays import distinct_ordinals
from omnigraph.query.run.bindings import Run
from omnigraph.query.run.conditions import entities_passing
from omnigraph.query.run.rows import ORIGIN, Rows
from omnigraph.query.run.traverse import DIRECTION
from omnigraph.query.run.weights import added_by, added_within, multiplied
from omnigraph.query.typed import Travel

Steps: TypeAlias = tuple[Step, ...]
RunSteps: TypeAlias = Callable[[Run, Steps, Rows], Rows]
Counts: TypeAlias = NDArray[np.int64]

_FEW = 2
"""How often an ordinal must occur before an array over all of them is faster than searching for each."""
_PUSHED_SHARE = 0.1
"""The share of all nodes above which all edges are looked at once rather than those of each node."""


def solutions(run: Run, rows: Rows, seeds: tuple[str, ...], steps: Steps, run_steps: RunSteps) -> Counts:
    """Return for every row how many solutions inner steps have that start with its seeds."""
    varying = [name for name in seeds if not isinstance(rows.columns[name], int)]
    fixed: dict[str, Any] = {name: rows.columns[name] for name in seeds if name not in varying}
    if not varying:
        found = run_steps(run, steps, Rows(1, {**fixed, ORIGIN: 0}))
        return np.full(rows.count, found.total(), np.int64)
    if len(varying) > 1:
        columns = {name: rows.columns[name] for name in varying}
        return _counted(run, steps, {**fixed, **columns}, rows.count, run_steps)
    (name,) = varying
    values = rows.values(name)
    distinct = distinct_ordinals(values)
    if len(distinct) == len(values):
        return _counted(run, steps, {**fixed, name: values}, rows.count, run_steps)
    counts = _counted(run, steps, {**fixed, name: distinct}, len(distinct), run_steps)
    if len(values) < len(distinct) * _FEW:
        return counts[np.searchsorted(distinct, values)]
    by_ordinal = np.zeros(int(distinct[-1]) + 1, np.int64)
    by_ordinal[distinct] = counts
    return by_ordinal.take(values)


def _counted(run: Run, steps: Steps, columns: dict[str, Any], count: int, run_steps: RunSteps) -> Counts:
    followed = _followed(steps, columns)
    if followed is not None:
        found = _degrees(run, followed, columns) if len(steps) == 1 else _pushed(run, steps, columns, run_steps)
        if found is not None:
            return found
    rows = run_steps(run, steps, Rows(count, {**columns, ORIGIN: np.arange(count)}))
    origin = rows.values(ORIGIN)
    if rows.weights is None:
        return np.bincount(origin, minlength=count).astype(np.int64, copy=False)
    return added_by(origin, rows.weights, count)


def _followed(steps: Steps, columns: dict[str, Any]) -> Expand | None:
    """Return the first step if it goes one hop from the only column."""
    if not steps or not isinstance(steps[0], Expand) or len(columns) != 1:
        return None
    traversal = steps[0].traversal
    is_single = traversal.hops_max == 1 and traversal.travel is not Travel.BOTH
    return steps[0] if is_single and steps[0].source in columns else None


def _direction(step: Expand) -> Direction:
    is_out = (step.traversal.travel is Travel.OUT) == (step.source == step.traversal.left)
    return DIRECTION[Travel.OUT if is_out else Travel.IN]


def _degrees(run: Run, step: Expand, columns: dict[str, Any]) -> Counts:
    """Count without following: all that is asked for is the number of neighbours or of edges."""
    edges = run.access.edges(step.traversal.edge)
    is_distinct = step.traversal.edge_variable is None
    return edges.degrees(columns[step.source], _direction(step), distinct=is_distinct)


def _pushed(run: Run, steps: Steps, columns: dict[str, Any], run_steps: RunSteps) -> Counts | None:
    """Give every target its weight, and add the weights of the neighbours of each source."""
    step = steps[0]
    assert isinstance(step, Expand)
    direction = _direction(step)
    edge = step.traversal.edge
    from_size, to_size = run.node_size(edge.from_type), run.node_size(edge.to_type)
    source_size, target_size = (from_size, to_size) if direction is Direction.OUT else (to_size, from_size)
    sources = columns[step.source]
    if len(sources) < source_size * _PUSHED_SHARE or not all(_reads_only(each, step.target) for each in steps[1:]):
        return None
    is_distinct = step.traversal.edge_variable is None
    adjacency = run.access.edges(edge).adjacency(direction, distinct=is_distinct)
    if adjacency is None:
        return None
    weights = _weights(run, steps[1:], step.target, target_size, run_steps)
    return _added(adjacency, weights, sources)


def _reads_only(step: Step, variable: str) -> bool:
    if isinstance(step, Filter):
        return all(read_by_condition(condition) == {variable} for condition in step.conditions)
    return isinstance(step, Weigh | Negate) and step.seeds == (variable,)


def _weights(run: Run, steps: Steps, variable: str, size: int, run_steps: RunSteps) -> Counts:
    weights = np.ones(size, np.int64)
    for step in steps:
        if isinstance(step, Filter):
            for condition in step.conditions:
                weights *= entities_passing(run, size, variable, condition)
            continue
        assert isinstance(step, Weigh | Negate)
        places = np.flatnonzero(weights).astype(np.int32)
        counts = solutions(run, Rows(len(places), {variable: places}), step.seeds, step.steps, run_steps)
        weights[places] = multiplied(weights[places], (counts == 0) if isinstance(step, Negate) else counts)
    return weights


def _added(adjacency: Adjacency, weights: Counts, sources: NDArray[np.int32]) -> Counts:
    return added_within(adjacency.offsets, adjacency.targets, weights).take(sources)
