"""Rows as Python programs have them, as Arrow: tables, batches, readers, and the frames of pandas and polars."""

from collections.abc import Mapping
from typing import Any, Protocol, TypeAlias

import pyarrow as pa

from omnigraph.errors import Usage


class ArrowStream(Protocol):
    """What frames of other libraries have that speak Arrow, such as those of pandas and polars."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


ArrowRows: TypeAlias = pa.Table | pa.RecordBatch | pa.RecordBatchReader | ArrowStream


def speaks_arrow(rows: object) -> bool:
    """Whether rows come as Arrow, or can be had as such without looking at each of them."""
    return isinstance(rows, pa.RecordBatch) or _is_pandas(rows) or hasattr(rows, "__arrow_c_stream__")


def arrow_reader(rows: Any) -> pa.RecordBatchReader:
    """Return rows as a stream; raise `Usage` for what is no table."""
    if isinstance(rows, pa.RecordBatchReader):
        return rows
    if isinstance(rows, (pa.Table, pa.RecordBatch)):
        return rows.to_reader() if isinstance(rows, pa.Table) else pa.Table.from_batches([rows]).to_reader()
    if _is_pandas(rows):
        return _from_pandas(rows).to_reader()
    if hasattr(rows, "__arrow_c_stream__"):
        return pa.RecordBatchReader.from_stream(rows)
    raise not_rows(rows)


def not_rows(rows: object) -> Usage:
    """Say what rows can be."""
    hint = " A single row goes into a list." if isinstance(rows, Mapping) else ""
    named = "text" if isinstance(rows, (str, bytes)) else type(rows).__name__
    return Usage(
        "Rows are an Arrow table, batch or reader, a frame of pandas, polars or another library that speaks Arrow, or, "
        f"in a write, a list of dictionaries; this is {named}.{hint}"
    )


def _is_pandas(rows: object) -> bool:
    kind = type(rows)
    return kind.__name__ == "DataFrame" and kind.__module__.partition(".")[0] == "pandas"


def _from_pandas(frame: Any) -> pa.Table:
    """Take a frame without the index that only numbers its rows; one with a name is a column like any other.

    NaN means "missing" in pandas; Arrow takes it for null.
    """
    has_named_index = any(name is not None for name in frame.index.names)
    try:
        rows = pa.Table.from_pandas(frame, preserve_index=has_named_index).replace_schema_metadata(None)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise Usage(f"The frame has a column that is no column of one type: {error}.") from error
    return pa.table([_whole_again(column) for column in rows.columns], names=rows.column_names)


def _whole_again(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Undo what pandas does to whole numbers beside a missing one: it makes floats of them."""
    if not (pa.types.is_float64(column.type) and column.null_count):
        return column
    try:
        return column.cast(pa.int64())  # refused where a fraction would be lost
    except pa.ArrowInvalid:
        return column
