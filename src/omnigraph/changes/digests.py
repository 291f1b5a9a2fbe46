"""Rows as `(id, row, digest)`: all that finding changes needs of them, made where the rows are read.

Vectors and blobs are hashed by whoever reads them and never travel.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

import pyarrow as pa

from omnigraph.base.grouping import grouped
from omnigraph.base.values import dataclass
from omnigraph.catalog.model import Property
from omnigraph.changes.filled import with_filled
from omnigraph.engine.interface import Produced
from omnigraph.records.contents import row_digests
from omnigraph.storage.row_changes import UnsharedRows
from omnigraph.storage.tables import ROW_ID, StateAddress, Table
from omnigraph.storage.worker_files import worker_store

_TASK_ROWS = 1 << 20
_TAKE_ROWS = 100_000

# Types that every engine has: none knows fixed binary, and not all know unsigned numbers.
DIGESTS_SCHEMA: Final = pa.schema(
    [pa.field("id", pa.string()), pa.field("row", pa.int64()), pa.field("digest", pa.binary())]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DigestTask:
    """Some fragments and some single rows of one state of a table; a plain value that any worker can carry out."""

    uri: str
    """The graph's; the store behind it is found by this and the operation."""
    operation_id: str
    state: StateAddress
    columns: tuple[str, ...]
    filled: tuple[Property, ...] = ()
    fragment_ids: tuple[int, ...] = ()
    row_ids: tuple[int, ...] = ()


def produced_digests(
    table: Table,
    columns: tuple[str, ...],
    rows: UnsharedRows,
    *,
    filled: tuple[Property, ...] = (),
    uri: str,
    operation_id: str,
) -> Produced:
    """Describe the digests of rows, for workers to make; the operation shares its store with them."""
    task = DigestTask(
        uri=uri,
        operation_id=operation_id,
        state=table.state,
        columns=columns,
        filled=filled,
    )
    groups = grouped(rows.fragment_ids, (table.rows_by_fragment().__getitem__, _TASK_ROWS))
    tasks = [
        *(replace(task, fragment_ids=group) for group in groups),
        *(replace(task, row_ids=tuple(row_ids.to_pylist())) for row_ids in _chunks(rows.row_ids)),
    ]
    return Produced(schema=DIGESTS_SCHEMA, read=read_digests, tasks=tuple(tasks))


def read_digests(task: DigestTask) -> Iterator[pa.RecordBatch]:
    """Carry out a task."""
    table = task.state.open(worker_store(task.uri, task.operation_id).tables)
    if task.fragment_ids:
        for batch in table.scan(["id", *task.columns], with_row_ids=True, fragment_ids=task.fragment_ids):
            yield from digested(batch, task.columns, task.filled).to_batches()
    for rows in digests_at(table, pa.array(task.row_ids, pa.uint64()), task.columns, task.filled):
        yield from rows.to_batches()


def digests_at(
    table: Table, row_ids: pa.Array, columns: tuple[str, ...], filled: tuple[Property, ...] = ()
) -> Iterator[pa.Table]:
    """Yield the digests of the rows with these ids, a chunk at a time; ids without a row are left out."""
    for chunk in _chunks(row_ids):
        yield digested(table.take(chunk, ["id", *columns]), columns, filled)


def digested(rows: pa.Table | pa.RecordBatch, columns: tuple[str, ...], filled: tuple[Property, ...] = ()) -> pa.Table:
    """Reduce rows to their digests; they come with row ids."""
    table = with_filled(pa.Table.from_batches([rows]) if isinstance(rows, pa.RecordBatch) else rows, filled)
    digests = row_digests(table, (*columns, *(declared.name for declared in filled))).cast(pa.binary())
    return pa.Table.from_arrays([table["id"], table[ROW_ID].cast(pa.int64()), digests], schema=DIGESTS_SCHEMA)


def _chunks(row_ids: pa.Array) -> Iterable[pa.Array]:
    return (row_ids.slice(start, _TAKE_ROWS) for start in range(0, len(row_ids), _TAKE_ROWS))
