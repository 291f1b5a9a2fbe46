"""Tables as pieces: row groups, record batches or fragments that a worker reads by itself, or rows kept for it.

A table that can only be read from its first row, such as a large CSV file or rows that a program hands over, is copied
to where workers can read it, a piece at a time. Its cells are still typed and checked by the workers.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from operator import attrgetter
from pathlib import Path

import pyarrow as pa

from omnigraph.base.grouping import grouped
from omnigraph.base.values import dataclass
from omnigraph.catalog.model import Catalog
from omnigraph.catalog.type_names import find_entity
from omnigraph.pipeline.load.bulk.pieces import PIECE_BYTES_MAX, piece_bytes
from omnigraph.pipeline.load.sources import CountedInputs, InputFile, store_of
from omnigraph.pipeline.load.table_files import StoredTable
from omnigraph.pipeline.load.table_formats import TablePart
from omnigraph.pipeline.load.tables import ColumnMap, RowsOfType, TableFile
from omnigraph.records.parse import ParsedChunk
from omnigraph.storage.scratch import Scratch
from omnigraph.storage.uris import is_bucket_uri


@dataclass(frozen=True, slots=True, kw_only=True)
class TablePiece:
    """What one task reads of a table: a part, everything, or rows that were kept under a name."""

    ordinal: int
    file: InputFile
    type_name: str
    format: str
    columns: ColumnMap
    is_text: bool
    """Whether all cells are text."""
    is_start: bool
    """Whether it begins with the first row of its table."""
    part: TablePart | None = None
    spooled_as: str | None = None
    input_bytes: int = 0
    stored_bytes: int = 0
    """How much of its file it is, as that is stored; every part of a file counts the same."""

    def parse(self, catalog: Catalog, scratch: Scratch, *, max_errors: int) -> Iterator[ParsedChunk]:
        """Yield the records that the rows mean."""
        rows = RowsOfType(
            entity=find_entity(catalog, self.type_name),
            columns=self.columns,
            name=self.file.name,
            is_text=self.is_text,
        )
        yield from rows.parse(
            self._batches(scratch), file_index=self.ordinal, max_errors=max_errors, is_start=self.is_start
        )

    def _batches(self, scratch: Scratch) -> Iterator[pa.RecordBatch]:
        if self.spooled_as is not None:
            yield from scratch.read_table(self.spooled_as).to_batches()
            return
        table = StoredTable(
            name=self.file.name,
            path=self.file.path,
            type_name=self.type_name,
            format=self.format,
            size_bytes=self.file.size_bytes,
            store=CountedInputs(store_of(self.file.path)),
        )
        yield from table.batches(self.part)


def plan_table_pieces(
    tables: Sequence[TableFile], columns: ColumnMap, scratch: Scratch, *, slots: int
) -> tuple[TablePiece, ...]:
    """Cut tables into pieces of useful size, in their order and in the order of their rows."""
    size = piece_bytes(sum(table.expanded_bytes(PIECE_BYTES_MAX) for table in tables), slots=slots)
    pieces: list[TablePiece] = []
    for index, table in enumerate(tables):
        found = list(_pieces_of(table, index, columns, scratch, size))
        share = size if table.size_bytes is None else table.size_bytes // max(1, len(found))
        for piece in found:
            pieces.append(replace(piece, ordinal=len(pieces), input_bytes=size, stored_bytes=share))
    return tuple(pieces)


def _pieces_of(table: TableFile, index: int, columns: ColumnMap, scratch: Scratch, size: int) -> Iterator[TablePiece]:
    path = table.path if isinstance(table, StoredTable) else table.name
    if isinstance(table, StoredTable) and not is_bucket_uri(path):
        path = str(Path(path).absolute())
    whole = TablePiece(
        ordinal=0,
        file=InputFile(index=index, name=table.name, path=path, size_bytes=table.size_bytes),
        type_name=table.type_name,
        format=table.format if isinstance(table, StoredTable) else "rows",
        columns=columns,
        is_text=table.is_text,
        is_start=True,
    )
    parts = table.parts(size) if isinstance(table, StoredTable) else ()
    if parts:
        for part in parts:
            yield replace(whole, part=part, is_start=part is parts[0])
    elif isinstance(table, StoredTable) and table.expanded_bytes(size) <= size:
        yield whole
    else:
        counted = replace(table, store=CountedInputs(table.store)) if isinstance(table, StoredTable) else table
        for number, rows in enumerate(_spools(counted.batches(), size)):
            name = f"input-{index}-{number}"
            scratch.write_table(name, rows)
            yield replace(whole, spooled_as=name, is_start=number == 0)


def _spools(batches: Iterable[pa.RecordBatch], size: int) -> Iterator[pa.Table]:
    """Put batches together until they have the size of a piece; a larger batch is cut."""
    for group in grouped(_slices(batches, size), (attrgetter("nbytes"), size)):
        yield pa.Table.from_batches(group)


def _slices(batches: Iterable[pa.RecordBatch], size: int) -> Iterator[pa.RecordBatch]:
    for whole in batches:
        rows = max(1, whole.num_rows * size // max(whole.nbytes, 1))
        for start in range(0, whole.num_rows, rows):
            yield whole.slice(start, rows)
