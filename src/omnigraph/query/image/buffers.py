"""Arrow and numpy over the same memory.

The command line loads Arrow without numpy, and such an Arrow cannot convert to it or from it. Both speak buffers, which
also costs less than any conversion.
"""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from omnigraph.query.access import Numbers

_INT32, _INT64 = pa.int32(), pa.int64()
_DTYPES: dict[Any, Any] = {
    pa.int32(): np.int32,
    pa.int64(): np.int64,
    pa.uint32(): np.uint32,
    pa.uint64(): np.uint64,
    pa.float32(): np.float32,
    pa.float64(): np.float64,
    pa.date32(): np.int32,
    pa.timestamp("ms", tz="UTC"): np.int64,
}


def is_fixed(kind: pa.DataType) -> bool:
    """Whether values of a type have one width, so that numpy can hold them."""
    return kind in _DTYPES or pa.types.is_boolean(kind)


def numbers_of(array: pa.Array) -> Numbers:
    """Return the values of a fixed-width array, over the same memory where that is possible."""
    length, offset = len(array), array.offset
    valid = _bits(array.buffers()[0], offset, length) if array.null_count else None
    data = array.buffers()[1]
    if data is None:
        dtype = np.bool_ if pa.types.is_boolean(array.type) else _DTYPES[array.type]
        return Numbers(np.zeros(length, dtype), valid)
    if pa.types.is_boolean(array.type):
        return Numbers(_bits(data, offset, length), valid)
    return Numbers(frozen(np.frombuffer(data, _DTYPES[array.type])[offset : offset + length]), valid)


def array_of(values: NDArray[Any], kind: pa.DataType, valid: NDArray[np.bool_] | None = None) -> pa.Array:
    """Return an Arrow array of a fixed-width type over the memory of numpy values."""
    mask = None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))
    if pa.types.is_boolean(kind):
        data = np.packbits(values, bitorder="little")
    else:
        data = np.ascontiguousarray(values, _DTYPES[kind])
    return pa.Array.from_buffers(kind, len(values), [mask, pa.py_buffer(data)])


def indices_of(ordinals: NDArray[Any], valid: NDArray[np.bool_] | None = None) -> pa.Array:
    """Return ordinals as Arrow takes them; those that are not valid take a null."""
    kind = _INT64 if ordinals.dtype == np.int64 else _INT32
    if valid is not None:
        return array_of(ordinals, kind, valid)
    return pa.Array.from_buffers(kind, len(ordinals), [None, pa.py_buffer(np.ascontiguousarray(ordinals))])


def text_parts(array: pa.Array) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """Return where each string of an array begins, with the end of the last, and the bytes of all of them."""
    _, offsets, data = array.buffers()
    if offsets is None:
        return np.zeros(1, np.int32), np.zeros(0, np.uint8)
    begins = np.frombuffer(offsets, np.int32)[array.offset : array.offset + len(array) + 1]
    return begins, np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)


def whole(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """Return a column in one piece."""
    if isinstance(column, pa.Array):
        return column
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays([_none(column.type), *column.chunks])


def frozen(values: NDArray[Any]) -> NDArray[Any]:
    """Return values as nobody can change them."""
    shown = values.view()
    shown.flags.writeable = False
    return shown


def _none(kind: pa.DataType) -> pa.Array:
    return pa.array([], kind)


def _bits(buffer: pa.Buffer, offset: int, length: int) -> NDArray[np.bool_]:
    bits = np.unpackbits(np.frombuffer(buffer, np.uint8), count=offset + length, bitorder="little")
    return frozen(bits[offset:].view(np.bool_))
