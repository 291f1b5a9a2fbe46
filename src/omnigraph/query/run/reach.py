"""Traversals with hop bounds: which nodes lie at a distance between two numbers.

A node counts at its shortest distance, which self-loops do not change; but a node with a self-loop is also one hop
further away from everything that reaches it, itself included. So with `d` the distance between two different nodes,
a pair is connected if `min <= d <= max`, or if the far end has a self-loop and `min <= d + 1 <= max`. "Far" is seen
from the left variable as it was written: a search that starts at the right one tests its own start.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from omnigraph.base.values import dataclass
from omnigraph.query.access import EdgeAccess, Ordinals, Positions, Truths
from omnigraph.query.run.arrays import distinct_sorted, is_among


@dataclass(frozen=True, slots=True, kw_only=True)
class ReachSearch:
    """What to follow, how far, and from which end."""

    edges: EdgeAccess
    size: int
    hops_min: int
    hops_max: int
    is_reverse: bool
    neighbours: Callable[[int], Ordinals]
    expand: Callable[[Ordinals], tuple[Positions, Ordinals]]

    def has_loop(self, nodes: Ordinals) -> Truths:
        """Return which nodes have an edge to themselves."""
        return self.edges.connects(nodes, nodes)


def reach_one(search: ReachSearch, source: int) -> Ordinals:
    """Return the nodes that one node is connected with, each once and ascending."""
    low, high = search.hops_min, search.hops_max
    start = np.array([source], np.int32)
    starts_with_loop = bool(search.has_loop(start)[0])
    found: list[Ordinals] = []
    if low == 1 and starts_with_loop:
        found.append(start)
    seen = np.zeros(search.size, np.bool_)
    seen[source] = True
    frontier = start
    for hop in range(1, high + 1):
        ends = search.neighbours(source) if hop == 1 else search.expand(frontier)[1]
        frontier = distinct_sorted(ends[~seen[ends]])
        if not len(frontier):
            break
        seen[frontier] = True
        if hop >= low:
            found.append(frontier)
        elif hop == low - 1:
            # One hop too near, unless a self-loop at the far end makes up for it.
            if search.is_reverse:
                found.extend([frontier] if starts_with_loop else [])
            else:
                found.append(frontier[search.has_loop(frontier)])
    return np.sort(np.concatenate(found)) if found else np.zeros(0, np.int32)


def reach_many(search: ReachSearch, sources: Ordinals) -> tuple[Positions, Ordinals]:
    """Return position and node for every node that each source is connected with."""
    distinct = distinct_sorted(sources)
    pairs = _reach_pairs(search, distinct)
    owner, nodes = pairs // search.size, (pairs % search.size).astype(np.int32)
    counts = np.bincount(owner, minlength=len(distinct))
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
    places = np.searchsorted(distinct, sources)
    starts, lengths = offsets[places], counts[places]
    positions = np.repeat(np.arange(len(sources)), lengths)
    firsts = np.cumsum(lengths) - lengths
    return positions, nodes[np.arange(len(positions)) + np.repeat(starts - firsts, lengths)]


def _reach_pairs(search: ReachSearch, sources: Ordinals) -> NDArray[np.int64]:
    """Return ascending pairs of a source's place and a node, packed into one number each."""
    width = search.size
    loops = search.has_loop(sources)
    start = np.arange(len(sources), dtype=np.int64) * width + sources
    found = [start[loops]] if search.hops_min == 1 else []
    seen = frontier = start
    for hop in range(1, search.hops_max + 1):
        nodes = (frontier % width).astype(np.int32)
        positions, ends = search.expand(nodes)
        reached = distinct_sorted((frontier // width)[positions] * width + ends)
        frontier = reached[~is_among(reached, seen)]
        if not len(frontier):
            break
        seen = np.sort(np.concatenate((seen, frontier)), kind="stable")
        if hop >= search.hops_min:
            found.append(frontier)
        elif hop == search.hops_min - 1:
            if search.is_reverse:
                found.append(frontier[loops[frontier // width]])
            else:
                found.append(frontier[search.has_loop((frontier % width).astype(np.int32))])
    return np.sort(np.concatenate(found)) if found else np.zeros(0, np.int64)
