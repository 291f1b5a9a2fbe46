"""Lists of neighbours, built of edges that come in pieces: one number per edge, sorted in place, read out in pieces.

Beside the numbers and what comes out of them nothing is ever whole, so that building takes 20 bytes per edge.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from omnigraph.query.access import Ordinals
from omnigraph.query.image.adjacency import Csr, Lists, offsets_of
from omnigraph.query.image.buffers import frozen

PIECE_ROWS = 1 << 18
"""How many edges are looked at together."""
_WORD_BITS = 64

Words = NDArray[np.uint64]
Ends = tuple[Ordinals, Ordinals, Ordinals]
"""Some edges: the nodes in whose lists they are, the nodes that they lead to, and the edges."""


class _Bits(NamedTuple):
    """How many bits of a word each part of an edge has; the near end comes first, because words are sorted by it."""

    near: int
    far: int
    edge: int


def fits_words(near_size: int, far_size: int, edge_size: int) -> bool:
    """Whether both ends and the edge fit into one number."""
    return sum(map(_bits_of, (near_size, far_size, edge_size))) <= _WORD_BITS


def build_csr(near: Ordinals, far: Ordinals, edges: Ordinals | None, *, size: int) -> Csr:
    """Build the lists of the `near` ends; without `edges`, an edge is its place in the arrays."""
    numbers = np.arange(len(near), dtype=np.int32) if edges is None else edges
    sizes = (int(each.max(initial=-1)) + 1 for each in (near, far, numbers))
    return build_in_pieces(lambda: [(near, far, numbers)], *sizes, count=len(near), size=lambda: size)


def build_in_pieces(
    pieces: Callable[[], Iterable[Ends]],
    near_size: int,
    far_size: int,
    edge_size: int,
    *,
    count: int,
    size: Callable[[], int],
) -> Csr:
    """Build lists of at most `count` edges; `size` says at the end how many nodes have one.

    The other sizes are above the ordinals that are expected. Ends that are larger after all take more memory.
    """
    bits = _divided(near_size, far_size, edge_size)
    words = None if bits is None else _packed(pieces(), count, bits)
    if bits is None or words is None:
        return _built_wide([*pieces()], size())
    words.sort()
    return _unpacked(words, bits, size())


def turned(csr: Csr) -> Iterator[Ends]:
    """Yield the edges of lists from their other ends."""
    offsets, targets = csr.all
    for start in range(0, len(targets), PIECE_ROWS):
        end = min(start + PIECE_ROWS, len(targets))
        first, last = (int(np.searchsorted(offsets, place, "right")) - 1 for place in (start, end - 1))
        counts = np.diff(offsets[first : last + 2].clip(start, end))
        owners = np.repeat(np.arange(first, last + 1, dtype=np.int32), counts)
        yield targets[start:end], owners, csr.edges[start:end]


def _bits_of(size: int) -> int:
    return max(size - 1, 0).bit_length()


def _divided(near_size: int, far_size: int, edge_size: int) -> _Bits | None:
    """Give every part what it needs, and both ends some of the rest."""
    if not fits_words(near_size, far_size, edge_size):
        return None
    near, far, edge = map(_bits_of, (near_size, far_size, edge_size))
    rest = _WORD_BITS - near - far - edge
    # Ordinals have 31 bits at most, and a shift by all bits of a word does nothing.
    return _Bits(min(near + rest // 2, 31), min(far + rest - rest // 2, 31), edge)


def _packed(pieces: Iterable[Ends], count: int, bits: _Bits) -> Words | None:
    """Return edges as words; None where an end is too large for its bits."""
    words = np.empty(count, np.uint64)
    start = 0
    for near, far, edges in pieces:
        for begin in range(0, len(near), PIECE_ROWS):
            some = slice(begin, begin + PIECE_ROWS)
            if int(near[some].max()) >> bits.near or int(far[some].max()) >> bits.far:
                return None
            packed = near[some].astype(np.uint64)
            packed <<= np.uint64(bits.far)
            packed |= far[some].astype(np.uint64)
            packed <<= np.uint64(bits.edge)
            packed |= edges[some].astype(np.uint64)
            words[start : start + len(packed)] = packed
            start += len(packed)
    return words[:start]


def _unpacked(words: Words, bits: _Bits, size: int) -> Csr:
    targets, edges = np.empty(len(words), np.int32), np.empty(len(words), np.int32)
    counts, once = np.zeros(size + 1, np.int64), np.zeros(size + 1, np.int64)
    mask = np.uint64((1 << bits.far) - 1)
    for here, pairs, is_new in _pairs(words, bits):
        edges[here] = words[here] & np.uint64((1 << bits.edge) - 1)
        targets[here] = pairs & mask
        near = (pairs >> np.uint64(bits.far)).astype(np.int64)
        _add_counts(counts, near)
        _add_counts(once, near[is_new])
    distinct = None
    if once.sum() < len(words):
        offsets = offsets_of(once)
        kept = np.empty(int(offsets[-1]), np.int32)
        start = 0
        for _, pairs, is_new in _pairs(words, bits):
            some = pairs[is_new] & mask
            kept[start : start + len(some)] = some
            start += len(some)
        distinct = Lists(offsets, frozen(kept))
    return Csr(offsets_of(counts), frozen(targets), frozen(edges), distinct)


def _pairs(words: Words, bits: _Bits) -> Iterator[tuple[slice, Words, NDArray[np.bool_]]]:
    """Yield the pairs of ends in pieces, and which of them are not as the one before."""
    last: np.uint64 | None = None
    for start in range(0, len(words), PIECE_ROWS):
        here = slice(start, start + PIECE_ROWS)
        pairs = words[here] >> np.uint64(bits.edge)
        is_new = np.empty(len(pairs), np.bool_)
        is_new[0] = last is None or pairs[0] != last
        np.not_equal(pairs[1:], pairs[:-1], out=is_new[1:])
        last = pairs[-1]
        yield here, pairs, is_new


def _add_counts(counts: NDArray[np.int64], near: NDArray[np.int64]) -> None:
    """Count ascending nodes."""
    if len(near):
        first, last = int(near[0]), int(near[-1])
        counts[first : last + 1] += np.bincount(near - first, minlength=last - first + 1)


def _built_wide(pieces: list[Ends], size: int) -> Csr:
    """Build lists of ends that do not fit into one number with their edge."""
    nothing = np.zeros(0, np.int32)
    near, far, edges = map(np.concatenate, zip((nothing, nothing, nothing), *pieces, strict=True))
    order = np.lexsort((edges, near.astype(np.int64) << 32 | far))
    near, far, edges = near[order], far[order], edges[order]
    is_new = np.ones(len(near), np.bool_)
    is_new[1:] = (near[1:] != near[:-1]) | (far[1:] != far[:-1])
    offsets = offsets_of(np.bincount(near, minlength=size + 1))
    distinct = None
    if not is_new.all():
        distinct = Lists(offsets_of(np.bincount(near[is_new], minlength=size + 1)), frozen(far[is_new]))
    return Csr(offsets, frozen(far), frozen(edges), distinct)
