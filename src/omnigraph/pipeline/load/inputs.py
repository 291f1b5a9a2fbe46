"""What a load reads: records or tables, found at a path or handed over, behind one small interface."""

from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

from omnigraph.base.events import Events
from omnigraph.catalog.model import Catalog
from omnigraph.errors import Io, Usage
from omnigraph.pipeline.load.parse import ParsedInput, parse_input
from omnigraph.pipeline.load.places import store_of
from omnigraph.pipeline.load.sources import STDIN, InputFile, InputStore, LocalInputs, find_inputs
from omnigraph.pipeline.load.table_files import find_exported, find_tables, is_table_path
from omnigraph.pipeline.load.tables import ColumnMap, TableFile, parse_tables


class LoadInput(Protocol):
    """All input of one load."""

    @property
    def size_bytes(self) -> int | None:
        """How much there is as it is stored, None if that is unknown."""
        ...

    def parse(self, catalog: Catalog, *, max_errors: int, events: Events) -> ParsedInput:
        """Read and check every record on its own."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordInput:
    """Files of records."""

    files: tuple[InputFile, ...]
    store: InputStore

    @property
    def size_bytes(self) -> int | None:
        """How much there is as it is stored, None for a stream."""
        return _sum([file.size_bytes for file in self.files])

    def parse(self, catalog: Catalog, *, max_errors: int, events: Events) -> ParsedInput:
        """Read and check every record on its own."""
        return parse_input(self.files, store=self.store, catalog=catalog, max_errors=max_errors, events=events)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableInput:
    """Tables of rows, each of one type."""

    files: tuple[TableFile, ...]
    columns: ColumnMap

    @property
    def size_bytes(self) -> int | None:
        """How much there is as it is stored, None for a stream."""
        return _sum([file.size_bytes for file in self.files])

    def parse(self, catalog: Catalog, *, max_errors: int, events: Events) -> ParsedInput:
        """Read and check every row on its own."""
        return parse_tables(self.files, self.columns, catalog=catalog, max_errors=max_errors, events=events)


def find_input(data: str | Path | BinaryIO, *, type_name: str | None, columns: ColumnMap) -> LoadInput:
    """Find what a path means: tables with a type, else records, else a directory of tables per type."""
    if not isinstance(data, (str, Path)):
        if type_name is not None:
            raise Usage("A stream of bytes holds records; give the path of a table, or its rows.", flag="--type")
        stream = LocalInputs(data)
        return RecordInput(files=find_inputs(STDIN, store=stream), store=stream)
    path = str(data)
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
