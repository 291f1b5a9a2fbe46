"""What look-ups read from one table, counted: whoever would read too much is told, and asks in another way."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa

from omnigraph.graphs.context import GraphContext
from omnigraph.graphs.reclaimed import telling_reclaimed
from omnigraph.manifest.snapshot import TablePin
from omnigraph.storage.index_lookup import look_up_values

ROWS_MAX = 1_000_000
"""Where nothing else is said, so many rows are few enough."""
_VALUES_BY_FILTER = 2_000
"""Up to so many values are asked for without looking at the size of a table."""


class TooMuchToLookUp(Exception):
    """A query reaches more than look-ups are good for; read the tables in another way."""


class Allowance:
    """How many rows one query may still look up, and what it has read."""

    def __init__(self, rows_max: int = ROWS_MAX) -> None:
        self._rows_max = rows_max
        self.rows = 0
        self.asked = 0
        """How often a table was asked."""

    def spend(self, rows: int) -> None:
        """Count rows that were read; raises `TooMuchToLookUp` above the allowance."""
        self.rows += rows
        if self.rows > self._rows_max:
            raise TooMuchToLookUp(f"more than {self._rows_max:,} rows")


class TableReads:
    """Reads of one pinned state of a table."""

    def __init__(self, context: GraphContext, pin: TablePin, allowance: Allowance) -> None:
        self._context = context
        self._pin = pin
        self._allowance = allowance
        self._table = context.store.tables.open(pin.address, pin.version)
        self.schema: pa.Schema = self._table.schema
        self.count = pin.row_count

    def look_up(self, column: str, values: Sequence[str], columns: Sequence[str]) -> pa.Table:
        """Return the rows, with their ids, whose column has one of some values; each value is given once."""
        wanted = pa.array(values, pa.string())
        with self._asking():
            if len(wanted) <= _VALUES_BY_FILTER:
                return self._counted(self._table.lookup(column, wanted, columns))
            return self._counted(look_up_values(self._table, column, wanted, columns))

    def take(self, row_ids: Iterable[int], columns: Sequence[str]) -> pa.Table:
        """Return the rows with some row ids, in no particular order."""
        with self._asking():
            return self._counted(self._table.take(pa.array(row_ids, pa.uint64()), columns))

    def scan(self, columns: Sequence[str], where: str | None) -> pa.Table:
        """Return the rows, with their ids, that a filter lets through."""
        with self._asking():
            batches = []
            reader = self._table.scan(columns, where=where, with_row_ids=True)
            for batch in reader:
                self._allowance.spend(batch.num_rows)
                batches.append(batch)
            return pa.Table.from_batches(batches, reader.schema)

    @contextmanager
    def _asking(self) -> Iterator[None]:
        self._allowance.asked += 1
        with telling_reclaimed(self._context, [self._pin]):
            yield

    def _counted(self, rows: pa.Table) -> pa.Table:
        self._allowance.spend(rows.num_rows)
        return rows
