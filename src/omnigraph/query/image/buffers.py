"""What images need between Arrow and numpy beside `run/arrays.py`: arrays that nobody can change, and texts."""

from struct import Struct
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from omnigraph.query.access import Numbers
from omnigraph.query.run import arrays
from omnigraph.query.run.arrays import WIDTHS, arrow_of

_INT32, _INT64, _STRING = pa.int32(), pa.int64(), pa.string()
FEW = 24
"""Up to so many values are faster looked at one by one than all at once."""
_PACK_ENDS = [Struct(f"={count + 1}i").pack for count in range(FEW + 1)]
_from_buffers, _buffer = pa.Array.from_buffers, pa.py_buffer


def is_fixed(kind: pa.DataType) -> bool:
    """Whether values of a type have one width, so that numpy can hold them."""
    return kind in WIDTHS or pa.types.is_boolean(kind)


def numbers_of(values: pa.Array) -> Numbers:
    """Return the values of a fixed-width array, over the same memory where that is possible; nobody can change them."""
    numbers, valid = arrays.numbers_of(values)
    return Numbers(frozen(numbers), None if valid is None else frozen(valid))


def indices_of(ordinals: NDArray[Any], valid: NDArray[np.bool_] | None = None) -> pa.Array:
    """Return ordinals as Arrow takes them; those that are not valid take a null."""
    kind = _INT64 if ordinals.dtype == np.int64 else _INT32
    if valid is not None:
        return arrow_of(ordinals, kind, valid)
    return pa.Array.from_buffers(kind, len(ordinals), [None, pa.py_buffer(np.ascontiguousarray(ordinals))])


def text_parts(texts: pa.Array) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """Return where each string of an array begins, with the end of the last, and the bytes of all of them."""
    _, offsets, data = texts.buffers()
    if offsets is None:
        return np.zeros(1, np.int32), np.zeros(0, np.uint8)
    begins = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    return begins, np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)


def texts_at(begins: memoryview, data: memoryview, places: list[int]) -> pa.Array:
    """Return a few strings, none of them null, of parts as `text_parts` gives them; Arrow takes longer to begin."""
    end, ends, texts = 0, [0], []
    for place in places:  # one loop and nothing called in it, which is the least after other work
        begin, behind = begins[place], begins[place + 1]
        texts.append(data[begin:behind])
        end += behind - begin
        ends.append(end)
    count = len(places)
    return _from_buffers(_STRING, count, [None, _buffer(_PACK_ENDS[count](*ends)), _buffer(b"".join(texts))], 0)


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
