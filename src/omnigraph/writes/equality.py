"""Leaving out what would not change anything: rows that are written exactly as they are stored."""

from dataclasses import replace

from omnigraph.graphs.capture import Capture
from omnigraph.records.contents import equal_ids
from omnigraph.storage.tables import ROW_ADDRESS, ROW_ID
from omnigraph.writes.delta import TableDelta, rows_among, rows_without


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
