"""Leaving out what would not change anything: rows that are written exactly as they are stored."""

from dataclasses import replace

import pyarrow as pa

from omnigraph.engine.interface import Engine
from omnigraph.storage.tables import ROW_ADDRESS, ROW_ID
from omnigraph.writes.authority import Capture
from omnigraph.writes.delta import TableDelta, rows_among, rows_without


def without_unchanged(capture: Capture, delta: TableDelta) -> TableDelta:
    """Drop the upserts that equal their stored entity in every column, so that repeating a write commits nothing."""
    if delta.replaces_all or delta.matched.num_rows == 0:
        return delta
    matched_ids = delta.matched["id"].combine_chunks()
    names = [name for name in capture.table(delta.entity.table_key).schema.names if name != "id"]
    stored = capture.table(delta.entity.table_key).lookup("id", matched_ids, ["id", *names])
    same = equal_ids(
        capture.context.engine,
        rows_among(delta.upserts, matched_ids).select(["id", *names]),
        stored.drop_columns([ROW_ID, ROW_ADDRESS]),
    )
    return replace(delta, upserts=rows_without(delta.upserts, same), matched=rows_without(delta.matched, same))


def equal_ids(engine: Engine, incoming: pa.Table, stored: pa.Table) -> pa.Array:
    """Return the ids whose rows are equal by value on both sides: null equals null, and both zeros are one number."""
    numbered = [f"c{index}" for index in range(incoming.num_columns - 1)]
    equal = " AND ".join(f"i.{name} IS NOT DISTINCT FROM s.{name}" for name in numbered) or "true"
    result = engine.sql(
        {
            "incoming": comparable(incoming).rename_columns(["id", *numbered]),
            "stored": comparable(stored.select(incoming.column_names)).rename_columns(["id", *numbered]),
        },
        f"SELECT i.id FROM incoming i JOIN stored s ON i.id = s.id WHERE {equal}",  # noqa: S608 — names are numbered
    )
    return result["id"].combine_chunks().cast(pa.string())


def comparable(rows: pa.Table) -> pa.Table:
    """Return the rows in types that every engine can compare: times as integers, for engines count microseconds.

    The full range of a column of milliseconds does not fit into those.
    """
    return rows.cast(pa.schema([pa.field(field.name, _comparable_type(field.type)) for field in rows.schema]))


def _comparable_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_list(kind):
        return pa.list_(_comparable_type(kind.value_type))
    return pa.int64() if pa.types.is_timestamp(kind) else kind
