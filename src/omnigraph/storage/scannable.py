"""A table state as the dataset that DuckDB scans: it asks for the columns and rows that a query needs."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

import pyarrow as pa
import pyarrow.dataset as pads

from omnigraph.errors import OmniError, StorageError
from omnigraph.storage.blob_columns import BlobForm
from omnigraph.storage.tables import Table


class ScannableTable(pads.Dataset):  # type: ignore[misc]  # pyarrow has no types
    """Rows of one table, streamed batch by batch; blobs come as plain binary, and references are refused.

    `reading` surrounds every read, and `failures` gets what it raised: DuckDB passes on only the text of an error.
    With `where`, a filter as `filters.py` spells it, the other rows are not there.
    """

    def __init__(
        self,
        table: Table,
        *,
        reading: Callable[[], AbstractContextManager[None]],
        failures: list[OmniError] | None = None,
        where: str | None = None,
    ) -> None:
        self._table = table
        self._reading = reading
        self._failures = failures if failures is not None else []
        self._where = where

    @property
    def schema(self) -> pa.Schema:
        """The columns as they are read."""
        return self._scanned(None, "false").schema

    def scanner(self, columns: Sequence[str] | None = None, filter: Any = None, **_: Any) -> "_Scan":  # noqa: A002 — Arrow's word
        """Plan a scan of some columns and of the rows that an Arrow expression lets through."""
        return _Scan(self._scan(columns, filter))

    def _scan(self, columns: Sequence[str] | None, condition: Any) -> pa.RecordBatchReader:
        if condition is None or self._where is None:
            try:
                rows = self._scanned(columns, self._where if condition is None else condition)
            except StorageError:
                if condition is None:
                    raise
                # Lance does not know every expression; Arrow does, at the price of reading all rows.
                rows = self._filtered(columns, condition)
        else:
            rows = self._filtered(columns, condition)
        return pa.RecordBatchReader.from_batches(rows.schema, self._batches(rows))

    def _filtered(self, columns: Sequence[str] | None, condition: Any) -> pa.RecordBatchReader:
        rows = self._scanned(None, self._where)
        return pads.Scanner.from_batches(rows, columns=columns, filter=condition).to_reader()

    def _scanned(self, columns: Sequence[str] | None, where: Any) -> pa.RecordBatchReader:
        return self._table.scan(columns, where=where, blobs=BlobForm.CONTENTS)

    def _batches(self, rows: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
        try:
            with self._reading():
                yield from rows
        except OmniError as error:
            self._failures.append(error)
            raise


class _Scan:
    """What DuckDB takes for an Arrow scanner."""

    def __init__(self, rows: pa.RecordBatchReader) -> None:
        self._rows = rows

    def to_reader(self) -> pa.RecordBatchReader:
        """Return the rows."""
        return self._rows
