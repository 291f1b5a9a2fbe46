"""How much memory the structures of an image take, about: while they are built, and afterwards."""

from collections.abc import Iterable

from omnigraph.query.image.packing import PIECE_ROWS, fits_words

NODE_BUILD_BYTES = 64
"""What reading the ids of nodes takes per node: text, hash, place, row."""
EDGE_BUILD_BYTES = 16
"""What numbering edges takes per edge."""
VALUE_BUILD_BYTES = 64
"""What reading a column takes per value."""
_PACKED_BYTES = 20
"""What building an adjacency takes per edge: the number that it is sorted by, and what comes out."""
_WIDE_BYTES = 56
"""The same where both ends and the edge do not fit into one number."""
_PIECE_BYTES = 40
"""What an edge takes beside that while its piece is read; its texts are those of the scan."""

_KEPT = {
    "rows": {"node": (NODE_BUILD_BYTES, 40), "edge": (EDGE_BUILD_BYTES, 24)},
    "column": {"node": (VALUE_BUILD_BYTES, 16), "edge": (VALUE_BUILD_BYTES, 16)},
    "adjacency": {"edge": (_PACKED_BYTES, 14)},
}
"""Bytes per row while a structure is built and when it stands, by kind and by whether the rows are nodes or edges."""


def adjacency_build_bytes(edges: int, near: int, far: int) -> int:
    """Return what building an adjacency takes at its highest."""
    each = _PACKED_BYTES if fits_words(near, far, edges) else _WIDE_BYTES
    return each * edges + _PIECE_BYTES * min(edges, PIECE_ROWS)


def would_fit(parts: Iterable[tuple[str, str, int]], bytes_max: int) -> bool:
    """Whether structures can be built and stand beside each other: kind, "node" or "edge", and number of rows."""
    sizes = [(peak * rows, stays * rows) for kind, of, rows in parts for peak, stays in [_KEPT[kind][of]]]
    return max((peak for peak, _ in sizes), default=0) + sum(stays for _, stays in sizes) <= bytes_max
