"""Columns of results as the values that JSON has: floats at their stored width, moments as texts, nodes as objects."""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.records.json_texts import dates, times

AS_JSON_SAYS = frozenset(
    kind.id
    for kind in (pa.string(), pa.bool_(), pa.int32(), pa.int64(), pa.uint32(), pa.uint64(), pa.float64(), pa.null())
)
"""Types whose values Python has as JSON says them."""


def json_values(column: "pa.Array | pa.ChunkedArray") -> list[Any]:
    """Return what JSON says of each value."""
    if column.type.id in AS_JSON_SAYS:
        plain: list[Any] = column.to_pylist()
        return plain
    if isinstance(column, pa.ChunkedArray):
        return [value for chunk in column.chunks for value in json_values(chunk)]
    kind = column.type
    if pa.types.is_float32(kind):
        # The fewest digits that read back as the same single float, which a double of the same value has not.
        return [None if text is None else float(text) for text in column.cast(pa.string()).to_pylist()]
    if pa.types.is_date32(kind):
        return _moments(dates(column))
    if pa.types.is_timestamp(kind):
        return _moments(times(column))
    if pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind):
        return _lists(column)
    if pa.types.is_struct(kind):
        names = [field.name for field in kind]
        members = [json_values(column.field(place)) for place in range(len(names))]
        return [dict(zip(names, row, strict=True)) for row in zip(*members, strict=True)]
    found: list[Any] = column.to_pylist()
    return found


def _moments(texts: pa.Array) -> list[Any]:
    listed = texts.to_pylist()
    # What has no text is a number, as load reads it.
    return [None if text is None else text[1:-1] if text.startswith('"') else int(text) for text in listed]


def _lists(column: pa.Array) -> list[Any]:
    items = json_values(pc.list_flatten(column))
    found: list[Any] = []
    start = 0
    for length in pc.list_value_length(column).to_pylist():
        found.append(None if length is None else items[start : start + length])
        start += length or 0
    return found
