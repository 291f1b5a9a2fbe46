"""What a row says, as bytes: the one comparator of merge, diff, feed and of writes that change nothing.

Two rows are equal when these bytes are. Values keep their type: null, the empty string and the empty list differ, all
NaNs are one value, both zeros are one number, times count by instant, lists and vectors element by element. Every
value stands behind a type tag and its length, so that none can imitate a boundary between two others.
"""

import hashlib
from collections.abc import Callable, Iterable

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.errors import Internal

_BYTES = pa.large_binary()
_NULL_TAG = b"n"
_DIGEST_BYTES = 32
DIGEST_TYPE = pa.binary(_DIGEST_BYTES)


def row_contents(rows: pa.Table, columns: Iterable[str]) -> pa.Array:
    """Return the bytes of each row, over these columns in the order of their names."""
    pieces = [piece for name in sorted(columns) for piece in _tagged(rows[name].combine_chunks())]
    if not pieces:
        return pa.repeat(pa.scalar(b"", _BYTES), rows.num_rows)
    return _side_by_side(*pieces)


def row_digests(rows: pa.Table, columns: Iterable[str]) -> pa.Array:
    """Return a SHA-256 of each row's bytes, for comparing more rows than one wants to hold."""
    contents = row_contents(rows, columns)
    return pa.array([hashlib.sha256(content).digest() for content in contents.to_pylist()], DIGEST_TYPE)


def equal_ids(left: pa.Table, right: pa.Table) -> pa.Array:
    """Return the ids whose rows are equal on both sides, in the columns of `left`; an id occurs once on each side."""
    ids = left["id"].combine_chunks()
    at = pc.index_in(ids, value_set=right["id"].combine_chunks())
    found = pc.is_valid(at)
    names = [name for name in left.column_names if name != "id"]
    same = pc.equal(row_contents(left.filter(found), names), row_contents(right.take(at.drop_null()), names))
    return ids.filter(found).filter(same)


def _tagged(column: pa.Array) -> tuple[pa.Array, pa.Array, pa.Array]:
    """Spell a column as tag, length and bytes of each value; a null has only a tag."""
    tag, values = _encoded(column)
    is_null = pc.is_null(column)
    tags = pc.if_else(is_null, pa.scalar(_NULL_TAG, _BYTES), pa.scalar(tag, _BYTES))
    lengths = pc.if_else(is_null, pa.scalar(b"", _BYTES), _fixed(pc.fill_null(pc.binary_length(values), 0)))
    return tags, lengths, pc.fill_null(values, b"")


def _encoded(column: pa.Array) -> tuple[bytes, pa.Array]:
    """Return the type tag of a column and the bytes of its values, null where the value is."""
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        return _encoded(column.storage)
    for is_of_kind, tag, encode in _ENCODINGS:
        if is_of_kind(kind):
            return tag, encode(column)
    raise Internal(f"rows with values of the Arrow type {kind} cannot be compared")


def _is_string(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _is_binary(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _lists(column: pa.Array) -> pa.Array:
    """Spell lists as the number of their items and the items themselves."""
    lengths = pc.fill_null(pc.list_value_length(column), 0).cast(pa.int64())
    offsets = pa.concat_arrays([pa.array([0], pa.int64()), pc.cumulative_sum(lengths)])
    # `flatten` leaves out what lies under null lists, so the offsets are counted anew.
    items = column.flatten()
    spelled = _packed(items, offsets) if _is_number(items.type) else [_joined(_side_by_side(*_tagged(items)), offsets)]
    return pc.if_else(pc.is_valid(column), _side_by_side(_fixed(lengths), *spelled), pa.scalar(None, _BYTES))


def _packed(numbers: pa.Array, offsets: pa.Array) -> list[pa.Array]:
    """Spell lists of numbers as they lie in memory, which is what keeps long vectors cheap.

    A list with null items, which only foreign writers make, says behind its numbers which of them are none.
    """
    _, values = _encoded(pc.fill_null(numbers, pa.scalar(0, numbers.type)))
    width = numbers.type.bit_width // 8
    starts = pc.multiply(offsets, pa.scalar(width, pa.int64()))
    packed = pa.LargeBinaryArray.from_buffers(
        _BYTES, len(offsets) - 1, [None, starts.buffers()[1], values.buffers()[2]]
    )
    if numbers.null_count == 0:
        return [packed]
    validity = _joined(_fixed(pc.is_valid(numbers).cast(pa.uint8())), offsets)
    has_null = pc.greater_equal(pc.find_substring(validity, b"\x00"), 0)
    return [packed, pc.if_else(has_null, validity, pa.scalar(b"", _BYTES))]


def _joined(items: pa.Array, offsets: pa.Array) -> pa.Array:
    return pc.binary_join(pa.LargeListArray.from_arrays(offsets, items), pa.scalar(b"", _BYTES))


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _fixed(numbers: pa.Array) -> pa.Array:
    return numbers.view(pa.binary(numbers.type.bit_width // 8)).cast(_BYTES)


def _one_zero_one_nan(numbers: pa.Array) -> pa.Array:
    zero, nan = pa.scalar(0.0, numbers.type), pa.scalar(float("nan"), numbers.type)
    return pc.if_else(pc.is_nan(numbers), nan, pc.add(numbers, zero))


def _side_by_side(*pieces: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(*pieces, pa.scalar(b"", _BYTES))


_ENCODINGS: tuple[tuple[Callable[[pa.DataType], bool], bytes, Callable[[pa.Array], pa.Array]], ...] = (
    (pa.types.is_boolean, b"b", lambda column: _fixed(column.cast(pa.uint8()))),
    (pa.types.is_floating, b"f", lambda column: _fixed(_one_zero_one_nan(column))),
    (pa.types.is_timestamp, b"t", lambda column: _fixed(column.cast(pa.int64()))),
    (pa.types.is_date32, b"d", lambda column: _fixed(column.cast(pa.int32()))),
    (pa.types.is_integer, b"i", _fixed),
    (pa.types.is_decimal, b"m", _fixed),
    (_is_string, b"s", lambda column: column.cast(_BYTES)),
    (_is_binary, b"x", lambda column: column.cast(_BYTES)),
    (_is_list, b"l", _lists),
)
"""What values of an Arrow type are: which types, their tag, and their bytes."""
