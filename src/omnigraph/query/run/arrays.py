"""Between Arrow and numpy, over their buffers: a program that loaded Arrow without numpy cannot convert otherwise."""

from collections.abc import Callable
from struct import Struct
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from omnigraph.query.access import Numbers, Ordinals, Truths

WIDTHS: dict[Any, type[np.generic]] = {
    pa.int32(): np.int32,
    pa.int64(): np.int64,
    pa.uint32(): np.uint32,
    pa.uint64(): np.uint64,
    pa.float32(): np.float32,
    pa.float64(): np.float64,
    pa.date32(): np.int32,
    pa.timestamp("ms", tz="UTC"): np.int64,
}
"""What numpy calls the values of a type that all have one width; a Bool is a bit, and none of them."""

_WIDTH_BY_ID = {kind.id: width for kind, width in WIDTHS.items()}
"""The same by a number: Arrow spells a type out to hash it."""
_BOOL_ID, _STRING_ID = pa.bool_().id, pa.string().id
_PACKED_AS = {np.int32: "<i", np.int64: "<q", np.uint32: "<I", np.uint64: "<Q", np.float32: "<f", np.float64: "<d"}
_MARKED_MIN = 256
_BLOCK = 256


def numbers_of(array: pa.Array) -> Numbers:
    """Return an Arrow array of fixed width as numpy has it, without copying more than bits."""
    if pa.types.is_boolean(array.type):
        return Numbers(_bits(array.buffers()[1], array.offset, len(array)), valid_of(array))
    kind = WIDTHS[array.type]
    buffer = array.buffers()[1]
    if buffer is None or not len(array):
        return Numbers(np.zeros(len(array), kind), valid_of(array))
    values = np.frombuffer(buffer, kind, count=array.offset + len(array))[array.offset :]
    return Numbers(values, valid_of(array))


def valid_of(array: pa.Array) -> Truths | None:
    """Return which values are there; None means all of them."""
    if not array.null_count:
        return None
    validity = array.buffers()[0]
    if validity is None:
        return np.zeros(len(array), np.bool_)
    return _bits(validity, array.offset, len(array))


def truths_of(array: pa.Array) -> Truths:
    """Return a Bool array as a mask, in which null is false."""
    values, valid = numbers_of(array)
    return values if valid is None else values & valid


def arrow_of(values: NDArray[Any], kind: pa.DataType, valid: Truths | None = None) -> pa.Array:
    """Return numpy values as an Arrow array of a type of the same width."""
    count = len(values)
    validity = None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))
    kind_id = kind.id
    if kind_id == _BOOL_ID:
        data = pa.py_buffer(np.packbits(values, bitorder="little"))
    else:
        data = pa.py_buffer(np.ascontiguousarray(values, _WIDTH_BY_ID[kind_id]))
    return pa.Array.from_buffers(kind, count, [validity, data])


_KEPT_MAX = 1_024
_KEPT_TEXT_BYTES_MAX = 64


def _kept(made: dict[Any, pa.Array], value: Any, one: pa.Array) -> pa.Array:
    if len(made) >= _KEPT_MAX:
        made.clear()
    made[value] = one
    return one


def maker_of_one(kind: pa.DataType) -> Callable[[Any], pa.Array]:
    """Return what makes an array of one value as columns give it; Arrow's own way takes three times as long.

    Few ages and cities are many people's, so those that were made lately are kept; nobody can change one.
    """
    from_buffers, buffer = pa.Array.from_buffers, pa.py_buffer
    width = WIDTHS.get(kind)
    made: dict[Any, pa.Array] = {}
    if width is not None:
        pack = Struct(_PACKED_AS[width]).pack
        is_kept = not pa.types.is_floating(kind)  # both zeros are one key of a dictionary

        def of_number(value: Any) -> pa.Array:
            known = made.get(value) if is_kept else None
            if known is not None:
                return known
            one = pa.nulls(1, kind) if value is None else from_buffers(kind, 1, [None, buffer(pack(value))], 0)
            return _kept(made, value, one) if is_kept else one

        return of_number
    if kind.id == _STRING_ID:
        pack_ends = Struct("<ii").pack

        def of_text(value: str | None) -> pa.Array:
            known = made.get(value)
            if known is not None:
                return known
            if value is None:
                return pa.nulls(1, kind)
            text = value.encode()
            one = from_buffers(kind, 1, [None, buffer(pack_ends(0, len(text))), buffer(text)], 0)
            return _kept(made, value, one) if len(text) <= _KEPT_TEXT_BYTES_MAX else one

        return of_text
    return lambda value: pa.array([value], kind)


def indices_of(ordinals: NDArray[Any]) -> pa.Array:
    """Return places as Arrow takes them."""
    return arrow_of(np.asarray(ordinals, np.int64), pa.int64())


def distinct_sorted(values: NDArray[Any]) -> NDArray[Any]:
    """Return each value once, ascending; several times faster than numpy's own."""
    if len(values) < 2:
        return values
    ordered = np.sort(values)
    is_first = np.empty(len(ordered), np.bool_)
    is_first[0] = True
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    return ordered[is_first]


def distinct_ordinals(values: Ordinals) -> Ordinals:
    """Return each ordinal once, ascending; many among few are marked rather than sorted."""
    if len(values) < _MARKED_MIN:
        return distinct_sorted(values)
    if (values[1:] > values[:-1]).all():
        return values
    occurs = np.zeros(int(values.max()) + 1, np.bool_)
    if len(occurs) > 16 * len(values):
        return distinct_sorted(values)
    occurs[values] = True
    return np.flatnonzero(occurs).astype(np.int32)


def smallest(values: NDArray[Any], count: int) -> NDArray[np.intp]:
    """Return the places of the `count` smallest values, ascending, and of all that equal the last of them."""
    whole = len(values) - len(values) % _BLOCK
    if count * 4 * _BLOCK > whole:
        return np.flatnonzero(values <= np.partition(values, count - 1)[count - 1])
    # At least so many values are as small as the smallest of as many blocks: few are left to be told apart.
    lowest = (np.fmin if values.dtype.kind == "f" else np.minimum).reduce(values[:whole].reshape(-1, _BLOCK), axis=1)
    places = np.flatnonzero(values <= np.partition(lowest, count - 1)[count - 1])
    if len(places) < count:  # what is no number is among them
        places = np.arange(len(values))
    few = values[places]
    is_small: Truths = few <= np.partition(few, count - 1)[count - 1]
    return places[is_small]


def is_among(values: NDArray[Any], ascending: NDArray[Any]) -> Truths:
    """Return which values occur in an ascending array."""
    if not len(ascending):
        return np.zeros(len(values), np.bool_)
    # What would stand behind the last one is compared with the last one, and is not it.
    found: Truths = ascending.take(ascending.searchsorted(values), mode="clip") == values
    return found


def mapped(array: pa.Array, judge: Callable[[Any], bool]) -> Truths:
    """Ask about each value; null is false."""
    return np.fromiter((value is not None and judge(value) for value in array.to_pylist()), np.bool_, len(array))


def _bits(buffer: Any, offset: int, count: int) -> Truths:
    if buffer is None or not count:
        return np.zeros(count, np.bool_)
    bits = np.unpackbits(np.frombuffer(buffer, np.uint8), bitorder="little", count=offset + count)
    return bits[offset:].view(np.bool_)
