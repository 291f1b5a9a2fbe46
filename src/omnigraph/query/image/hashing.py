"""A 64-bit hash of strings, for a whole array at once in numpy and for one string in plain Python, with equal results.

Words of eight bytes are mixed in one after another, so that short ids take one or two rounds. Whoever looks something
up by it compares the strings as well: hashes may collide.
"""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from omnigraph.query.image.buffers import text_parts

_FACTOR = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1
_WORD = 8
_SHORT_MAX = 64
"""Up to so many bytes are faster taken as one number than word by word."""
_TAILS = np.array([(1 << 8 * count) - 1 for count in range(_WORD)] + [_MASK], np.uint64)
"""What of a word belongs to a string that has so many bytes left."""


def hash_text(text: bytes) -> int:
    """Hash one string."""
    mixed = left = len(text)
    if left > _SHORT_MAX:
        for start in range(0, left, _WORD):
            mixed = ((mixed ^ int.from_bytes(text[start : start + _WORD], "little")) * _FACTOR) & _MASK
            mixed ^= mixed >> 32
        return mixed
    rest = int.from_bytes(text, "little")
    while left > 0:
        mixed = ((mixed ^ (rest & _MASK)) * _FACTOR) & _MASK
        mixed ^= mixed >> 32
        rest >>= 64
        left -= _WORD
    return mixed


def hash_texts(texts: pa.Array) -> NDArray[np.uint64]:
    """Hash every string of an array that has no nulls."""
    begins, data = text_parts(texts)
    starts = begins[:-1].astype(np.int64)
    left = np.diff(begins).astype(np.int64)
    mixed = left.astype(np.uint64)
    words = _words(data)
    active = np.flatnonzero(left > 0)
    while len(active):
        # Rounds shrink to the strings that are long enough, so that one long id does not cost all others anything.
        word = words[starts[active]] & _TAILS[np.minimum(left[active], _WORD)]
        round_ = (mixed[active] ^ word) * np.uint64(_FACTOR)
        mixed[active] = round_ ^ (round_ >> np.uint64(32))
        starts[active] += _WORD
        left[active] -= _WORD
        active = active[left[active] > 0]
    return mixed


def _words(data: NDArray[np.uint8]) -> NDArray[Any]:
    """Return the eight bytes from every byte on, as numbers; behind the end there are zeros."""
    padded = np.zeros(len(data) + _WORD, np.uint8)
    padded[: len(data)] = data
    return np.ndarray(shape=(len(data) + 1,), dtype="<u8", buffer=padded.data, strides=(1,))
