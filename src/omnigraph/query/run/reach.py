"""Traversals with hop bounds: which nodes lie at a distance between two numbers.

A node counts at its shortest distance, which self-loops do not change; but a node with a self-loop is also one hop
further away from everything that reaches it, itself included. So with `d` the distance between two different nodes,
a pair is connected if `min <= d <= max`, or if the far end has a self-loop and `min <= d + 1 <= max`. "Far" is seen
from the left variable as it was written: a search that starts at the right one tests its own start. How many hops a
path has is the number of these two that fits, the smaller one if both do.
"""

from collections.abc import Callable
from typing import Any

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


Layers = list[tuple[int, NDArray[Any]]]
"""What was found, by the hops it took; nothing is there twice."""


def reach_one(search: ReachSearch, source: int) -> Ordinals:
    """Return the nodes that one node is connected with, each once and ascending."""
    found = [nodes for _, nodes in _layers_of_one(search, source)]
    return np.sort(np.concatenate(found)) if found else np.zeros(0, np.int32)


def hops_of_one(search: ReachSearch, source: int) -> tuple[Ordinals, Ordinals]:
    """Return the same nodes, and how many hops each is away."""
    return _ascending(_layers_of_one(search, source), np.int32)


def _layers_of_one(search: ReachSearch, source: int) -> Layers:
    low, high = search.hops_min, search.hops_max
    start = np.array([source], np.int32)
    starts_with_loop = bool(search.has_loop(start)[0])
    found: Layers = []
    if low == 1 and starts_with_loop:
        found.append((1, start))
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
            found.append((hop, frontier))
        elif hop == low - 1:
            # One hop too near, unless a self-loop at the far end makes up for it.
            if search.is_reverse:
                found.extend([(low, frontier)] if starts_with_loop else [])
            else:
                found.append((low, frontier[search.has_loop(frontier)]))
    return found


def reach_many(search: ReachSearch, sources: Ordinals) -> tuple[Positions, Ordinals]:
    """Return position and node for every node that each source is connected with."""
    distinct = distinct_sorted(sources)
    found = [pairs for _, pairs in _layers_of_many(search, distinct)]
    pairs = np.sort(np.concatenate(found)) if found else np.zeros(0, np.int64)
    positions, places = _places_of(search, distinct, sources, pairs)
    return positions, (pairs % search.size).astype(np.int32)[places]


def hops_of_many(search: ReachSearch, sources: Ordinals) -> tuple[Positions, Ordinals, Ordinals]:
    """Return position, node and hops for every node that each source is connected with."""
    distinct = distinct_sorted(sources)
    pairs, hops = _ascending(_layers_of_many(search, distinct), np.int64)
    positions, places = _places_of(search, distinct, sources, pairs)
    return positions, (pairs % search.size).astype(np.int32)[places], hops[places]


def _ascending(layers: Layers, kind: type[np.integer[Any]]) -> tuple[NDArray[Any], Ordinals]:
    if not layers:
        return np.zeros(0, kind), np.zeros(0, np.int32)
    found = np.concatenate([each for _, each in layers])
    hops = np.repeat(np.array([hop for hop, _ in layers], np.int32), [len(each) for _, each in layers])
    order = np.argsort(found)
    return found[order], hops[order]


def _places_of(
    search: ReachSearch, distinct: Ordinals, sources: Ordinals, pairs: NDArray[np.int64]
) -> tuple[Positions, Positions]:
    """Return, for sources that may be there several times, where among all and where among the pairs each one is."""
    counts = np.bincount(pairs // search.size, minlength=len(distinct))
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
    places = np.searchsorted(distinct, sources)
    starts, lengths = offsets[places], counts[places]
    positions = np.repeat(np.arange(len(sources)), lengths)
    firsts = np.cumsum(lengths) - lengths
    return positions, np.arange(len(positions)) + np.repeat(starts - firsts, lengths)


def _layers_of_many(search: ReachSearch, sources: Ordinals) -> Layers:
    """Find pairs of a source's place and a node, packed into one number each."""
    width = search.size
    loops = search.has_loop(sources)
    start = np.arange(len(sources), dtype=np.int64) * width + sources
    found: Layers = [(1, start[loops])] if search.hops_min == 1 else []
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
            found.append((hop, frontier))
        elif hop == search.hops_min - 1:
            if search.is_reverse:
                found.append((hop + 1, frontier[loops[frontier // width]]))
            else:
                found.append((hop + 1, frontier[search.has_loop((frontier % width).astype(np.int32))]))
    return found
