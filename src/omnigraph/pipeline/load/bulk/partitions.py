"""Partitions of a frame as pieces of a load: whoever holds the rows keeps them, and the frame is read once.

A partition may be computed twice, and with other rows the second time. Each attempt therefore has a folder of its own
in the scratch, and only the outcome that comes back says which folder counts.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter

import pyarrow as pa

from omnigraph.base import work
from omnigraph.base.grouping import grouped
from omnigraph.base.values import dataclass
from omnigraph.catalog.model import TableKey
from omnigraph.catalog.type_names import find_entity
from omnigraph.errors import Usage
from omnigraph.pipeline.load.bulk.held import may_wait, would_rather_wait
from omnigraph.pipeline.load.bulk.lookups import asked_columns
from omnigraph.pipeline.load.bulk.reading import LoadTask, PieceOutcome, PiecesRead, keep_piece, new_folder
from omnigraph.pipeline.load.bulk.rewriting import with_rewritten
from omnigraph.pipeline.load.bulk.set_aside import SetAside, Sieve
from omnigraph.pipeline.load.record_lines import RecordLines
from omnigraph.pipeline.load.sources import InputFile
from omnigraph.pipeline.load.tables import ColumnMap, RowsOfType
from omnigraph.storage.scratch import Scratch

PIECES_PER_PARTITION = 128
PARTITIONS_MAX = 1 << 16
"""Places of records are numbers of 63 bits, 40 of them for the row: this is what is left."""

PIECE_BYTES = 64 << 20
"""What a worker holds in memory, and what becomes one data file; an Arrow batch counts with its buffers."""

_LARGER = 2
"""How many times as large a piece is if a look-up takes long whatever it asks for."""

FRAME_NAME = "<frame>"


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameTask:
    """What is the same for all partitions of a frame."""

    load: LoadTask
    rows: RowsOfType | RecordLines
    sets_aside: bool = False
    """Whether bad records are written down and left out (`set_aside.py`), instead of rejecting the load."""
    first_ordinal: int = 0
    """Where the pieces of the frame begin among those of all frames of the load."""

    @classmethod
    def of(
        cls,
        load: LoadTask,
        type_name: str | None,
        columns: ColumnMap,
        names: Sequence[str],
        *,
        frame_name: str = FRAME_NAME,
    ) -> "FrameTask":
        """Find the type, and refuse a frame whose columns it does not have; without one, rows are whole records."""
        rows: RowsOfType | RecordLines
        if type_name is None:
            rows = RecordLines(catalog=load.catalog, name=frame_name)
        else:
            rows = RowsOfType(entity=find_entity(load.catalog, type_name), columns=columns, name=frame_name)
        rows.check_columns(names, max_errors=load.max_errors)
        return cls(load=load, rows=rows)

    @property
    def asked_columns(self) -> frozenset[tuple[TableKey, str]]:
        """Where keys of what comes are looked up: with whole records, in all types."""
        catalog = self.load.catalog
        types = [self.rows.entity] if isinstance(self.rows, RowsOfType) else catalog.type_by_table_key.values()
        return frozenset(asked for entity in types for asked in asked_columns(catalog, entity, self.load.mode))


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionOutcome:
    """What became of one partition."""

    outcomes: tuple[PieceOutcome, ...]
    set_aside: SetAside | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionPiece:
    """A part of a partition; rows are numbered in the order of partitions."""

    ordinal: int
    file: InputFile


def kept_frame(load: LoadTask, partitions: Sequence[PartitionOutcome]) -> PiecesRead:
    """Put the partitions of a frame together, as a load goes on with them."""
    return kept_frames(load, {FRAME_NAME: partitions})


def kept_frames(load: LoadTask, partitions_by_frame: Mapping[str, Sequence[PartitionOutcome]]) -> PiecesRead:
    """Put the partitions of several frames together, each under the name that errors call it by."""
    outcomes: list[PieceOutcome] = []
    pieces: list[PartitionPiece] = []
    for index, (name, partitions) in enumerate(partitions_by_frame.items()):
        file = InputFile(index=index, name=name, path=name, size_bytes=None)
        kept = [outcome for partition in partitions for outcome in partition.outcomes]
        outcomes += kept
        pieces += [PartitionPiece(ordinal=outcome.ordinal, file=file) for outcome in kept]
    return PiecesRead.of(load, sorted(pieces, key=lambda piece: piece.ordinal), outcomes)


def first_ordinal_behind(partitions: Sequence[PartitionOutcome]) -> int:
    """Return where the pieces of a next frame may begin; 0 behind a frame without rows."""
    used = [outcome.ordinal // PIECES_PER_PARTITION + 1 for kept in partitions for outcome in kept.outcomes]
    return max(used, default=0) * PIECES_PER_PARTITION


def keep_partition(task: FrameTask, partition: int, batches: Iterable[pa.RecordBatch]) -> PartitionOutcome:
    """Check the rows of one partition and write what can be written without looking at the graph.

    A failure leaves nothing in the scratch.
    """
    first = task.first_ordinal + partition * PIECES_PER_PARTITION
    if first >= PARTITIONS_MAX * PIECES_PER_PARTITION:
        raise Usage(f"The frames of a load have more than {PARTITIONS_MAX} partitions; coalesce them to fewer.")
    folder = new_folder()
    scratch = task.load.scratch.open()
    sieve = Sieve(task.rows, partition=partition) if task.sets_aside else None
    try:
        if sieve is not None:
            batches = sieve.sound(batches)
        outcomes = tuple(_keep_each(task, scratch, folder, first, batches))
        set_aside = sieve.keep(scratch, f"{folder}bad") if sieve is not None else None
    except BaseException:
        scratch.clear(folder)
        raise
    return PartitionOutcome(outcomes=outcomes, set_aside=set_aside)


def _keep_each(
    task: FrameTask, scratch: Scratch, folder: str, first: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[PieceOutcome]:
    load, rows = task.load, task.rows
    piece_bytes = PIECE_BYTES * (_LARGER if load.scans_much else 1)
    for number, group in enumerate(grouped(_counted(batches), (attrgetter("nbytes"), piece_bytes))):
        if number == PIECES_PER_PARTITION:
            size = f"{PIECES_PER_PARTITION * piece_bytes >> 30} GiB"
            raise Usage(f"A partition of the frame holds more than {size}; repartition it into more.")
        ordinal = first + number
        # Columns are checked once, by who knows the frame's schema.
        chunks = rows.parse(group, file_index=ordinal, max_errors=load.max_errors, is_start=False)
        size_bytes = sum(batch.nbytes for batch in group)
        is_all = number == 0 and size_bytes < piece_bytes
        waits = is_all and (would_rather_wait(load, size_bytes) or may_wait(size_bytes, first // PIECES_PER_PARTITION))
        outcome = keep_piece(load, scratch, ordinal, chunks, folder=folder, waits=waits)
        yield outcome if waits else with_rewritten(load, scratch, outcome)


def _counted(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the batches that have rows, and say how many they are."""
    for batch in batches:
        if batch.num_rows:
            work.did(batch.num_rows)
            yield batch
