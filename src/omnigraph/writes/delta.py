"""The change of one table, in terms of whole entities: what is written, what it replaces, what goes.

Load, mutation and merge all end in these values; checking (`constraints/`) and staging are the same for all of them.
"""

from collections.abc import Mapping
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.values import dataclass
from omnigraph.catalog.model import EntityType, TableKey
from omnigraph.graphs.capture import Capture
from omnigraph.records.contents import equal_ids
from omnigraph.records.tables import FILE, LINE, POSITION, content_schema
from omnigraph.storage.staging import stage_change, stage_replacement
from omnigraph.storage.tables import ROW_ADDRESS, ROW_ID
from omnigraph.storage.transactions import StagedCommit
from omnigraph.writes.chains import prepare_staged
from omnigraph.writes.prepared import PreparedTable, WriteIdentity

PLACE_COLUMNS = (POSITION, FILE, LINE)
"""Where an incoming row stood in the input; null for rows that a statement derived from stored ones."""


def reference_columns(entity: EntityType) -> list[str]:
    """Name the columns by which a delta knows a stored row: its id and, for an edge, its endpoints."""
    return ["id"] if entity.kind == "node" else ["id", "src", "dst"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableDelta:
    """What a write does to one table; every id occurs at most once in `upserts` and in `removed` together."""

    entity: EntityType
    upserts: pa.Table
    """Whole new images, canonical columns with blobs as binary, plus the place columns."""
    matched: pa.Table
    """The stored rows that upserts replace: reference columns, row id and address."""
    removed: pa.Table
    """The stored rows that go without a successor: the same columns."""
    replaces_all: bool = False
    """Whether the table holds nothing but `upserts` afterwards; `matched` and `removed` are then empty."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing changes."""
        return not self.replaces_all and self.upserts.num_rows == 0 and self.removed.num_rows == 0

    @property
    def gone_ids(self) -> pa.Array:
        """Ids of stored rows that are not retained as they are: replaced or removed."""
        return pa.concat_arrays([self.matched["id"].combine_chunks(), self.removed["id"].combine_chunks()])


def empty_reference(entity: EntityType) -> pa.Table:
    """Return a reference table without rows."""
    fields = [pa.field(name, pa.string()) for name in reference_columns(entity)]
    return pa.schema([*fields, pa.field(ROW_ID, pa.uint64()), pa.field(ROW_ADDRESS, pa.uint64())]).empty_table()


def delta_rows(entity: EntityType, rows: pa.Table, *, is_final: bool = True) -> pa.Table:
    """Bring new images into the one shape that deltas have: canonical columns and nullable places, absent ones null.

    Images that are not final may still lack what is required.
    """
    schema = _delta_schema(entity)
    for name in PLACE_COLUMNS:
        if name not in rows.column_names:
            rows = rows.append_column(name, pa.nulls(rows.num_rows, schema.field(name).type))
    if not is_final:
        schema = pa.schema([field.with_nullable(True) for field in schema])
    return rows.select(schema.names).cast(schema)


def _delta_schema(entity: EntityType) -> pa.Schema:
    places = {POSITION: pa.uint64(), FILE: pa.int32(), LINE: pa.uint64()}
    return pa.schema([*content_schema(entity), *(pa.field(name, kind) for name, kind in places.items())])


def rows_without(rows: pa.Table, ids: pa.Array) -> pa.Table:
    """Return the rows whose id is not among `ids`."""
    return rows.filter(pc.invert(pc.is_in(rows["id"], value_set=ids))) if len(ids) else rows


def rows_among(rows: pa.Table, ids: pa.Array) -> pa.Table:
    """Return the rows whose id is among `ids`."""
    return rows.filter(pc.is_in(rows["id"], value_set=ids))


def prepare_tables(
    capture: Capture, deltas: Mapping[TableKey, TableDelta], identity: WriteIdentity
) -> tuple[PreparedTable, ...]:
    """Stage every delta that changes something, in table-key order."""
    return tuple(
        prepare_staged(capture, identity, table_key, _stage(capture, delta, identity))
        for table_key, delta in sorted(deltas.items())
        if not delta.is_empty
    )


def _stage(capture: Capture, delta: TableDelta, identity: WriteIdentity) -> StagedCommit:
    store, table = capture.context.store.tables, capture.table(delta.entity.table_key)
    target = capture.target(delta.entity.table_key)
    properties = identity.transaction_properties
    rows = delta.upserts.drop_columns(list(PLACE_COLUMNS))
    if delta.replaces_all:
        return stage_replacement(store, table, target, rows, properties=properties)
    rewritten = _with_row_ids(rows, delta.matched)
    return stage_change(
        store,
        table,
        target,
        rewritten=rewritten,
        inserted=rows_without(rows, delta.matched["id"].combine_chunks()),
        removed_addresses=pa.concat_arrays(
            [delta.matched[ROW_ADDRESS].combine_chunks(), delta.removed[ROW_ADDRESS].combine_chunks()]
        ),
        properties=properties,
    )


def _with_row_ids(rows: pa.Table, matched: pa.Table) -> pa.Table:
    """Return the rows that replace stored ones, each with the row id it takes over."""
    found = pc.index_in(rows["id"], value_set=matched["id"].combine_chunks())
    rewritten = rows.filter(pc.is_valid(found))
    return rewritten.append_column(ROW_ID, matched[ROW_ID].take(found.drop_null()))


def without_unchanged(capture: Capture, delta: TableDelta) -> TableDelta:
    """Drop the upserts that equal their stored entity in every column, so that repeating a write commits nothing."""
    if delta.replaces_all or delta.matched.num_rows == 0:
        return delta
    matched_ids = delta.matched["id"].combine_chunks()
    names = [name for name in capture.table(delta.entity.table_key).schema.names if name != "id"]
    stored = capture.table(delta.entity.table_key).take(delta.matched[ROW_ID].combine_chunks(), ["id", *names])
    same = equal_ids(
        rows_among(delta.upserts, matched_ids).select(["id", *names]),
        stored.drop_columns([ROW_ID, ROW_ADDRESS]),
    )
    return replace(delta, upserts=rows_without(delta.upserts, same), matched=rows_without(delta.matched, same))
