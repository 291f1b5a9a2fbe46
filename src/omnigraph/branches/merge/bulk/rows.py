"""The rows of one state that another may not have, as workers read them: an id, a digest of the values, key columns.

Values are hashed where they are read (`records/contents.py`); vectors and blobs never travel.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from omnigraph.base.grouping import grouped
from omnigraph.catalog.model import EntityType
from omnigraph.changes.compare import TableState
from omnigraph.engine.interface import Produced
from omnigraph.records.contents import row_digests
from omnigraph.storage.row_changes import overlap, rows_deleted_elsewhere, scan_chosen
from omnigraph.storage.tables import ROW_ADDRESS, ROW_ID, StateAddress, Table
from omnigraph.storage.worker_files import worker_store
from omnigraph.writes.constraints.keys import key_columns, key_fields, typed

_TASK_ROWS_MIN = 1 << 16
_TASK_ROWS_MAX = 1 << 20
_TASK_BYTES_MAX = 1 << 28

LOCATION_FIELDS = (("part", pa.int64()), ("row_id", pa.int64()), ("row_address", pa.int64()))
"""Where the source has a row, and which part of the work it belongs to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsTask:
    """Whole fragments of a state, and fragments of which only those rows are wanted that another state deleted."""

    uri: str
    operation_id: str
    state: StateAddress
    other: StateAddress
    entity: EntityType
    columns: tuple[str, ...]
    has_keys: bool
    part: int = 0
    rows: int = 0
    """How many rows its fragments have; it yields at most so many."""
    whole: tuple[int, ...] = ()
    thinned: tuple[tuple[int, int], ...] = ()
    """Fragments of this state, each with the one of the other state over the same files."""


def rows_schema(entity: EntityType, *, has_keys: bool) -> pa.Schema:
    """Return the columns of such rows; those of a source also say where it has them, and hold the key columns."""
    digest = [("id", pa.string()), ("digest", pa.binary())]
    keys = [field for field in key_fields(entity) if field[0] != "id"]
    return pa.schema([*digest, *LOCATION_FIELDS, *keys] if has_keys else digest)


def unshared(
    state: TableState, other: TableState, *, uri: str, operation_id: str, slots: int, has_keys: bool = False
) -> Produced:
    """Describe the rows of a state that the other does not have in the same files, for workers to read."""
    task = RowsTask(
        uri=uri,
        operation_id=operation_id,
        state=state.table.state,
        other=other.table.state,
        entity=state.entity,
        columns=state.columns,
        has_keys=has_keys,
    )
    shared = overlap(state.table, other.table)
    rows_of = state.table.rows_by_fragment()
    parts = _parts(state.table, [*shared.left_only, *(mine for mine, _ in shared.thinned)], slots)
    theirs = dict(shared.thinned)
    tasks = [
        replace(
            task,
            part=number,
            rows=sum(rows_of[fragment] for fragment in part),
            whole=tuple(fragment for fragment in part if fragment not in theirs),
            thinned=tuple((fragment, theirs[fragment]) for fragment in part if fragment in theirs),
        )
        for number, part in enumerate(parts)
    ]
    return Produced(schema=rows_schema(state.entity, has_keys=has_keys), read=read_rows, tasks=tuple(tasks))


def read_rows(task: RowsTask) -> Iterator[pa.RecordBatch]:
    """Carry out a task."""
    schema = rows_schema(task.entity, has_keys=task.has_keys)
    for batch in _batches(task):
        rows = pa.Table.from_batches([batch])
        columns = [rows["id"], row_digests(rows, task.columns)]
        if task.has_keys:
            part = pa.repeat(pa.scalar(task.part, pa.int64()), rows.num_rows)
            keys = key_columns(task.entity, rows)[1:]
            columns += [part, rows[ROW_ID], rows[ROW_ADDRESS], *keys]
        arrays = [typed(column, field) for column, field in zip(columns, schema, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _batches(task: RowsTask) -> Iterator[pa.RecordBatch]:
    tables = worker_store(task.uri, task.operation_id).tables
    table = task.state.open(tables)
    names = ["id", *task.columns]
    if task.whole:
        yield from table.scan(names, with_row_ids=True, with_row_addresses=True, fragment_ids=task.whole)
    if task.thinned:
        other = task.other.open(tables)
        for mine, theirs in task.thinned:
            yield from scan_chosen(table, rows_deleted_elsewhere(table, mine, other, theirs), names)


def _parts(table: Table, fragment_ids: Sequence[int], slots: int) -> Iterator[tuple[int, ...]]:
    """Put fragments together until they are worth a task, and leave some for every worker."""
    rows_of, bytes_of = table.rows_by_fragment(), table.bytes_by_fragment()
    share = sum(rows_of[number] for number in fragment_ids) // max(slots, 1)
    rows_max = min(max(share, _TASK_ROWS_MIN), _TASK_ROWS_MAX)
    return grouped(fragment_ids, (rows_of.__getitem__, rows_max), (bytes_of.__getitem__, _TASK_BYTES_MAX))
