"""An adjacency after commits: the lists of a base, and the whole new lists of the nodes whose edges have changed.

Following a commit costs as much as the lists of the nodes that it touched, at any number of edges. A read asks first
whether a node was touched; reads of many nodes work on the touched lists laid out like the base.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from omnigraph.query.access import MISSING, Direction, Ordinals, Positions, Truths
from omnigraph.query.image.adjacency import (
    FEW_SOURCES,
    Csr,
    Lists,
    gather,
    offsets_of,
    pairs_in,
    side_by_side,
    spread,
)
from omnigraph.query.image.buffers import frozen
from omnigraph.query.image.packing import Ends, build_in_pieces

NodeList = tuple[Ordinals, Ordinals]
"""The neighbours of one node, once per edge and ascending, and the edges."""

_LIST_BYTES = 400
_NODES_AT_ONCE = 1 << 15
"""Whose lists are written into a new base together."""


class EdgeDelta(NamedTuple):
    """What a commit did to edges: their ends before and after it, `MISSING` where an edge did not or does not exist."""

    edges: Ordinals
    before: tuple[Ordinals, Ordinals]
    after: tuple[Ordinals, Ordinals]


class TouchedLists:
    """The lists of the nodes that commits have touched since a base, by node; never changed."""

    def __init__(self, by_node: Mapping[int, NodeList], nbytes: int = 0) -> None:
        self.by_node = by_node
        self.nbytes = nbytes
        """About how much memory they take; earlier and later ones share most of it."""

    def after(self, deltas: Iterable[EdgeDelta], base: Csr, direction: Direction) -> "TouchedLists":
        """Return the lists after further commits."""
        by_node, nbytes = {**self.by_node}, self.nbytes
        for delta in deltas:
            new = _lists_after(delta, by_node, base, direction)
            by_node.update(new)
            nbytes += sum(_LIST_BYTES + 8 * len(targets) for targets, _ in new.values())
        return TouchedLists(by_node, nbytes)

    @cached_property
    def laid_out(self) -> "LaidOut":
        """The lists one behind the other."""
        nodes = np.array(sorted(self.by_node), np.int32)
        lists = [self.by_node[node] for node in nodes.tolist()]
        targets = _joined([some for some, _ in lists])
        counts = np.array([len(some) for some, _ in lists], np.int64)
        distinct = [_distinct(some) for some, _ in lists]
        return LaidOut(
            nodes,
            Lists(offsets_of(np.append(counts, 0)), targets),
            _joined([some for _, some in lists]),
            Lists(offsets_of(np.array([*map(len, distinct), 0], np.int64)), _joined(distinct)),
        )


class LaidOut(NamedTuple):
    """Touched lists in one piece: the nodes, ascending, then lists by the place of a node among them."""

    nodes: Ordinals
    all: Lists
    edges: Ordinals
    distinct: Lists


class PatchedCsr:
    """Lists of a base, with those of touched nodes in their place; reads like the base."""

    def __init__(self, base: Csr, touched: TouchedLists) -> None:
        self._base = base
        self._touched = touched
        self.parts = (base, touched)
        """What of it is on the shelf, which it is not itself."""

    def neighbours(self, node: int) -> Ordinals:
        """Return the distinct neighbours of a node, ascending."""
        found = self._touched.by_node.get(node)
        return self._base.neighbours(node) if found is None else _distinct(found[0])

    def expand(self, sources: Ordinals) -> tuple[Positions, Ordinals]:
        """Return position and neighbour for every neighbour of every source."""
        if len(sources) <= FEW_SOURCES:
            return side_by_side([self.neighbours(node) for node in sources.tolist()])
        laid_out = self._touched.laid_out
        positions, places, is_new = self._gather(sources, self._base.distinct, laid_out.distinct)
        return positions, _picked(self._base.distinct.targets, laid_out.distinct.targets, places, is_new)

    def expand_edges(self, sources: Ordinals) -> tuple[Positions, Ordinals, Ordinals]:
        """Return position, neighbour and edge for every edge of every source."""
        laid_out = self._touched.laid_out
        positions, places, is_new = self._gather(sources, self._base.all, laid_out.all)
        targets = _picked(self._base.all.targets, laid_out.all.targets, places, is_new)
        return positions, targets, _picked(self._base.edges, laid_out.edges, places, is_new)

    def connects(self, sources: Ordinals, targets: Ordinals) -> Truths:
        """Return for every pair whether the target is a neighbour of the source."""
        laid_out = self._touched.laid_out
        is_new, places = self._split(sources)
        found = pairs_in(self._base.distinct, sources, targets)
        if is_new.any():
            found[is_new] = pairs_in(laid_out.distinct, places[is_new].astype(np.int32), targets[is_new])
        return found

    def degrees(self, sources: Ordinals, *, distinct: bool) -> NDArray[np.int64]:
        """Count the neighbours or the edges of nodes."""
        laid_out = self._touched.laid_out
        is_new, places = self._split(sources)
        old, new = (self._base.distinct, laid_out.distinct) if distinct else (self._base.all, laid_out.all)
        counts = degrees_of(old, sources)
        counts[is_new] = degrees_of(new, places[is_new].astype(np.int32))
        return counts

    def folded(self) -> Csr:
        """Return the same lists as a base of their own."""
        newest = int(self._touched.laid_out.nodes.max(initial=-1))
        nodes = np.arange(max(newest + 1, self._base.size), dtype=np.int32)
        laid_out = self._touched.laid_out
        far_size, edge_size = (
            max(int(old.max(initial=-1)), int(new.max(initial=-1))) + 1
            for old, new in ((self._base.all.targets, laid_out.all.targets), (self._base.edges, laid_out.edges))
        )

        def pieces() -> Iterator[Ends]:
            for start in range(0, len(nodes), _NODES_AT_ONCE):
                positions, targets, edges = self.expand_edges(nodes[start : start + _NODES_AT_ONCE])
                yield positions.astype(np.int32) + np.int32(start), targets, edges

        count = int(self.degrees(nodes, distinct=False).sum())
        return build_in_pieces(pieces, len(nodes), far_size, edge_size, count=count, size=lambda: len(nodes))

    def _split(self, sources: Ordinals) -> tuple[Truths, NDArray[np.intp]]:
        nodes = self._touched.laid_out.nodes
        places = np.minimum(np.searchsorted(nodes, sources), len(nodes) - 1)
        return nodes[places] == sources, places

    def _gather(self, sources: Ordinals, old: Lists, new: Lists) -> tuple[Positions, NDArray[np.int64], Truths | None]:
        """Return positions and places as for a base; of the places that are marked, in the touched lists."""
        is_new, places = self._split(sources)
        if not is_new.any():
            return (*gather(old.offsets, sources), None)
        nodes = np.minimum(sources, len(old.offsets) - 2)
        starts = np.where(is_new, new.offsets[places], old.offsets.take(nodes))
        ends = np.where(is_new, new.offsets[places + 1], old.offsets[nodes + 1])
        positions, entries = spread(starts, ends - starts)
        return positions, entries, is_new[positions]


def degrees_of(lists: Lists, sources: Ordinals) -> NDArray[np.int64]:
    """Count the entries in the lists of nodes."""
    nodes = np.minimum(sources, len(lists.offsets) - 2)
    counts: NDArray[np.int64] = lists.offsets.take(nodes + 1) - lists.offsets.take(nodes)
    return counts


def _lists_after(
    delta: EdgeDelta, by_node: Mapping[int, NodeList], base: Csr, direction: Direction
) -> dict[int, NodeList]:
    is_out = direction is Direction.OUT
    before = delta.before[0] if is_out else delta.before[1]
    near, far = delta.after if is_out else delta.after[::-1]
    touched = np.unique(np.concatenate([before, near]))
    found = {}
    for node in touched[touched != MISSING].tolist():
        targets, edges = by_node.get(node) or base.list_of(node)
        stays = ~np.isin(edges, delta.edges)
        is_here = near == node
        targets = np.concatenate([targets[stays], far[is_here]])
        edges = np.concatenate([edges[stays], delta.edges[is_here]])
        order = np.lexsort((edges, targets))
        found[node] = (frozen(targets[order]), frozen(edges[order]))
    return found


def _picked(old: Ordinals, new: Ordinals, places: NDArray[np.int64], is_new: Truths | None) -> Ordinals:
    if is_new is None:
        return old[places]
    picked = np.empty(len(places), np.int32)
    picked[is_new] = new[places[is_new]]
    picked[~is_new] = old[places[~is_new]]
    return picked


def _joined(lists: list[Ordinals]) -> Ordinals:
    return np.concatenate(lists) if lists else np.zeros(0, np.int32)


def _distinct(targets: Ordinals) -> Ordinals:
    """Leave out repetitions of an ascending list."""
    if len(targets) < 2:
        return targets
    is_new = np.ones(len(targets), np.bool_)
    np.not_equal(targets[1:], targets[:-1], out=is_new[1:])
    return targets[is_new]
