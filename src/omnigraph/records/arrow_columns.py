"""Typed Arrow columns that stand for a scalar: which types may, and how they become what is stored.

Casts have Arrow's checks on and raise `ArrowInvalid` when a value does not fit.
"""

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc


def is_whole(kind: pa.DataType) -> bool:
    """Whether it holds whole numbers."""
    return bool(pa.types.is_integer(kind)) or (bool(pa.types.is_decimal(kind)) and kind.scale == 0)


def is_number(kind: pa.DataType) -> bool:
    """Whether it holds numbers that a float may be."""
    return is_whole(kind) or bool(pa.types.is_floating(kind))


def is_binary(kind: pa.DataType) -> bool:
    """Whether it holds bytes."""
    tests = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary, pa.types.is_binary_view)
    return any(test(kind) for test in tests)


def can_be_days(kind: pa.DataType) -> bool:
    """Whether it holds dates, or their numbers."""
    return bool(pa.types.is_date(kind) or pa.types.is_integer(kind))


def can_be_times(kind: pa.DataType) -> bool:
    """Whether it holds timestamps, dates, or their numbers."""
    return bool(pa.types.is_timestamp(kind) or pa.types.is_date(kind) or pa.types.is_integer(kind))


def cast(column: pa.Array, stored: pa.DataType) -> pa.Array:
    """Cast as Arrow does."""
    return column.cast(stored)


def cast_finite(column: pa.Array, stored: pa.DataType) -> pa.Array:
    """Cast numbers, or lists of them, none of which may be infinite; raise ValueError if one is."""
    numbers = column.flatten() if pa.types.is_list(column.type) else column
    if not pc.all(pc.is_finite(numbers), min_count=0).as_py():
        raise ValueError("a number is not finite")
    return column.cast(stored)


def cast_to_days(column: pa.Array, stored: pa.DataType) -> pa.Array:
    """Cast dates or numbers of days."""
    return (column.cast(pa.int32()) if pa.types.is_integer(column.type) else column).cast(stored)


def cast_to_times(column: pa.Array, stored: pa.DataType) -> pa.Array:
    """Cast timestamps, dates or numbers of milliseconds."""
    if pa.types.is_integer(column.type):
        return column.cast(pa.int64()).cast(stored)
    if pa.types.is_timestamp(column.type) and column.type.unit in {"us", "ns"}:
        # A cast would cut toward zero, and a time before 1970 is cut toward the past. In UTC, because Arrow rounds
        # the time on the clock of a zone, and one hour of autumn stands on it twice.
        in_utc = column.cast(pa.timestamp(column.type.unit, "UTC")) if column.type.tz is not None else column
        column = pc.floor_temporal(in_utc, unit="millisecond")
    if pa.types.is_date(column.type):
        column = column.cast(pa.timestamp("ms"))
    # Without a zone it is UTC; with one the moment stays and only its spelling changes.
    return column.cast(stored)


def of_items(column: pa.Array, convert: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """Convert the items of lists, or the values of a column that has none."""
    if not pa.types.is_list(column.type):
        return convert(column)
    return pa.ListArray.from_arrays(column.offsets, convert(column.values), mask=column.is_null())
