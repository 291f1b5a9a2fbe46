"""One type's rows in a snapshot: counted, filtered, and handed over as Arrow, as frames or to DuckDB."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from omnigraph.base.showing import ROWS_SHOWN, html_table
from omnigraph.base.units import counted
from omnigraph.catalog.model import EntityType
from omnigraph.catalog.type_names import each_name
from omnigraph.errors import InvalidTarget, OmniError
from omnigraph.graphs.comparisons import Where, filter_of, no_such_property
from omnigraph.graphs.context import GraphContext
from omnigraph.graphs.frames import as_pandas, as_polars
from omnigraph.graphs.reclaimed import telling_reclaimed
from omnigraph.manifest.snapshot import TablePin
from omnigraph.storage.blob_columns import BlobForm
from omnigraph.storage.locks import HeldVersions
from omnigraph.storage.tables import Table

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa
    import pyarrow.dataset as pads

_HEAD_ROWS = 10


class SnapshotTable:
    """One type's rows in a snapshot.

    Everything that returns rows takes the same options. `where` is a list of `(column, operator, value)` that must all
    hold, a list of such lists of which one must, or the text of a SQL condition, as in `"age > 30 or rank = 'mate'"`.
    """

    def __init__(
        self, context: GraphContext, table: Table, pin: TablePin, entity: EntityType, held: HeldVersions | None
    ) -> None:
        self._context = context
        self._table = table
        self._held = held  # The table outlives its snapshot in `graph.snapshot().table(…)`.
        self.pin = pin
        self.entity = entity

    def __repr__(self) -> str:
        return f"<SnapshotTable {self.pin.table_key} {counted(self.pin.row_count, 'row')}>"

    def _repr_html_(self) -> str:
        rows = self.to_arrow(limit=ROWS_SHOWN + 1)
        caption = f"{self.pin.table_key}: {counted(self.pin.row_count, 'row')}"
        return html_table(rows.column_names, (row.values() for row in rows.to_pylist()), caption=caption)

    @property
    def schema(self) -> "pa.Schema":
        """The Arrow schema of the table as it is stored."""
        return self._table.schema

    def count_rows(self, *, where: Where = ()) -> int:
        """Count the rows, or those that a condition lets through."""
        if isinstance(where, str):
            return sum(batch.num_rows for batch in self.to_reader(["id"], where=where))
        with self._reading():
            return self._table.count_rows(filter_of(self.entity, where))

    def to_arrow(
        self, columns: Sequence[str] | None = None, *, where: Where = (), limit: int | None = None
    ) -> "pa.Table":
        """Read rows into memory."""
        return self.to_reader(columns, where=where, limit=limit).read_all()

    def to_pandas(self, columns: Sequence[str] | None = None, *, where: Where = (), limit: int | None = None) -> Any:
        """Read rows into a pandas frame; whole numbers that may be missing stay whole numbers (`Int32`, `Int64`)."""
        return as_pandas(self.to_arrow(columns, where=where, limit=limit))

    def to_polars(
        self, columns: Sequence[str] | None = None, *, where: Where = (), limit: int | None = None
    ) -> "pl.DataFrame":
        """Read rows into a polars frame."""
        return as_polars(self.to_arrow(columns, where=where, limit=limit))

    def head(self, rows: int = _HEAD_ROWS, *, columns: Sequence[str] | None = None) -> "pa.Table":
        """Read some rows, for a look; which ones is nobody's promise."""
        return self.to_arrow(columns, limit=rows)

    def to_reader(
        self, columns: Sequence[str] | None = None, *, where: Where = (), limit: int | None = None
    ) -> "pa.RecordBatchReader":
        """Stream rows in batches; for tables that do not fit into memory."""
        import pyarrow as pa

        if limit is not None and (not isinstance(limit, int) or limit < 0):
            raise InvalidTarget(f"limit is a number of rows, not {limit!r}.")
        names = self._known(columns)
        if isinstance(where, str):
            return self._where_sql(names, where, limit)
        condition = filter_of(self.entity, where)
        with self._reading():
            reader = self._table.scan(names, where=condition, limit=limit, blobs=BlobForm.CONTENTS)
        return pa.RecordBatchReader.from_batches(reader.schema, self._batches(reader))

    def scanner(self, **options: Any) -> Any:
        """Return a Lance scanner of the pinned version, for vector and full-text search and everything Lance offers."""
        with self._reading():
            scanner = self._table.dataset.scanner(**options)
        scanner.omnigraph_held = self._held  # for as long as somebody scans
        return scanner

    def to_duckdb(self, connection: Any = None) -> Any:
        """Return a DuckDB relation over the rows, on the given connection or the default one.

        Filters and columns go down into Lance, and the relation can be queried as often as one likes.
        """
        from omnigraph.engine.local import arrow_relation

        return arrow_relation(self.scannable(), connection)

    def in_id_order(
        self, columns: Sequence[str] | None = None, *, memory_bytes: int | None = None
    ) -> "Iterator[pa.Table]":
        """Yield all rows in byte order of their ids, in chunks, without holding more than one large chunk at a time.

        `memory_bytes` is how much of them may be in memory; without it, enough to be fast.
        """
        with self._reading():
            yield from self._table.in_id_order(columns, memory_bytes=memory_bytes, blobs=BlobForm.CONTENTS)

    def scannable(self, failures: list[OmniError] | None = None, *, where: str | None = None) -> "pads.Dataset":
        """Return the rows, or those that a filter of Lance lets through, as a dataset that a database scans.

        It leaves its failures in a list.
        """
        from omnigraph.storage.scannable import ScannableTable

        return ScannableTable(self._table, reading=self._reading, failures=failures, where=where)

    def _where_sql(self, columns: Sequence[str] | None, condition: str, limit: int | None) -> "pa.RecordBatchReader":
        from omnigraph.graphs.sql import SqlResult, quoted

        selected = ", ".join(map(quoted, columns)) if columns else "*"
        end = "" if limit is None else f"LIMIT {limit}"
        # On a line of its own: the condition may end in a comment.
        statement = f"SELECT {selected} FROM {quoted(self.pin.table_key)} WHERE (\n{condition}\n) {end}"  # noqa: S608 — the user's own condition
        return SqlResult(self._context, statement, find_table=lambda _: self).to_reader()

    def _batches(self, reader: "pa.RecordBatchReader") -> "Iterator[pa.RecordBatch]":
        """Stream batches and hold the versions until the last of them, whoever else has let go."""
        with self._reading():
            yield from reader

    def _reading(self) -> AbstractContextManager[None]:
        if self._held is not None:
            self._held.renew_after_fork()
        return telling_reclaimed(self._context, [self.pin])

    def _known(self, columns: Sequence[str] | None) -> Sequence[str] | None:
        if columns is None:
            return None
        names = each_name(columns)
        for name in names:
            if name not in self.schema.names:
                raise no_such_property(self.entity, name)
        return names


def stored_state(table: SnapshotTable) -> tuple[Table, Callable[[], AbstractContextManager[None]]]:
    """Return the table as storage has it and what a read of it happens in, for what reads single values."""
    return table._table, table._reading  # noqa: SLF001  # its own module
