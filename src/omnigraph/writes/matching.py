"""Comparisons evaluated on rows in memory, with the same meaning as in a Lance scan."""

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.storage.filters import Comparison

_FUNCTION = {
    "=": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}


def comparisons_hold(rows: pa.Table, comparisons: Iterable[Comparison]) -> pa.Array:
    """Return a mask of the rows for which every comparison holds; null compares as false."""
    mask = pa.repeat(True, rows.num_rows)
    for comparison in comparisons:
        mask = pc.and_(mask, _holds(rows[comparison.column], comparison))
    return mask


def _holds(column: pa.ChunkedArray, comparison: Comparison) -> pa.ChunkedArray:
    if isinstance(comparison.value, tuple):
        is_member = pc.is_in(column, value_set=pa.array(comparison.value, column.type))
        return is_member if comparison.operator == "in" else pc.and_(pc.invert(is_member), pc.is_valid(column))
    if comparison.value is None:
        return pc.is_null(column) if comparison.operator == "=" else pc.is_valid(column)
    value = comparison.value if isinstance(comparison.value, pa.Scalar) else pa.scalar(comparison.value, column.type)
    return pc.fill_null(_FUNCTION[comparison.operator](column, value), False)
