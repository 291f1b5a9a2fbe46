"""Which entities differ between two states of one type's table.

The fast way asks Lance which rows were written or deleted in between, so that its cost follows the change; it is taken
only where that answer is complete (`storage/lineage.py`). The general way joins all rows that the two states do not
share file by file. Both then compare values (`records/contents.py`): an update is one only if the values differ.
"""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Final

import pyarrow as pa

from omnigraph.base import ids
from omnigraph.base.values import dataclass
from omnigraph.catalog.model import EdgeType, EntityType, Property
from omnigraph.changes.digests import DIGESTS_SCHEMA, digested, digests_at, produced_digests
from omnigraph.changes.filled import with_filled
from omnigraph.engine.interface import Produced
from omnigraph.errors import Internal
from omnigraph.graphs.context import GraphContext
from omnigraph.storage.lineage import History, Stretch, history_of, stretches_between
from omnigraph.storage.row_changes import (
    UnsharedRows,
    deleted_row_ids,
    rows_added_since,
    rows_written_since,
    unshared_bytes,
    unshared_rows,
    written_bytes,
)
from omnigraph.storage.tables import ROW_ADDRESS, ROW_ID, Table
from omnigraph.storage.worker_files import shared_with_workers

_VERSIONS_READ_MIN = 64
_ROWS_PER_VERSION = 1_000
"""Finding out which operation made a version costs about as much as comparing this many rows."""

BEFORE_ROW: Final = "before_row"
AFTER_ROW: Final = "after_row"

CHANGES_SCHEMA: Final = pa.schema(
    [
        pa.field("id", pa.string()),
        pa.field("op", pa.string()),
        pa.field(BEFORE_ROW, pa.uint64()),
        pa.field(AFTER_ROW, pa.uint64()),
    ]
)


def changes_statement(*, before: str = "before", after: str = "after", columns: str) -> str:
    """Find the entities `(id, digest, …)` that differ between two relations, with further columns of either."""
    return f"""
        SELECT coalesce({after}.id, {before}.id) AS id,
            CASE WHEN {before}.id IS NULL THEN 'insert' WHEN {after}.id IS NULL THEN 'delete' ELSE 'update' END AS op,
            {columns}
        FROM {before} FULL OUTER JOIN {after} ON {before}.id = {after}.id
        WHERE {before}.digest IS DISTINCT FROM {after}.digest
    """  # noqa: S608 — relations and columns are named by callers in this package, never by data


_CLASSIFY = changes_statement(columns="before.row AS before_row, after.row AS after_row")


class Op(StrEnum):
    """What happened to an entity."""

    INSERT = "insert"
    UPDATE = "update"
    DELETE = "delete"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableState:
    """One type's table at one exact `(ref, version)`, with the schema that its snapshot reads it with."""

    entity: EntityType
    table: Table
    filled: tuple[Property, ...] = ()
    """Properties of the type that the table does not have yet (`filled.py`)."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that say something about an entity, besides its id: endpoints and properties."""
        endpoints = ("src", "dst") if isinstance(self.entity, EdgeType) else ()
        return (*endpoints, *self.entity.property_by_name)

    @property
    def stored_columns(self) -> tuple[str, ...]:
        """Those of the columns that the table has."""
        filled = {declared.name for declared in self.filled}
        return tuple(name for name in self.columns if name not in filled)

    def images(self, ids: pa.Array) -> pa.Table:
        """Return whole images of these entities, blobs as binary; those that the state does not have are left out."""
        found = self.table.lookup("id", ids, ["id", *self.stored_columns])
        return with_filled(found.drop_columns([ROW_ID, ROW_ADDRESS]), self.filled)

    def images_at(self, row_ids: pa.Array) -> pa.Table:
        """Return the same by the row ids that `changed_entities` found, which needs no search; in no order."""
        found = self.table.take(row_ids, ["id", *self.stored_columns])
        return with_filled(found.drop_columns([ROW_ID, ROW_ADDRESS]), self.filled)


def changed_entities(context: GraphContext, before: TableState | None, after: TableState | None) -> pa.Table:
    """Return every entity that differs by value, in no particular order; None is a table without rows.

    Each row has the `id`, the `op`, and the row ids by which either state finds the entity (`images_at`).
    Both states belong to one identity and have the same columns. They may lie on any two refs, in either direction.
    """
    if before is None or after is None:
        return _all_of(after, Op.INSERT) if after is not None else _all_of(before, Op.DELETE)
    if set(before.columns) != set(after.columns):
        raise Internal(f"States of {after.entity.table_key} with different columns were compared.")
    by_history = changed_by_history(context, before, after)
    return by_history if by_history is not None else changed_by_content(context, before, after)


def change_bytes(context: GraphContext, before: TableState, after: TableState, *, limit: int) -> int:
    """Estimate how much there is to compare, up to `limit` from the files alone; reads no value.

    Above, history is asked too: where it tells which rows were written, files that were only rewritten do not count.
    """
    size_bytes = unshared_bytes(before.table, after.table)
    if size_bytes < limit or _telling_way(context, before.table, after.table) is None:
        return size_bytes
    return min(size_bytes, written_bytes(before.table, after.table))


def changed_by_history(context: GraphContext, before: TableState, after: TableState) -> pa.Table | None:
    """Find the changes from what Lance remembers of the way between the states; None where that may be incomplete."""
    stretches = _telling_way(context, before.table, after.table)
    if stretches is not None:
        as_before, as_after = _touched(context, before, after, stretches)
        return _classified(context, as_before, as_after)
    stretches = _telling_way(context, after.table, before.table)
    if stretches is not None:
        as_after, as_before = _touched(context, after, before, stretches)
        return _classified(context, as_before, as_after)
    return None


def is_told_by_history(context: GraphContext, before: TableState, after: TableState) -> bool:
    """Whether Lance remembers of every row when it was written on the way from one state to a later one."""
    return _telling_way(context, before.table, after.table) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class TouchedRows:
    """What was done to the rows of a table between two states, whether or not it changed a value."""

    gone: pa.Array
    """The ids of rows that the older state may have and the newer one has not."""
    written: pa.Table
    """The rows that the newer state has and the older one has not, or not in this form, with their row ids."""


def touched_rows(
    context: GraphContext, older: Table, newer: Table, columns: tuple[str, ...], *, rows_max: int
) -> TouchedRows | None:
    """Return the rows by which two states of one table differ, by history or else file by file; compares no values.

    None where there are more than `rows_max` or the columns are not the same, so that reading the newer state as a
    whole is cheaper, or the only right thing to do.
    """
    # With what the fields say of themselves: a property may have taken the name of another that was dropped.
    if not older.schema.remove_metadata().equals(newer.schema.remove_metadata(), check_metadata=True):
        return None
    stretches, history = way_between(context, older, newer)
    if history is History.ADDED_ONLY:
        batches = [*rows_added_since(older, newer, columns)] if stretches else []
        return TouchedRows(gone=pa.array([], pa.uint64()), written=_with_row_ids(newer, columns, batches))
    if history is History.ROW_BY_ROW:
        batches = [*rows_written_since(older, newer, columns)]
        gone = deleted_row_ids(context.store.tables, older.address.location, stretches)
        return TouchedRows(gone=gone, written=_with_row_ids(newer, columns, batches))
    rows_older, rows_newer = unshared_rows(older, newer)
    if max(_count_of(older, rows_older), _count_of(newer, rows_newer)) > rows_max:
        return None
    gone = [batch[ROW_ID] for batch in _scan_of(older, rows_older, ())]
    return TouchedRows(
        gone=pa.concat_arrays([pa.array([], pa.uint64()), *gone]),
        written=_with_row_ids(newer, columns, [*_scan_of(newer, rows_newer, columns)]),
    )


def _with_row_ids(table: Table, columns: tuple[str, ...], batches: list[pa.RecordBatch]) -> pa.Table:
    schema = pa.schema([*(pa.field(name, table.schema.field(name).type) for name in columns), (ROW_ID, pa.uint64())])
    return pa.Table.from_batches(
        [pa.RecordBatch.from_arrays([batch[name] for name in schema.names], schema=schema) for batch in batches], schema
    )


def _scan_of(table: Table, rows: UnsharedRows, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
    if rows.fragment_ids:
        yield from table.scan(columns, with_row_ids=True, fragment_ids=rows.fragment_ids)
    if len(rows.row_ids):
        yield from table.scan(columns, with_row_ids=True, row_ids=rows.row_ids)


def _count_of(table: Table, rows: UnsharedRows) -> int:
    by_fragment = table.rows_by_fragment()
    return sum(by_fragment[number] for number in rows.fragment_ids) + len(rows.row_ids)


def changed_in_bucket(
    context: GraphContext, before: TableState, after: TableState, *, number: int, count: int
) -> pa.Table:
    """Find the changes of the entities whose ids fall into one of `count` buckets.

    Every bucket reads all ids of the rows that the states do not share, and of nothing else more than its own.
    """
    shares = zip((before, after), unshared_rows(before.table, after.table), strict=True)
    digests = (
        _concatenated(
            digests_at(
                state.table, _in_bucket(context, state.table, rows, number, count), state.stored_columns, state.filled
            )
        )
        for state, rows in shares
    )
    return _classified(context, *digests)


def changed_by_content(context: GraphContext, before: TableState, after: TableState) -> pa.Table:
    """Find the changes by joining all rows that lie in files which the states do not share."""
    uri, operation_id = context.store.uri, ids.new_ulid()
    digests = (
        produced_digests(
            state.table, state.stored_columns, rows, filled=state.filled, uri=uri, operation_id=operation_id
        )
        for state, rows in zip((before, after), unshared_rows(before.table, after.table), strict=True)
    )
    with shared_with_workers(context.store, operation_id):
        return _classified(context, *digests)


def _all_of(state: TableState | None, op: Op) -> pa.Table:
    if state is None:
        return CHANGES_SCHEMA.empty_table()
    found = state.table.read(["id"], with_row_ids=True)
    ops, none = pa.repeat(op.value, found.num_rows), pa.nulls(found.num_rows, pa.uint64())
    rows = [none, found[ROW_ID]] if op is Op.INSERT else [found[ROW_ID], none]
    return pa.Table.from_arrays([found["id"], ops, *rows], schema=CHANGES_SCHEMA)


def _in_bucket(context: GraphContext, table: Table, rows: UnsharedRows, number: int, count: int) -> pa.Array:
    """Return the row ids of the rows whose entities are in a bucket."""
    statement = f"SELECT row FROM rows WHERE md5_number_lower(id) % {count} = {number}"  # noqa: S608 — two numbers
    found = [pa.array([], pa.uint64())]

    def choose(batch: pa.Table | pa.RecordBatch) -> None:
        named = pa.table({"id": batch["id"], "row": batch[ROW_ID]})
        found.append(context.engine.sql({"rows": named}, statement)["row"].combine_chunks())

    if rows.fragment_ids:
        for batch in table.scan(["id"], with_row_ids=True, fragment_ids=rows.fragment_ids):
            choose(batch)
    if len(rows.row_ids):
        choose(table.take(rows.row_ids, ["id"]))
    return pa.concat_arrays(found)


def _telling_way(context: GraphContext, older: Table, newer: Table) -> tuple[Stretch, ...] | None:
    stretches, history = way_between(context, older, newer)
    return None if history is History.INCOMPLETE else stretches


def way_between(context: GraphContext, older: Table, newer: Table) -> tuple[tuple[Stretch, ...], History]:
    """Return how a state came out of an older one, and what Lance remembers of it; a way that is too long is none."""
    stretches = stretches_between(context.store.tables, older, newer)
    if stretches is None:
        return (), History.INCOMPLETE
    versions = sum(stretch.end - stretch.begin for stretch in stretches)
    if versions > _VERSIONS_READ_MIN + newer.count_rows() // _ROWS_PER_VERSION:
        return (), History.INCOMPLETE
    return stretches, history_of(context.store.objects, older.address.location, stretches)


def _touched(
    context: GraphContext, older: TableState, newer: TableState, stretches: tuple[Stretch, ...]
) -> tuple[pa.Table, pa.Table]:
    """Digest the rows that were written or deleted on the way: as they were, and as they are."""
    if not stretches:
        return DIGESTS_SCHEMA.empty_table(), DIGESTS_SCHEMA.empty_table()
    row_ids = [deleted_row_ids(context.store.tables, older.table.address.location, stretches)]
    now = []
    for batch in rows_written_since(older.table, newer.table, ["id", *newer.stored_columns]):
        row_ids.append(batch[ROW_ID])
        now.append(digested(batch, newer.stored_columns, newer.filled))
    # Row ids are stable along the way, so that the rows as they were need no search by id.
    then = digests_at(older.table, pa.concat_arrays(row_ids).unique(), older.stored_columns, older.filled)
    return _concatenated(then), _concatenated(now)


def _concatenated(pieces: Iterable[pa.Table]) -> pa.Table:
    return pa.concat_tables([DIGESTS_SCHEMA.empty_table(), *pieces])


def _classified(context: GraphContext, before: pa.Table | Produced, after: pa.Table | Produced) -> pa.Table:
    return context.engine.sql({"before": before, "after": after}, _CLASSIFY).cast(CHANGES_SCHEMA)
