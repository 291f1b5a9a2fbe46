"""Rows in the order of their first key, only as many as a limit wants: the best nodes are followed, not all of them.

Where a read begins with all nodes of a variable and is ordered by something that these nodes alone decide, the rows
that come first are those of the nodes that come first. If these do not give enough rows, more nodes are followed.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

from omnigraph.query.access import Ordinals
from omnigraph.query.plan.steps import Plan, Scan, Step
from omnigraph.query.run.bindings import Run, is_constant
from omnigraph.query.run.ordering import first_by
from omnigraph.query.run.rows import Rows
from omnigraph.query.typed import Fusion, OrderKey, PropertyRead, TextScore, VectorDistance

RunSteps: TypeAlias = Callable[[tuple[Step, ...], Rows], Rows]

_MORE = 16
"""How many times as many nodes are followed where the rows were too few."""
_WORTH = 4
"""A limit that lets through more than one in so many nodes is not worth the trouble."""


def is_best_first(plan: Plan) -> bool:
    """Whether rows of a read may be followed from the nodes that come first."""
    read = plan.read
    begin = plan.steps[0] if plan.steps else None
    if read.is_aggregate or read.limit is None or not read.order or not isinstance(begin, Scan):
        return False
    # A second ranking leaves rows out, so that nobody knows how many are enough; a single scan is narrowed later.
    is_alone = len(plan.steps) == 1 and isinstance(read.order[0].expression, PropertyRead)
    return _is_decided_by(read.order[0], begin.variable) and not is_alone and not any(map(_is_ranking, read.order[1:]))


def best_rows(run: Run, plan: Plan, limit: int | None, run_steps: RunSteps) -> Rows:
    """Return rows among which are those that the limit lets through."""
    begin, order = plan.steps[0], plan.read.order
    assert isinstance(begin, Scan)
    nodes = run_steps((begin,), Rows(1, {})).values(begin.variable)
    count = limit or len(nodes)
    while count * _WORTH < len(nodes):
        best = _best(run, order[0], begin.variable, nodes, count)
        if best is None:
            break
        rows = run_steps(plan.steps[1:], Rows(len(best), {begin.variable: best}))
        if limit is not None and (rows.count >= limit or len(best) < count):
            return rows
        count *= _MORE
    return run_steps(plan.steps[1:], Rows(len(nodes), {begin.variable: nodes}))


def _is_decided_by(key: OrderKey, variable: str) -> bool:
    """Whether the nodes of one variable alone decide a key, and what ranks best comes first."""
    expression: Any = key.expression
    if isinstance(expression, PropertyRead):
        return expression.variable == variable
    if isinstance(expression, TextScore) and not key.descending:
        return False
    if isinstance(expression, TextScore | VectorDistance):
        return expression.field.variable == variable and is_constant(expression.query)
    return False


def _is_ranking(key: OrderKey) -> bool:
    return isinstance(key.expression, TextScore | VectorDistance | Fusion)


def _best(run: Run, key: OrderKey, variable: str, nodes: Ordinals, count: int) -> Ordinals | None:
    expression: Any = key.expression
    if isinstance(expression, PropertyRead):
        return nodes[first_by(run, key, Rows(len(nodes), {variable: nodes}), count)]
    return run.search.best(run, expression, run.constant(expression.query), nodes, count=count)
