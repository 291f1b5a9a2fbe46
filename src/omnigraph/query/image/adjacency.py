"""Who is next to whom, in one direction: compressed sparse rows, read without copying them."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from omnigraph.query.access import Ordinals, Positions, Truths
from omnigraph.query.image.buffers import frozen

Offsets = NDArray[np.int64]

FEW_SOURCES = 32
"""So many lists are faster looked at one by one than all at once."""
_NONE: Ordinals = frozen(np.zeros(0, np.int32))


class Lists(NamedTuple):
    """The lists of nodes from 0, one behind the other; a node's own is `targets[offsets[n]:offsets[n + 1]]`."""

    offsets: Offsets
    """One more than nodes, and the last once again: the node behind all others has no neighbours."""
    targets: Ordinals


class Csr:
    """The neighbours of every node with the edges that lead there; never changed."""

    def __init__(self, offsets: Offsets, targets: Ordinals, edges: Ordinals, distinct: Lists | None) -> None:
        self.all = Lists(offsets, targets)
        self.edges = edges
        self.has_parallels = distinct is not None
        self.distinct = distinct or self.all
        self.size = len(offsets) - 2
        # Looking at single places of a memoryview is faster than of an array.
        self._begins, self._targets = self.distinct.offsets.data, self.distinct.targets

    @property
    def nbytes(self) -> int:
        """How much memory it takes."""
        more = self.distinct.offsets.nbytes + self.distinct.targets.nbytes if self.has_parallels else 0
        return self.all.offsets.nbytes + self.all.targets.nbytes + self.edges.nbytes + more

    def neighbours(self, node: int) -> Ordinals:
        """Return the distinct neighbours of a node, ascending."""
        if node >= self.size:
            return _NONE
        return self._targets[self._begins[node] : self._begins[node + 1]]

    def expand(self, sources: Ordinals) -> tuple[Positions, Ordinals]:
        """Return position and neighbour for every neighbour of every source."""
        if len(sources) <= FEW_SOURCES:
            return side_by_side([self.neighbours(node) for node in sources.tolist()])
        positions, places = gather(self.distinct.offsets, sources)
        return positions, self._targets[places]

    def list_of(self, node: int) -> tuple[Ordinals, Ordinals]:
        """Return the neighbours of a node, once per edge, and the edges."""
        if node >= self.size:
            return _NONE, _NONE
        offsets, targets = self.all
        here = slice(offsets[node], offsets[node + 1])
        return targets[here], self.edges[here]


def offsets_of(counts: NDArray[np.integer]) -> Offsets:
    """Return where each list begins and the last one ends."""
    offsets = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    return frozen(offsets)


def gather(offsets: Offsets, sources: Ordinals) -> tuple[Positions, NDArray[np.int64]]:
    """Return for every entry of the lists of the sources the position of its source, and the place of the entry."""
    # Nodes that are newer than the lists have none; the node behind all others stands for them.
    nodes = np.minimum(sources, len(offsets) - 2)
    starts = offsets.take(nodes)
    return spread(starts, offsets.take(nodes + 1) - starts)


def spread(starts: NDArray[np.int64], counts: NDArray[np.int64]) -> tuple[Positions, NDArray[np.int64]]:
    """Return the places of runs, one run behind the other, and which run each belongs to."""
    ends = np.cumsum(counts)
    positions = np.repeat(np.arange(len(counts)), counts)
    places = np.arange(int(ends[-1]) if len(ends) else 0)
    places += np.repeat(starts - (ends - counts), counts)
    return positions, places


def side_by_side(lists: list[Ordinals]) -> tuple[Positions, Ordinals]:
    """Return the entries of a few lists, one list behind the other, and which list each belongs to."""
    if not lists:
        return np.zeros(0, np.intp), _NONE
    return np.arange(len(lists)).repeat([len(some) for some in lists]), np.concatenate(lists)


def pairs_in(lists: Lists, sources: Ordinals, targets: Ordinals) -> Truths:
    """Return for every pair whether the target is in the list of the source: a binary search of all at once."""
    if not len(lists.targets):
        return np.zeros(len(sources), np.bool_)
    nodes = np.minimum(sources, len(lists.offsets) - 2)
    # The last place that is known to hold less than the target, and the last one of the list.
    place, end = lists.offsets.take(nodes) - 1, lists.offsets.take(nodes + 1) - 1
    longest = int((end - place).max(initial=0))
    step = 1 << max(longest.bit_length() - 1, 0)
    while step:
        further = np.minimum(place + step, end)
        np.copyto(place, further, where=lists.targets[further] < targets)
        step >>= 1
    place += 1
    found: Truths = (place <= end) & (lists.targets[np.minimum(place, len(lists.targets) - 1)] == targets)
    return found
