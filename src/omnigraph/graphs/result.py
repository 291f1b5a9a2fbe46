"""The rows that a query found: Arrow inside, and what other libraries make of it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from omnigraph.base.showing import ROWS_SHOWN, html_table
from omnigraph.base.units import counted, shorten
from omnigraph.graphs.frames import as_pandas, as_polars

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa


class OneRow:
    """The one row of an answer as plain values; a table is made of them if somebody asks for one.

    Making Arrow of a row and taking it apart again takes longer than finding it.
    """

    __slots__ = ("_schema", "columns", "values")

    def __init__(self, values: tuple[Any, ...], schema: "pa.Schema", columns: tuple[str, ...]) -> None:
        self.values = values
        """As JSON says them."""
        self.columns = columns
        self._schema = schema

    def table(self) -> "pa.Table":
        """Return the row as a table."""
        import pyarrow as pa

        arrays = [pa.array([value], field.type) for value, field in zip(self.values, self._schema, strict=True)]
        return pa.Table.from_arrays(arrays, schema=self._schema)


class Result:
    """The answer to a query; iterate over it for dictionaries."""

    def __init__(self, rows: "pa.Table | OneRow", *, query_name: str, branch: str, commit_id: str) -> None:
        self._given = rows
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
        given = self._given
        return 1 if isinstance(given, OneRow) else int(given.num_rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows())

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in the order of `return`."""
        given = self._given
        return given.columns if isinstance(given, OneRow) else tuple(given.schema.names)

    @property
    def _rows(self) -> "pa.Table":
        given = self._given
        if isinstance(given, OneRow):
            given = self._given = given.table()
        return given

    @property
    def schema(self) -> "pa.Schema":
        """The Arrow schema of the rows, which they have also where there are none."""
        return self._rows.schema

    def to_arrow(self) -> "pa.Table":
        """Return the rows as an Arrow table."""
        given = self._given
        return self._rows if isinstance(given, OneRow) else given

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

    def json_rows(self, *, limit: int | None = None) -> Iterator[tuple[Any, ...]]:
        """Return what JSON says of the values, row by row; with a limit, of the first rows only."""
        given = self._given
        if isinstance(given, OneRow):
            return iter((given.values,))
        from omnigraph.records.json_values import json_values

        rows = self._rows if limit is None else self._rows.slice(0, limit)
        return zip(*(json_values(column) for column in rows.columns), strict=True)


def _listed(rows: "pa.Table") -> list[list[Any]]:
    # A column at a time is three times as fast as a row at a time.
    return [column.to_pylist() for column in rows.columns]
