"""Finding and opening table files: the extension tells the format, a directory holds one format or one type each."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, Protocol, TypeAlias

import pyarrow as pa

from omnigraph.base.units import shorten
from omnigraph.errors import InvalidRecord, Io, Usage
from omnigraph.pipeline.load.sources import InputStore, StoredFile, find_files
from omnigraph.storage.foreign import ForeignDataset

_FORMAT_BY_SUFFIX = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".csv.gz": "csv",
    ".arrow": "arrow",
    ".feather": "arrow",
}
_LANCE = ".lance"
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
        return self.format == "csv"

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Read the table from its first row; raise `Io` if it is not what its name says."""
        try:
            match self.format:
                case "parquet":
                    yield from self._parquet()
                case "csv":
                    yield from self._csv()
                case "arrow":
                    yield from self._arrow()
                case _:
                    yield from ForeignDataset(self.path).scan()
        except (OSError, UnicodeDecodeError, pa.ArrowException) as error:
            raise Io(
                f"Cannot read {self.path} as {self.format}: {shorten(str(error))}. Nothing was loaded.", path=self.path
            ) from error

    def _parquet(self) -> Iterator[pa.RecordBatch]:
        import pyarrow.parquet as pq

        with self.store.open(self.path) as stream, pq.ParquetFile(stream) as file:
            yield from file.iter_batches()

    def _arrow(self) -> Iterator[pa.RecordBatch]:
        with self.store.open(self.path) as stream:
            try:
                file = pa.ipc.open_file(stream)
            except pa.ArrowInvalid:
                stream.seek(0)
                yield from pa.ipc.open_stream(stream)
                return
            for index in range(file.num_record_batches):
                yield file.get_batch(index)

    def _csv(self) -> Iterator[pa.RecordBatch]:
        if self.size_bytes == 0:
            return
        with self._bytes() as stream:
            names = _open_csv(stream, names=(), refuse=lambda _: "skip").schema.names
        wrong: list[Any] = []

        def refuse(row: Any) -> str:
            wrong.append(row)
            return "error"

        with self._bytes() as stream:
            try:
                yield from _open_csv(stream, names=names, refuse=refuse)
            except pa.ArrowInvalid as error:
                if wrong:
                    raise self._ragged(wrong[0]) from error
                raise

    def _bytes(self) -> Any:
        stream = self.store.open(self.path)
        return pa.CompressedInputStream(stream, "gzip") if self.path.endswith(".gz") else stream

    def _ragged(self, row: Any) -> InvalidRecord:
        # The header is Arrow's first row, and the first row of data is ours.
        message = f"the row has {row.actual_columns} cells, the header {row.expected_columns}"
        entry = {"file": self.name, "line": row.number - 1, "code": "bad_envelope", "message": message}
        return InvalidRecord(
            f"load rejected: 1 error in 1 file; first: {self.name}:{row.number - 1}: {message}",
            file=self.name,
            line=row.number - 1,
            total_errors=1,
            by_code={"bad_envelope": 1},
            errors=[entry],
        )


def _open_csv(stream: Any, *, names: Sequence[str], refuse: Callable[[Any], str]) -> pa.RecordBatchReader:
    """Read cells of the named columns as text; an empty cell is null unless it is quoted."""
    import pyarrow.csv as pa_csv

    return pa_csv.open_csv(
        stream,
        read_options=pa_csv.ReadOptions(use_threads=False),
        parse_options=pa_csv.ParseOptions(newlines_in_values=True, invalid_row_handler=refuse),
        convert_options=pa_csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.utf8()),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )


class ArrowStream(Protocol):
    """What frames of other libraries have that speak Arrow."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


ArrowRows: TypeAlias = pa.Table | pa.RecordBatch | pa.RecordBatchReader | ArrowStream


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsInMemory:
    """A table that a Python program hands over; a stream can be read once."""

    type_name: str
    reader: pa.RecordBatchReader = field(repr=False)
    name: str = "<rows>"
    is_text: bool = False
    size_bytes: int | None = None

    @classmethod
    def of(cls, rows: ArrowRows, type_name: str) -> "RowsInMemory":
        """Take anything that speaks Arrow: tables, batches, readers, and the frames of other libraries."""
        if isinstance(rows, pa.RecordBatch):
            rows = pa.Table.from_batches([rows])
        if isinstance(rows, pa.Table):
            return cls(type_name=type_name, reader=rows.to_reader(), size_bytes=rows.nbytes)
        if isinstance(rows, pa.RecordBatchReader):
            return cls(type_name=type_name, reader=rows)
        if hasattr(rows, "__arrow_c_stream__"):
            return cls(type_name=type_name, reader=pa.RecordBatchReader.from_stream(rows))
        raise Usage(f"Rows must be an Arrow table, a reader or a frame that speaks Arrow, not {type(rows).__name__}.")

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Read the rows."""
        yield from self.reader


def find_tables(path: str, type_name: str, *, store: InputStore) -> tuple[StoredTable, ...]:
    """Find the tables of one type at `path`: a file, a pattern, a directory of one format; raise `Io` for none."""
    tables = tuple(
        _table(name, file, type_name, store) for name, file in _datasets_and_files(path, store) if _format(name)
    )
    if not tables:
        raise Io(
            f"No table found at {path}: a table ends in .parquet, .csv, .csv.gz, .arrow, .feather or .lance.", path=path
        )
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
        if slash and kind in _KINDS and _format(name):
            tables.append(_table(name, file, f"{kind}:{type_name}", store))
    return tuple(tables)


def is_table_path(path: str) -> bool:
    """Tell whether a path names a table by its extension."""
    return _format(path.rstrip("/")) is not None


def _format(name: str) -> str | None:
    if name.endswith(_LANCE):
        return "lance"
    suffixes = PurePosixPath(name).suffixes
    return _FORMAT_BY_SUFFIX.get("".join(suffixes[-2:])) or _FORMAT_BY_SUFFIX.get("".join(suffixes[-1:]))


def _table(name: str, file: StoredFile, type_name: str, store: InputStore) -> StoredTable:
    return StoredTable(
        name=name,
        path=file.path,
        type_name=type_name,
        format=_format(name) or "",
        size_bytes=file.size_bytes,
        store=store,
    )


def _datasets_and_files(path: str, store: InputStore) -> list[tuple[str, StoredFile]]:
    """List the files at `path` by relative name, in byte order, with the files of one Lance dataset taken together."""
    plain = path.rstrip("/")
    if plain.endswith(_LANCE):
        size = sum(file.size_bytes for file in store.list(plain))
        return [(PurePosixPath(plain).name, StoredFile(path=plain, size_bytes=size))] if size else []
    found: dict[str, StoredFile] = {}
    for name, file in find_files(path, store=store, accepts=lambda _: True):
        parts = name.split("/")
        at = next((place for place, part in enumerate(parts) if part.endswith(_LANCE)), None)
        if any(part.startswith((".", "_")) for part in parts[:at]):
            continue
        root = name if at is None else "/".join(parts[: at + 1])
        below = len(name) - len(root)
        size = file.size_bytes + (found[root].size_bytes if root in found else 0)
        found[root] = StoredFile(path=file.path[: len(file.path) - below], size_bytes=size)
    return sorted(found.items(), key=lambda item: item[0].encode(errors="surrogateescape"))
