"""The rows that a query found: Arrow inside, and what other libraries make of it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from omnigraph.base.showing import ROWS_SHOWN, html_table
from omnigraph.base.units import counted, shorten
from omnigraph.graphs.frames import as_pandas, as_polars

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa


class Result:
    """The answer to a query; iterate over it for dictionaries."""

    def __init__(self, rows: "pa.Table", *, query_name: str, branch: str, commit_id: str) -> None:
        self._rows = rows
        self.query_name = query_name
        self.branch = branch
        """The branch whose state was read."""
        self.commit_id = commit_id
        """The commit that made that state; `if_commit` of a later mutation takes it."""

    def __repr__(self) -> str:
        return f"<Result {self.query_name}: {counted(len(self), 'row')} of {shorten(', '.join(self.columns))}>"

    def _repr_html_(self) -> str:
        shown = self._rows.slice(0, ROWS_SHOWN + 1)
        caption = f"{self.query_name}: {counted(len(self), 'row')}"
        return html_table(self.columns, zip(*_listed(shown), strict=True), caption=caption)

    def __len__(self) -> int:
        return int(self._rows.num_rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows())

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in the order of `return`."""
        return tuple(self._rows.schema.names)

    @property
    def schema(self) -> "pa.Schema":
        """The Arrow schema of the rows, which they have also where there are none."""
        return self._rows.schema

    def to_arrow(self) -> "pa.Table":
        """Return the rows as an Arrow table."""
        return self._rows

    def to_pandas(self) -> Any:
        """Return the rows as a pandas frame; whole numbers that may be missing stay such."""
        return as_pandas(self._rows)

    def to_polars(self) -> "pl.DataFrame":
        """Return the rows as a polars frame."""
        return as_polars(self._rows)

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows as dictionaries."""
        names = self.columns
        return [dict(zip(names, row, strict=True)) for row in zip(*_listed(self._rows), strict=True)]

    def json_rows(self) -> Iterator[tuple[Any, ...]]:
        """Return what JSON says of the values, row by row."""
        from omnigraph.records.json_values import json_values

        return zip(*(json_values(column) for column in self._rows.columns), strict=True)


def _listed(rows: "pa.Table") -> list[list[Any]]:
    # A column at a time is three times as fast as a row at a time.
    return [column.to_pylist() for column in rows.columns]
