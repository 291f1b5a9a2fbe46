"""Along traversals: from rows to more rows, and whether two ends are connected.

A traversal of one hop follows edges; one with bounds is a search (`reach.py`). Either may start at the right variable,
the result is the same.
"""

from collections.abc import Callable, Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from omnigraph.query.access import Direction, EdgeAccess, Ordinals, Positions
from omnigraph.query.plan.steps import Close, Expand
from omnigraph.query.run.arrays import distinct_sorted, is_among
from omnigraph.query.run.bindings import Run, TooManyRows
from omnigraph.query.run.reach import ReachSearch, hops_of_many, hops_of_one, reach_many, reach_one
from omnigraph.query.run.rows import Rows, Values
from omnigraph.query.typed import Travel, Traversal

_TURNED = {Travel.OUT: Travel.IN, Travel.IN: Travel.OUT, Travel.BOTH: Travel.BOTH}
DIRECTION = {Travel.OUT: Direction.OUT, Travel.IN: Direction.IN}


def expansion(step: Expand, kept: Collection[str] | None) -> Callable[[Run, Rows], Rows]:
    """Return what gives `target` every value that the traversal leads to, one row for each.

    Of the variables that differ from row to row, those that are not `kept` may be dropped; None keeps all.
    """
    traversal, source_name, target = step.traversal, step.source, step.target
    edge = traversal.edge
    travel = traversal.travel if source_name == traversal.left else _TURNED[traversal.travel]
    is_plain = traversal.own_variable is None and traversal.hops_max == 1 and travel is not Travel.BOTH
    direction = DIRECTION.get(travel, Direction.OUT)
    new = [name for name in (target, traversal.own_variable) if name]
    drops_all = kept is not None and not {*kept} - {*new}

    def expand(run: Run, rows: Rows) -> Rows:
        if not rows.count:
            return rows.with_columns(**{name: np.zeros(0, np.int32) for name in new})
        if not is_plain:
            return _expand_rows(run, rows, step)
        edges = run.access.edges(edge)
        source = rows.columns[source_name]
        if isinstance(source, int):
            targets = edges.neighbours(source, direction)
            if run.rows_max is not None and rows.count * len(targets) > run.rows_max:
                raise TooManyRows
            if rows.count > 1 or rows.weights is not None:
                return _spread_one(rows, target, targets)
            if drops_all:
                return Rows(len(targets), {target: targets})
            columns: dict[str, Values] = {
                name: column if isinstance(column, int) else int(column[0])
                for name, column in rows.columns.items()
                if kept is None or name in kept
            }
            columns[target] = targets
            return Rows(len(targets), columns)
        if run.rows_max is not None and not _are_few(edges, source, direction, run.rows_max):
            raise TooManyRows
        positions, targets = edges.expand(source, direction)
        columns = {
            name: column if isinstance(column, int) else column[positions]
            for name, column in rows.columns.items()
            if kept is None or name in kept
        }
        columns[target] = targets
        return Rows(len(targets), columns, None if rows.weights is None else rows.weights[positions])

    return expand


def _are_few(edges: EdgeAccess, sources: Ordinals, direction: Direction, rows_max: int) -> bool:
    """Whether some nodes have no more than so many neighbours together."""
    count = 0
    for node in sources.tolist():
        count += len(edges.neighbours(node, direction))
        if count > rows_max:
            return False
    return True


def _expand_rows(run: Run, rows: Rows, step: Expand) -> Rows:
    traversal = step.traversal
    edges = run.access.edges(traversal.edge)
    source = rows.columns[step.source]
    travel = traversal.travel if step.source == traversal.left else _TURNED[traversal.travel]
    if traversal.edge_variable is not None:
        positions, targets, found = _edges_of(edges, _array(source), travel)
        added: dict[str, Any] = {step.target: targets, traversal.edge_variable: found}
        return _spread(rows, source, positions, added)
    if traversal.path_variable is not None:
        positions, targets, counts = _paths_of(run, traversal, source, travel, is_reverse=step.source != traversal.left)
        return _spread(rows, source, positions, {step.target: targets, traversal.path_variable: counts})
    if isinstance(source, int):
        targets = _ends_of_one(run, traversal, source, travel, is_reverse=step.source != traversal.left)
        return _spread_one(rows, step.target, targets)
    positions, targets = _ends_of_many(run, traversal, source, travel, is_reverse=step.source != traversal.left)
    return _spread(rows, source, positions, {step.target: targets})


def close_rows(run: Run, rows: Rows, step: Close) -> Rows:
    """Keep the rows whose ends are connected; with an edge variable there is one for each edge."""
    traversal = step.traversal
    if traversal.edge_variable is not None:
        return _close_by_edges(run, rows, traversal)
    if traversal.path_variable is not None:
        return _close_by_paths(run, rows, traversal)
    left, right = rows.columns[traversal.left], rows.columns[traversal.right]
    if traversal.hops_max > 1:
        return _close_by_reach(run, rows, traversal)
    edges = run.access.edges(traversal.edge)
    if isinstance(left, int):
        around = one_hop(edges, left, traversal.travel)
        return _keep(rows, right, around)
    if isinstance(right, int):
        around = one_hop(edges, right, _TURNED[traversal.travel])
        return _keep(rows, left, around)
    mask = np.zeros(rows.count, np.bool_)
    if traversal.travel is not Travel.IN:
        mask |= edges.connects(left, right)
    if traversal.travel is not Travel.OUT:
        mask |= edges.connects(right, left)
    return rows.keep(mask)


def one_hop(edges: EdgeAccess, node: int, travel: Travel) -> Ordinals:
    """Return the neighbours of one node, ascending; both ways they are those of either."""
    if travel is not Travel.BOTH:
        return edges.neighbours(node, DIRECTION[travel])
    both = np.concatenate((edges.neighbours(node, Direction.OUT), edges.neighbours(node, Direction.IN)))
    return distinct_sorted(both)


def hops(edges: EdgeAccess, sources: Ordinals, travel: Travel, width: int) -> tuple[Positions, Ordinals]:
    """Return position and neighbour for every neighbour of every source; `width` is above every neighbour."""
    if travel is not Travel.BOTH:
        return edges.expand(sources, DIRECTION[travel])
    out, back = edges.expand(sources, Direction.OUT), edges.expand(sources, Direction.IN)
    packed = distinct_sorted(
        np.concatenate((out[0].astype(np.int64) * width + out[1], back[0].astype(np.int64) * width + back[1]))
    )
    return packed // width, (packed % width).astype(np.int32)


def _array(values: Any) -> Ordinals:
    return np.array([values], np.int32) if isinstance(values, int) else values


def _keep(rows: Rows, column: Any, around: Ordinals) -> Rows:
    if isinstance(column, int):
        place = int(np.searchsorted(around, column))
        return rows if place < len(around) and around[place] == column else rows.nothing()
    return rows.keep(is_among(column, around))


def _spread_one(rows: Rows, target: str, targets: Ordinals) -> Rows:
    """Let every row meet the same targets."""
    count, found = rows.count, len(targets)
    if count == 1 and rows.weights is None:
        columns: dict[str, Values] = {
            name: column if isinstance(column, int) else int(column[0]) for name, column in rows.columns.items()
        }
        columns[target] = targets
        return Rows(found, columns)
    spread = rows.at(np.repeat(np.arange(count), found))
    spread.columns[target] = np.tile(targets, count)
    return spread


def _spread(rows: Rows, source: Any, positions: Positions, added: dict[str, NDArray[Any]]) -> Rows:
    if isinstance(source, int) and rows.count != 1:
        # The positions are those in a list of one source; every row has it.
        found = len(positions)
        spread = rows.at(np.repeat(np.arange(rows.count), found))
        spread.columns.update({name: np.tile(values, rows.count) for name, values in added.items()})
        return spread
    spread = rows.at(positions)
    spread.columns.update(added)
    return spread


def _ends_of_one(run: Run, traversal: Traversal, source: int, travel: Travel, *, is_reverse: bool) -> Ordinals:
    edges = run.access.edges(traversal.edge)
    if traversal.hops_max == 1:
        return one_hop(edges, source, travel)
    if traversal.edge.from_type != traversal.edge.to_type:
        return one_hop(edges, source, travel) if traversal.hops_min == 1 else np.zeros(0, np.int32)
    return reach_one(_search(run, traversal, travel, is_reverse=is_reverse), source)


def _ends_of_many(
    run: Run, traversal: Traversal, sources: Ordinals, travel: Travel, *, is_reverse: bool
) -> tuple[Positions, Ordinals]:
    edges = run.access.edges(traversal.edge)
    if traversal.edge.from_type != traversal.edge.to_type:
        if traversal.hops_min > 1:
            return np.zeros(0, np.intp), np.zeros(0, np.int32)
        return edges.expand(sources, DIRECTION[travel])
    search = _search(run, traversal, travel, is_reverse=is_reverse)
    if traversal.hops_max == 1:
        return hops(edges, sources, travel, search.size)
    return reach_many(search, sources)


def _search(run: Run, traversal: Traversal, travel: Travel, *, is_reverse: bool) -> ReachSearch:
    edges = run.access.edges(traversal.edge)
    size = max(run.node_size(traversal.edge.from_type), 1)
    return ReachSearch(
        edges=edges,
        size=size,
        hops_min=traversal.hops_min,
        hops_max=traversal.hops_max,
        is_reverse=is_reverse,
        neighbours=lambda node: one_hop(edges, node, travel),
        expand=lambda nodes: hops(edges, nodes, travel, size),
    )


def _close_by_edges(run: Run, rows: Rows, traversal: Traversal) -> Rows:
    assert traversal.edge_variable is not None
    edges = run.access.edges(traversal.edge)
    left, right = rows.values(traversal.left), rows.values(traversal.right)
    positions, targets, found = _edges_of(edges, left, traversal.travel)
    is_there = targets == right[positions]
    spread = rows.at(positions[is_there])
    spread.columns[traversal.edge_variable] = found[is_there]
    return spread


def _edges_of(edges: EdgeAccess, sources: Ordinals, travel: Travel) -> tuple[Positions, Ordinals, Ordinals]:
    if travel is not Travel.BOTH:
        return edges.expand_edges(sources, DIRECTION[travel])
    out, back = edges.expand_edges(sources, Direction.OUT), edges.expand_edges(sources, Direction.IN)
    # A self-loop is among both.
    is_new = back[1] != sources[back[0]]
    return (
        np.concatenate((out[0], back[0][is_new])),
        np.concatenate((out[1], back[1][is_new])),
        np.concatenate((out[2], back[2][is_new])),
    )


def _close_by_reach(run: Run, rows: Rows, traversal: Traversal) -> Rows:
    left, right = rows.columns[traversal.left], rows.columns[traversal.right]
    if isinstance(left, int):
        return _keep(rows, right, _ends_of_one(run, traversal, left, traversal.travel, is_reverse=False))
    if isinstance(right, int):
        return _keep(rows, left, _ends_of_one(run, traversal, right, _TURNED[traversal.travel], is_reverse=True))
    sources = distinct_sorted(left)
    positions, targets = _ends_of_many(run, traversal, sources, traversal.travel, is_reverse=False)
    width = run.node_size(_right_type(traversal))
    pairs = np.sort(sources[positions].astype(np.int64) * width + targets)
    return rows.keep(is_among(left.astype(np.int64) * width + right, pairs))


def _paths_of(
    run: Run, traversal: Traversal, sources: Any, travel: Travel, *, is_reverse: bool
) -> tuple[Positions, Ordinals, Ordinals]:
    """Return position, end and hops of the shortest paths from one source or from many."""
    if isinstance(sources, int):
        if _is_reach(traversal):
            ends, counts = hops_of_one(_search(run, traversal, travel, is_reverse=is_reverse), sources)
        else:
            ends = _ends_of_one(run, traversal, sources, travel, is_reverse=is_reverse)
            counts = np.ones(len(ends), np.int32)
        return np.zeros(len(ends), np.intp), ends, counts
    if _is_reach(traversal):
        return hops_of_many(_search(run, traversal, travel, is_reverse=is_reverse), sources)
    positions, ends = _ends_of_many(run, traversal, sources, travel, is_reverse=is_reverse)
    return positions, ends, np.ones(len(ends), np.int32)


def _is_reach(traversal: Traversal) -> bool:
    """Whether more than one hop can be gone; an edge between two types ends where no other begins."""
    return traversal.hops_max > 1 and traversal.edge.from_type == traversal.edge.to_type


def _close_by_paths(run: Run, rows: Rows, traversal: Traversal) -> Rows:
    assert traversal.path_variable is not None
    left, right = rows.columns[traversal.left], rows.columns[traversal.right]
    if not isinstance(left, int) and isinstance(right, int):
        _, ends, counts = _paths_of(run, traversal, right, _TURNED[traversal.travel], is_reverse=True)
        pairs, wanted = ends.astype(np.int64), left.astype(np.int64)
    elif isinstance(left, int):
        _, ends, counts = _paths_of(run, traversal, left, traversal.travel, is_reverse=False)
        pairs, wanted = ends.astype(np.int64), rows.values(traversal.right).astype(np.int64)
    else:
        sources = distinct_sorted(left)
        positions, ends, counts = _paths_of(run, traversal, sources, traversal.travel, is_reverse=False)
        width = max(run.node_size(_right_type(traversal)), 1)
        pairs = sources[positions].astype(np.int64) * width + ends
        wanted = left.astype(np.int64) * width + rows.values(traversal.right)
    order = np.argsort(pairs)
    pairs, counts = pairs[order], counts[order]
    places = np.searchsorted(pairs, wanted)
    is_there = is_among(wanted, pairs)
    kept = rows.keep(is_there)
    kept.columns[traversal.path_variable] = counts[places[is_there]]
    return kept


def _right_type(traversal: Traversal) -> str:
    return traversal.edge.from_type if traversal.travel is Travel.IN else traversal.edge.to_type
