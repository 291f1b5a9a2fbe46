"""What a worker does with the rows that a merge takes: read them from the source, check them, write them anew.

Rows stream from one table to the other, so that memory holds a batch of them however wide they are.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.catalog.model import EntityType, TableKey
from omnigraph.records.offences import OffenceCollector, Offences
from omnigraph.records.stored import check_values
from omnigraph.records.tables import content_schema
from omnigraph.storage.row_changes import chosen_by_fragment, scan_chosen
from omnigraph.storage.tables import StateAddress
from omnigraph.storage.worker_files import TablePlace, worker_store
from omnigraph.writes.constraints.resulting_state import number_of
from omnigraph.writes.exchange.stages import ScratchShelf


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenTable:
    """A table whose rows are taken over."""

    entity: EntityType
    source: StateAddress
    place: TablePlace
    parts: int
    """A part is what one worker read of the source."""
    is_written: bool
    """Whether files are written; otherwise rows are only checked."""

    @property
    def relation(self) -> str:
        """What its rows are called."""
        return f"{number_of(self.entity)}_taken"


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeTask:
    """What is the same for all parts of a merge."""

    uri: str
    operation_id: str
    tables: tuple[TakenTable, ...]
    shelf: ScratchShelf
    findings_limit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PartTaken:
    """What became of one part: the files that hold its rows, and the rules that they break."""

    table_key: TableKey
    fragments: tuple[str, ...]
    findings: Offences


def take_part(task: TakeTask, place: tuple[int, int]) -> PartTaken:
    """Take over one part of the rows of one table.

    They are given by `row_id` and `row_address` in the source and `target_row`, if there is one. What replaces a row of
    the target comes first and keeps that row's id, so that history shows an update.
    """
    table, part = task.tables[place[0]], place[1]
    rows = task.shelf.rows(table.relation, part)
    if not rows.num_rows:
        return PartTaken(table_key=table.entity.table_key, fragments=(), findings=Offences())
    store = worker_store(task.uri, task.operation_id)
    rows = rows.sort_by("row_address").combine_chunks()
    is_update = pc.is_valid(rows["target_row"])
    updates, inserts = _in_target_order(rows.filter(is_update)), rows.filter(pc.invert(is_update))
    findings = OffenceCollector(limit=task.findings_limit)
    images = _checked(table, chain(_images(task, table, updates), _images(task, table, inserts)), findings)
    if table.is_written:
        row_ids = updates["target_row"].combine_chunks().cast(pa.uint64())
        fragments = table.place.write_stream(store, images, row_ids=row_ids)
    else:
        for _ in images:
            pass
        fragments = ()
    return PartTaken(table_key=table.entity.table_key, fragments=fragments, findings=findings.result())


def _in_target_order(updates: pa.Table) -> pa.Table:
    """Order the files that rows come from by the rows that they replace, as far as whole files can be ordered.

    Row ids that ascend take a bit each in the table's versions, others four bytes, and in the driver ten times that.
    """
    files = pc.shift_right(updates["row_address"], pa.scalar(32, updates["row_address"].type))
    slices, start = [], 0
    for found in pc.value_counts(files.combine_chunks()).to_pylist():
        slices.append(updates.slice(start, found["counts"]))
        start += found["counts"]
    slices.sort(key=lambda rows: rows["target_row"][0].as_py())
    return pa.concat_tables(slices) if slices else updates


def _images(task: TakeTask, taken: TakenTable, rows: pa.Table) -> Iterator[pa.RecordBatch]:
    table = taken.source.open(worker_store(task.uri, task.operation_id).tables)
    names = content_schema(taken.entity).names
    row_ids = rows["row_id"].combine_chunks().cast(pa.uint64())
    addresses = rows["row_address"].combine_chunks().cast(pa.uint64())
    for chosen in chosen_by_fragment(row_ids, addresses):
        yield from scan_chosen(table, chosen, names)


def _checked(
    taken: TakenTable, batches: Iterator[pa.RecordBatch], findings: OffenceCollector
) -> Iterator[pa.RecordBatch]:
    schema = content_schema(taken.entity)
    for batch in batches:
        rows = pa.Table.from_batches([batch]).select(schema.names).cast(schema)
        check_values(rows, taken.entity, findings)
        yield from rows.to_batches()
