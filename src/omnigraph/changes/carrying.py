"""Carrying out a part of the changes: the images of what was inserted, updated and deleted, a chunk at a time."""

from collections.abc import Iterable, Iterator
from operator import attrgetter

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.grouping import grouped
from omnigraph.base.logs import logger_of
from omnigraph.base.values import dataclass
from omnigraph.changes.commit import gap_at
from omnigraph.changes.compare import AFTER_ROW, BEFORE_ROW, Op, TableState, changed_entities, changed_in_bucket
from omnigraph.changes.filled import with_filled
from omnigraph.changes.parts import ChangePart, EntityBucket, Fragments, opened
from omnigraph.engine.local import worker_engine
from omnigraph.graphs.context import GraphContext
from omnigraph.graphs.holding import hold_if_possible
from omnigraph.records.contents import row_digests
from omnigraph.storage.row_changes import rows_inserted_since, rows_updated_since
from omnigraph.storage.tables import ROW_ADDRESS, ROW_ID
from omnigraph.storage.worker_files import worker_store

_log = logger_of(__name__)

_CHUNK_ROWS_FIRST = 1_024
_CHUNK_ROWS_MAX = 1 << 16
_CHUNK_BYTES = 16 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeChunk:
    """Images of some changed entities of one type, as rows with an `id` and the columns of the type.

    An updated entity stands in `before` and `after`, in the same row of each.
    """

    part: ChangePart
    inserted: pa.Table | None = None
    deleted: pa.Table | None = None
    before: pa.Table | None = None
    after: pa.Table | None = None


def carry_out(part: ChangePart) -> Iterator[ChangeChunk]:
    """Yield the changes of a part; memory holds one chunk, and where entities were sought by content their digests."""
    context = GraphContext.over(worker_store(part.uri, part.operation_id), worker_engine(1))
    pins = [pinned.pin for pinned in (part.before, part.after) if pinned is not None]
    with (
        gap_at(part.cause.commit_id),
        hold_if_possible(context, pins, operation="change feed", warn=_log.warning),
    ):
        before, after = opened(context, part.before), opened(context, part.after)
        match part.share:
            case Fragments(fragment_ids=fragment_ids) if after is not None:
                yield from _written(part, before, after, fragment_ids)
            case EntityBucket(number=number, count=count) if before is not None and after is not None:
                changed = changed_in_bucket(context, before, after, number=number, count=count)
                yield from _found(part, before, after, changed)
            case _:
                yield from _found(part, before, after, changed_entities(context, before, after))


def _written(
    part: ChangePart, before: TableState | None, after: TableState, fragment_ids: tuple[int, ...]
) -> Iterator[ChangeChunk]:
    columns = ["id", *after.stored_columns]
    if before is None:
        for rows in _grouped(after.table.scan(columns, fragment_ids=fragment_ids)):
            yield ChangeChunk(part=part, inserted=with_filled(rows, after.filled))
        return
    for rows in _grouped(rows_inserted_since(before.table, after.table, columns, fragment_ids)):
        yield ChangeChunk(part=part, inserted=with_filled(rows, after.filled))
    for rows in _grouped(rows_updated_since(before.table, after.table, columns, fragment_ids)):
        row_ids = rows[ROW_ID].combine_chunks()
        was = before.table.take(row_ids, ["id", *before.stored_columns])
        was = was.take(pc.index_in(row_ids, value_set=was[ROW_ID].combine_chunks()))
        was = with_filled(was.drop_columns([ROW_ID, ROW_ADDRESS]), before.filled)
        now = with_filled(rows.drop_columns([ROW_ID]), after.filled)
        differs = pc.not_equal(row_digests(was, before.columns), row_digests(now, after.columns))
        yield ChangeChunk(part=part, before=was.filter(differs), after=now.filter(differs))


def _found(
    part: ChangePart, before: TableState | None, after: TableState | None, changed: pa.Table
) -> Iterator[ChangeChunk]:
    changed = changed.sort_by("id")
    start, rows = 0, _CHUNK_ROWS_FIRST
    while start < changed.num_rows:
        chunk = changed.slice(start, rows)
        inserted, deleted, updated = (
            chunk.filter(pc.equal(chunk["op"], op.value)) for op in (Op.INSERT, Op.DELETE, Op.UPDATE)
        )
        found = ChangeChunk(
            part=part,
            inserted=_images(after, inserted, AFTER_ROW),
            deleted=_images(before, deleted, BEFORE_ROW),
            before=_images(before, updated, BEFORE_ROW),
            after=_images(after, updated, AFTER_ROW),
        )
        yield found
        start += chunk.num_rows
        # Entities differ by six orders of magnitude in width.
        images = (found.inserted, found.deleted, found.before, found.after)
        size_bytes = sum(rows.nbytes for rows in images if rows is not None) or 1
        rows = max(1, min(_CHUNK_ROWS_MAX, chunk.num_rows * 4, chunk.num_rows * _CHUNK_BYTES // size_bytes))


def _images(state: TableState | None, changed: pa.Table, row_column: str) -> pa.Table | None:
    """Return the images of changed entities, in their order."""
    if state is None or not changed.num_rows:
        return None
    images = state.images_at(changed[row_column].combine_chunks())
    return images.take(pc.index_in(changed["id"].combine_chunks(), value_set=images["id"].combine_chunks()))


def _grouped(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Put small batches of a scan together: what follows costs something per chunk."""
    with_rows = (batch for batch in batches if batch.num_rows)
    measures = (attrgetter("num_rows"), _CHUNK_ROWS_MAX), (attrgetter("nbytes"), _CHUNK_BYTES)
    return map(pa.Table.from_batches, grouped(with_rows, *measures))
