"""Rows that wait: small partitions keep nothing but them, and whoever has seen all partitions decides about them.

If all of them together are few, they are loaded as any small input is: their keys are looked up, so nothing that this
takes follows what is stored. Otherwise small partitions are put together into pieces of useful size.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from operator import attrgetter

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.events import Events, phase
from omnigraph.base.grouping import fitted
from omnigraph.base.values import dataclass
from omnigraph.catalog.model import EntityType, TableKey
from omnigraph.engine.interface import Engine
from omnigraph.pipeline.load.bulk.pieces import LineNumbers
from omnigraph.pipeline.load.bulk.reading import LoadTask, PieceOutcome, PiecesRead, keep_piece, new_folder
from omnigraph.pipeline.load.bulk.rewriting import with_rewritten
from omnigraph.pipeline.load.inputs import IN_MEMORY_BYTES_MAX
from omnigraph.records.offences import Offences
from omnigraph.records.parse import ParsedChunk, with_place
from omnigraph.records.tables import FILE, LINE, POSITION
from omnigraph.storage.scratch import Scratch
from omnigraph.storage.store import GraphStore

_ALWAYS_BYTES = 64 << 10
"""So little is never worth data files of its own."""
_RATHER_BYTES = 1 << 20
"""So little is not worth look-ups of its own, if each goes through many rows."""
_TOGETHER_BYTES = 64 << 20


def may_wait(size_bytes: int, partition: int) -> bool:
    """Whether the rows of a partition may wait: no more than its share, if all shares together are to be few.

    Nobody tells a worker how many partitions there are, but by its own number there are at least so many.
    """
    return size_bytes <= max(IN_MEMORY_BYTES_MAX // (partition + 1), _ALWAYS_BYTES)


def would_rather_wait(load: LoadTask, size_bytes: int) -> bool:
    """Whether to look up the keys of a small partition by itself takes longer than all else about it."""
    return load.scans_much and size_bytes <= _RATHER_BYTES


def are_few(kept: PiecesRead) -> bool:
    """Whether all rows wait, and are so few that one process loads them soonest."""
    outcomes = [outcome for outcome in kept.outcomes if outcome.tables]
    return (
        all(outcome.held_bytes for outcome in outcomes)
        and sum(outcome.held_bytes for outcome in outcomes) <= IN_MEMORY_BYTES_MAX
    )


def read_few(kept: PiecesRead, places: LineNumbers, store: GraphStore) -> dict[TableKey, pa.Table]:
    """Return the rows that wait, by type, numbered through over all pieces of a file."""
    parts: dict[TableKey, list[pa.Table]] = defaultdict(list)
    scratch = Scratch(store, kept.load.operation_id)
    for outcome in kept.outcomes:
        before = places.lines_before(outcome.ordinal)
        index = places.file_index(outcome.ordinal)
        for key, rows in _waiting(kept.load, scratch, outcome, before, file_index=index).items():
            parts[key].append(rows)
    return {key: pa.concat_tables(parts[key]) for key in sorted(parts)}


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldTask:
    """Pieces that follow each other, to become one under the number of the first."""

    load: LoadTask
    outcomes: tuple[PieceOutcome, ...]

    @property
    def held_bytes(self) -> int:
        """How large they are together."""
        return sum(outcome.held_bytes for outcome in self.outcomes)


def keep_held(task: HeldTask) -> PieceOutcome:
    """Do with pieces that waited what is done with others at once."""
    load = task.load
    scratch = load.scratch.open()
    first = task.outcomes[0].ordinal
    outcome = keep_piece(load, scratch, first, _chunks(task, scratch, first), folder=new_folder())
    return with_rewritten(load, scratch, outcome)


def put_together(engine: Engine, kept: PiecesRead, events: Events) -> PiecesRead:
    """Let no piece wait any longer."""
    tasks = list(_tasks(kept))
    if not tasks:
        return kept
    weights = [task.held_bytes for task in tasks]
    with phase(events, "putting small partitions together", total=sum(weights), unit="bytes") as putting:
        done = list(engine.map(keep_held, tasks, weights=weights, watch=putting.reach))
    outcomes = [*done, *(outcome for outcome in kept.outcomes if not outcome.held_bytes)]
    ordinals = {outcome.ordinal for outcome in outcomes}
    return PiecesRead.of(kept.load, [piece for piece in kept.pieces if piece.ordinal in ordinals], outcomes)


def _tasks(kept: PiecesRead) -> Iterator[HeldTask]:
    """Put those together that wait and follow each other in one file."""
    file_by_ordinal = {piece.ordinal: piece.file.index for piece in kept.pieces}
    runs = groupby(kept.outcomes, lambda outcome: (file_by_ordinal[outcome.ordinal], outcome.held_bytes > 0))
    for (_, waits), outcomes in runs:
        for group in fitted(outcomes, (attrgetter("held_bytes"), _TOGETHER_BYTES)) if waits else ():
            yield _task(kept.load, group)


def _task(load: LoadTask, group: Sequence[PieceOutcome]) -> HeldTask:
    folders = {outcome.ordinal: outcome.folder for outcome in group}
    return HeldTask(load=replace(load, folder_by_piece=folders), outcomes=tuple(group))


def _chunks(task: HeldTask, scratch: Scratch, first: int) -> Iterator[ParsedChunk]:
    before = 0
    for outcome in task.outcomes:
        tables = _waiting(task.load, scratch, outcome, before, file_index=first)
        yield ParsedChunk(tables=tables, findings=Offences(), line_count=outcome.lines)
        before += outcome.lines


def _waiting(
    load: LoadTask, scratch: Scratch, outcome: PieceOutcome, lines_before: int, *, file_index: int
) -> dict[TableKey, pa.Table]:
    if not outcome.held_bytes:
        return {}
    found = scratch.read_tables(load.held_name(outcome.ordinal))
    return {
        key: _moved(found[key], entity, lines_before, file_index)
        for key, entity in load.catalog.type_by_table_key.items()
        if key in found
    }


def _moved(rows: pa.Table, entity: EntityType, lines_before: int, file_index: int) -> pa.Table:
    """Give rows another place in the input."""
    lines = pc.add(rows[LINE], pa.scalar(lines_before, pa.uint64()))
    rows = rows.set_column(rows.schema.get_field_index(LINE), LINE, lines)
    return with_place(rows.drop_columns([POSITION, FILE]), entity, file_index)
