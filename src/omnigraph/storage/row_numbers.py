"""Numbers of rows, ids and addresses, as few bytes: they travel from workers to the process that commits.

There may be millions of them, and that process holds those of all workers at once.
"""

import zlib

import pyarrow as pa

_BYTES_EACH = 8
_QUICK = 1


def packed_numbers(numbers: pa.Array) -> bytes:
    """Spell unsigned numbers as bytes; neighbours, which have most of their digits in common, take less."""
    if not len(numbers):
        return b""
    # Through a copy: an array may be a window on a larger buffer.
    copied = pa.concat_arrays([numbers.slice(0, 0), numbers])
    return zlib.compress(memoryview(copied.buffers()[1])[: _BYTES_EACH * len(copied)], _QUICK)


def unpacked_numbers(packed: bytes) -> pa.Array:
    """Return what was packed."""
    spelled = zlib.decompress(packed) if packed else b""
    return pa.Array.from_buffers(pa.uint64(), len(spelled) // _BYTES_EACH, [None, pa.py_buffer(spelled)])
