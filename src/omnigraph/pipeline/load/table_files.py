"""Finding and opening table files: the extension tells the format, a directory holds one format or one type each."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field
from pathlib import PurePosixPath

import pyarrow as pa

from omnigraph.base.units import shorten
from omnigraph.base.values import dataclass
from omnigraph.errors import Io, Usage
from omnigraph.pipeline.load.sources import InputStore, StoredFile, find_files
from omnigraph.pipeline.load.table_formats import (
    SUFFIXES,
    TablePart,
    format_named,
    format_of_file,
    is_directory_table,
)
from omnigraph.records.arrow_rows import ArrowRows, arrow_reader

_KINDS = ("node", "edge")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTable:
    """One table file, or one Lance dataset."""

    name: str
    path: str
    type_name: str
    format: str
    size_bytes: int | None
    store: InputStore = field(repr=False)

    @property
    def is_text(self) -> bool:
        """Whether all cells are text."""
        return format_named(self.format).is_text

    def expanded_bytes(self, limit: int) -> int:
        """Return how large the rows are in memory, roughly."""
        del limit
        return format_named(self.format).expanded_bytes(self)

    def batches(self, part: TablePart | None = None) -> Iterator[pa.RecordBatch]:
        """Read the table from its first row, or a part of it; raise `Io` if it is not what its name says."""
        with self._reading():
            yield from format_named(self.format).batches(self, part)

    def parts(self, part_bytes: int) -> tuple[TablePart, ...]:
        """Cut the table into parts of about this size; none if it can only be read from its first row."""
        with self._reading():
            return format_named(self.format).parts(self, part_bytes)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except (OSError, UnicodeDecodeError, pa.ArrowException) as error:
            raise Io(
                f"Cannot read {self.path} as {self.format}: {shorten(str(error))}. Nothing was loaded.", path=self.path
            ) from error


class RowsInMemory:
    """A table that a Python program hands over; a stream can be read once."""

    name = "<rows>"
    is_text = False

    def __init__(self, reader: pa.RecordBatchReader, *, type_name: str, size_bytes: int | None = None) -> None:
        self.type_name = type_name
        self.size_bytes = size_bytes
        self._reader = reader
        self._seen: list[pa.RecordBatch] = []

    @classmethod
    def of(cls, rows: ArrowRows, type_name: str) -> "RowsInMemory":
        """Take anything that speaks Arrow: tables, batches, readers, and the frames of other libraries."""
        size_bytes = rows.nbytes if isinstance(rows, (pa.Table, pa.RecordBatch)) else None
        return cls(arrow_reader(rows), type_name=type_name, size_bytes=size_bytes)

    def expanded_bytes(self, limit: int) -> int:
        """Return how large the rows are, as far as the limit; what was read to find out is read again later."""
        size: int = sum(batch.nbytes for batch in self._seen)
        while size <= limit:
            batch = next(self._reader, None)
            if batch is None:
                break
            self._seen.append(batch)
            size += batch.nbytes
        return size

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Read the rows."""
        while self._seen:
            yield self._seen.pop(0)
        yield from self._reader


def find_tables(path: str, type_name: str, *, store: InputStore) -> tuple[StoredTable, ...]:
    """Find the tables of one type at `path`: a file, a pattern, a directory of one format; raise `Io` for none."""
    tables = tuple(
        _table(name, file, form, type_name, store)
        for name, file in _datasets_and_files(path, store)
        if (form := format_of_file(name)) is not None
    )
    if not tables:
        endings = f"{', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}"
        raise Io(f"No table found at {path}: a table ends in {endings}.", path=path)
    formats = sorted({table.format for table in tables})
    if len(formats) > 1:
        raise Usage(
            f"{path} holds {' and '.join(formats)}; with --type a directory must hold one format.", flag="--data"
        )
    return tables


def find_exported(path: str, *, store: InputStore) -> tuple[StoredTable, ...]:
    """Find the tables of a directory of `node/<Type>/…` and `edge/<Type>/…`; none if it is not laid out like that."""
    tables = []
    for name, file in _datasets_and_files(path, store):
        kind, _, rest = name.partition("/")
        type_name, slash, _ = rest.partition("/")
        form = format_of_file(name)
        if slash and kind in _KINDS and form is not None:
            tables.append(_table(name, file, form, f"{kind}:{type_name}", store))
    return tuple(tables)


def is_table_path(path: str) -> bool:
    """Tell whether a path names a table by its extension."""
    return format_of_file(path.rstrip("/")) is not None


def _table(name: str, file: StoredFile, form: str, type_name: str, store: InputStore) -> StoredTable:
    return StoredTable(
        name=name,
        path=file.path,
        type_name=type_name,
        format=form,
        size_bytes=file.size_bytes,
        store=store,
    )


def _datasets_and_files(path: str, store: InputStore) -> list[tuple[str, StoredFile]]:
    """List the files at `path` by relative name, in byte order, with the files of one Lance dataset taken together."""
    plain = path.rstrip("/")
    if is_directory_table(plain):
        size = sum(file.size_bytes for file in store.list(plain))
        return [(PurePosixPath(plain).name, StoredFile(path=plain, size_bytes=size))] if size else []
    found: dict[str, StoredFile] = {}
    for name, file in find_files(path, store=store, accepts=lambda _: True):
        parts = name.split("/")
        at = next((place for place, part in enumerate(parts) if is_directory_table(part)), None)
        if any(part.startswith((".", "_")) for part in parts[:at]):
            continue
        root = name if at is None else "/".join(parts[: at + 1])
        below = len(name) - len(root)
        size = file.size_bytes + (found[root].size_bytes if root in found else 0)
        found[root] = StoredFile(path=file.path[: len(file.path) - below], size_bytes=size)
    return sorted(found.items(), key=lambda item: item[0].encode(errors="surrogateescape"))
