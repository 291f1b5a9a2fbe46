"""What a load reads: records or tables, found at a path or handed over, behind one small interface."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol

from omnigraph.base import work
from omnigraph.base.events import Events, phase
from omnigraph.base.values import dataclass
from omnigraph.catalog.model import Catalog
from omnigraph.engine.interface import Engine, Watch
from omnigraph.errors import Io, Usage
from omnigraph.pipeline.load.bulk.pieces import EXPANSION, InputPiece, Piece, plan_pieces, spool_pieces
from omnigraph.pipeline.load.bulk.table_pieces import TablePiece, plan_table_pieces
from omnigraph.pipeline.load.parse import ParsedInput, parse_input
from omnigraph.pipeline.load.sources import (
    READING_INPUT,
    STDIN,
    CountedInputs,
    InputFile,
    InputStore,
    LocalInputs,
    find_inputs,
    store_of,
)
from omnigraph.pipeline.load.table_files import RowsInMemory, find_exported, find_tables, is_table_path
from omnigraph.pipeline.load.tables import ColumnMap, TableFile, parse_tables
from omnigraph.pipeline.outputs import given_path
from omnigraph.records.arrow_rows import ArrowRows, not_rows, speaks_arrow
from omnigraph.storage.scratch import Scratch

if TYPE_CHECKING:
    from omnigraph.pipeline.load.bulk.reading import LoadTask, PiecesRead

IN_MEMORY_BYTES_MAX = 8 << 20
"""Input of about one chunk is parsed, checked and written right here; more is cut into pieces for workers."""


class LoadInput(Protocol):
    """All input of one load."""

    @property
    def size_bytes(self) -> int | None:
        """How much there is as it is stored, None if that is unknown."""
        ...

    def parse(self, catalog: Catalog, *, max_errors: int, events: Events) -> ParsedInput:
        """Read and check every record on its own, in this process."""
        ...


class PieceableInput(LoadInput, Protocol):
    """Input that workers can read a part of each."""

    def fits_in_memory(self) -> bool:
        """Whether the input is so small that workers would cost more than they save."""
        ...

    def pieces(self, scratch: Scratch, *, slots: int) -> Sequence[InputPiece]:
        """Cut the input for workers."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordInput:
    """Files of records, which anybody can read as often as they like."""

    files: tuple[InputFile, ...]
    store: InputStore

    @property
    def size_bytes(self) -> int | None:
        """How much there is as it is stored."""
        return _sum([file.size_bytes for file in self.files])

    def parse(self, catalog: Catalog, *, max_errors: int, events: Events) -> ParsedInput:
        """Read and check every record on its own, in this process."""
        with _reading(events, self.size_bytes):
            return parse_input(self.files, store=CountedInputs(self.store), catalog=catalog, max_errors=max_errors)

    def fits_in_memory(self) -> bool:
        """Whether the input is so small that workers would cost more than they save."""
        expanded = ((file.size_bytes or 0) * (EXPANSION if file.codec else 1) for file in self.files)
        return sum(expanded) <= IN_MEMORY_BYTES_MAX

    def pieces(self, scratch: Scratch, *, slots: int) -> tuple[Piece, ...]:
        """Cut the files for workers."""
        del scratch
        return plan_pieces(self.files, slots=slots)


class StreamInput:
    """Records from a stream, which can be read once."""

    size_bytes: int | None = None

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._files = find_inputs(STDIN, store=LocalInputs(stream))

    def parse(self, catalog: Catalog, *, max_errors: int, events: Events) -> ParsedInput:
        """Read and check every record on its own, in this process."""
        store = LocalInputs(self._stream)
        with _reading(events, None):
            return parse_input(self._files, store=CountedInputs(store), catalog=catalog, max_errors=max_errors)

    def fits_in_memory(self) -> bool:
        """Whether the stream ends soon; what was read to find out is read again later."""
        head = self._stream.read(IN_MEMORY_BYTES_MAX + 1)
        self._stream = _Continued(head, self._stream)  # type: ignore[assignment]  # read and close are all it needs
        return len(head) <= IN_MEMORY_BYTES_MAX

    def pieces(self, scratch: Scratch, *, slots: int) -> tuple[Piece, ...]:
        """Keep the stream where workers can read it."""
        del slots
        return spool_pieces(self._files[0], self._stream, scratch)


class _Continued:
    """A stream whose beginning has been read already."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self._head = BytesIO(head)
        self._rest = rest

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes, none at the end."""
        return self._head.read(size) or self._rest.read(size)

    def close(self) -> None:
        """Close the stream."""
        self._rest.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class TableInput:
    """Tables of rows, each of one type."""

    files: tuple[TableFile, ...]
    columns: ColumnMap

    @property
    def size_bytes(self) -> int | None:
        """How much there is as it is stored, None for rows in memory."""
        return _sum([file.size_bytes for file in self.files])

    def parse(self, catalog: Catalog, *, max_errors: int, events: Events) -> ParsedInput:
        """Read and check every row on its own."""
        return parse_tables(self.files, self.columns, catalog=catalog, max_errors=max_errors, events=events)

    def fits_in_memory(self) -> bool:
        """Whether the tables are so small that workers would cost more than they save."""
        return sum(file.expanded_bytes(IN_MEMORY_BYTES_MAX) for file in self.files) <= IN_MEMORY_BYTES_MAX

    def pieces(self, scratch: Scratch, *, slots: int) -> tuple[TablePiece, ...]:
        """Cut the tables for workers; keep what only this process can read where workers can."""
        return plan_table_pieces(self.files, self.columns, scratch, slots=slots)


@contextmanager
def _reading(events: Events, total: int | None) -> Iterator[None]:
    with phase(events, READING_INPUT, total=total, unit="bytes") as reading, work.reporting(reading.advance):
        yield


AnyInput = RecordInput | StreamInput | TableInput


class HeldInput(ABC):
    """Input that an engine holds already, such as a frame: its workers read it where it is."""

    __slots__ = ()
    engine: Engine

    @abstractmethod
    def read(self, load: "LoadTask", watch: Watch) -> "PiecesRead":
        """Have all of it read and kept."""


def find_any_input(data: "str | Path | BinaryIO | ArrowRows", *, type_name: str | None, columns: ColumnMap) -> AnyInput:
    """Find what a path means, or take the rows that somebody has in memory."""
    if not speaks_arrow(data):
        if not isinstance(data, (str, Path)) and not hasattr(data, "read"):
            raise not_rows(data)
        return find_input(data, type_name=type_name, columns=columns)  # type: ignore[arg-type]  # not rows, so the rest
    if type_name is None:
        raise Usage("Rows in memory are of one type; say which with type=….", flag="--type")
    return TableInput(files=(RowsInMemory.of(data, type_name),), columns=columns)


def rows_input(rows: "ArrowRows", *, type_name: str, property_by_column: Mapping[str, str | None]) -> TableInput:
    """Take rows that somebody has in memory as those of one type; raise `Usage` for what is no table."""
    columns = ColumnMap(property_by_column=property_by_column)
    return TableInput(files=(RowsInMemory.of(rows, type_name),), columns=columns)


def find_input(data: str | Path | BinaryIO, *, type_name: str | None, columns: ColumnMap) -> AnyInput:
    """Find what a path means: tables with a type, else records, else a directory of tables per type."""
    if not isinstance(data, (str, Path)):
        if type_name is not None:
            raise Usage("A stream of bytes holds records; give the path of a table, or its rows.", flag="--type")
        return StreamInput(data)
    path = given_path(data, flag="--data")
    store = store_of(path)
    if type_name is not None:
        return TableInput(files=find_tables(path, type_name, store=store), columns=columns)
    if columns.property_by_column:
        raise Usage("--map renames the columns of a table; it needs --type.", flag="--map")
    if is_table_path(path):
        raise Usage(f"{path} is a table; say with --type which type its rows have.", flag="--type")
    try:
        return RecordInput(files=find_inputs(path, store=store), store=store)
    except Io:
        tables = find_exported(path, store=store)
        if not tables:
            raise
        return TableInput(files=tables, columns=columns)


def _sum(sizes: list[int | None]) -> int | None:
    known = [size for size in sizes if size is not None]
    return sum(known) if len(known) == len(sizes) else None
