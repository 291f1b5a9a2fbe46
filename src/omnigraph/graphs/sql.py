"""SQL over one snapshot: DuckDB asks the tables for the columns and rows that a query needs.

A query is bound when it is made, so that mistakes show at once, and runs when its rows are asked for, each time anew.
Until then nothing is held but the snapshot.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

from omnigraph.base.showing import ROWS_SHOWN, html_table
from omnigraph.base.units import shorten
from omnigraph.catalog.model import TableKey
from omnigraph.catalog.type_names import no_such_type
from omnigraph.engine.local import LocalEngine, Parameters
from omnigraph.errors import OmniError, QueryFailed
from omnigraph.graphs.context import GraphContext
from omnigraph.graphs.frames import as_pandas, as_polars

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

    from omnigraph.graphs.table import SnapshotTable

_HEAD_ROWS = 10


class SqlResult:
    """The rows of a query; iterate over it for dictionaries."""

    def __init__(
        self,
        context: GraphContext,
        statement: str,
        *,
        find_table: "Callable[[str], SnapshotTable | None]",
        known: Iterable[TableKey] = (),
        parameters: Parameters = None,
        frames: Mapping[str, Any] | None = None,
    ) -> None:
        if not isinstance(statement, str) or not statement.strip():
            raise QueryFailed(f"A query is the text of a SELECT, not {statement!r}.")
        self._engine = context.engine if isinstance(context.engine, LocalEngine) else LocalEngine()
        self.statement = statement
        self._parameters = parameters
        self._frames = dict(frames or {})
        named = self._engine.tables_in(statement) - self._frames.keys()
        self._tables = {name: table for name in sorted(named) if (table := find_table(name)) is not None}
        try:
            self.schema: pa.Schema = self._bound()
        except QueryFailed as error:
            unknown = sorted(named - self._tables.keys())
            if unknown and error.details.get("names_unknown_table"):
                raise no_such_type(unknown[0], known) from error
            raise

    def __repr__(self) -> str:
        columns = ", ".join(f"{field.name} {field.type}" for field in self.schema)
        return f"<SqlResult {shorten(' '.join(self.statement.split()), 60)!r}: {shorten(columns)}>"

    def _repr_html_(self) -> str:
        rows = self.head(ROWS_SHOWN + 1)
        return html_table(rows.column_names, (row.values() for row in rows.to_pylist()))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for batch in self.to_reader():
            yield from batch.to_pylist()

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.schema.names)

    def to_reader(self) -> "pa.RecordBatchReader":
        """Run the query and stream its rows in batches; for results that do not fit into memory."""
        import pyarrow as pa

        return pa.RecordBatchReader.from_batches(self.schema, self._batches())

    def to_arrow(self) -> "pa.Table":
        """Run the query and return its rows as an Arrow table."""
        return self.to_reader().read_all()

    def to_pandas(self) -> Any:
        """Run the query and return its rows as a pandas frame; whole numbers that may be missing stay such."""
        return as_pandas(self.to_arrow())

    def to_polars(self) -> "pl.DataFrame":
        """Run the query and return its rows as a polars frame."""
        return as_polars(self.to_arrow())

    def rows(self) -> list[dict[str, Any]]:
        """Run the query and return its rows as dictionaries."""
        return list(self)

    def head(self, rows: int = _HEAD_ROWS) -> "pa.Table":
        """Run the query until it has some rows, for a look."""
        import pyarrow as pa

        found: list[pa.RecordBatch] = []
        for batch in self.to_reader():
            found.append(batch.slice(0, rows - sum(each.num_rows for each in found)))
            if sum(each.num_rows for each in found) >= rows:
                break
        return pa.Table.from_batches(found, self.schema)

    def _bound(self) -> "pa.Schema":
        with self._running() as reader:
            return reader.schema

    def _batches(self) -> "Iterator[pa.RecordBatch]":
        with self._running() as reader:
            yield from reader

    @contextmanager
    def _running(self) -> "Iterator[pa.RecordBatchReader]":
        failures: list[OmniError] = []
        relations = {name: table.scannable(failures) for name, table in self._tables.items()}
        try:
            with self._engine.querying({**relations, **self._arrow_frames}, self.statement, self._parameters) as reader:
                yield reader
        except QueryFailed:
            # The database tells of a table that could not be read in words of its own.
            if failures:
                raise failures[0] from None
            raise

    @cached_property
    def _arrow_frames(self) -> "dict[str, pa.Table]":
        from omnigraph.records.arrow_rows import arrow_reader

        return {name: arrow_reader(frame).read_all() for name, frame in self._frames.items()}


def quoted(name: str) -> str:
    """Spell a name of a table or column, whatever is in it."""
    return '"' + name.replace('"', '""') + '"'
