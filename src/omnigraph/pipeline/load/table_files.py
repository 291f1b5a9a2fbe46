"""Finding and opening table files: the extension tells the format, a directory holds one format or one type each."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from pathlib import PurePosixPath
from typing import Any

import pyarrow as pa

from omnigraph.base.grouping import fitted
from omnigraph.base.units import shorten
from omnigraph.base.values import dataclass
from omnigraph.errors import Io, OmniError, Usage
from omnigraph.pipeline.load.csv_text import CheckedCsv, CsvProblem, header_problem, ragged
from omnigraph.pipeline.load.sources import InputStore, StoredFile, find_files
from omnigraph.records.arrow_rows import ArrowRows, arrow_reader
from omnigraph.records.report import rejected
from omnigraph.storage.foreign import ForeignDataset

_FORMAT_BY_SUFFIX = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".csv.gz": "csv",
    ".arrow": "arrow",
    ".feather": "arrow",
}
_LANCE = ".lance"
_CSV_BLOCK_BYTES = 8 << 20
"""What Arrow parses at once; no row may be longer."""
_KINDS = ("node", "edge")


_EXPANSION = {"parquet": 8, "lance": 4}
"""How much larger than their stored form the rows of a format are taken to be; text that is packed counts as eight."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TablePart:
    """Units of a table that can be read on their own: row groups, record batches, fragments of one version."""

    units: tuple[int, ...]
    version: int | None = None


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

    def expanded_bytes(self, limit: int) -> int:
        """Return how large the rows are in memory, roughly."""
        del limit
        factor = 8 if self.path.endswith(".gz") else _EXPANSION.get(self.format, 1)
        return (self.size_bytes or 0) * factor

    def batches(self, part: TablePart | None = None) -> Iterator[pa.RecordBatch]:
        """Read the table from its first row, or a part of it; raise `Io` if it is not what its name says."""
        with self._reading():
            match self.format:
                case "parquet":
                    yield from self._parquet(part)
                case "csv":
                    yield from self._csv()
                case "arrow":
                    yield from self._arrow(part)
                case _:
                    version, fragments = (part.version, part.units) if part else (None, None)
                    yield from ForeignDataset(self.path, version).scan(fragments)

    def parts(self, part_bytes: int) -> tuple[TablePart, ...]:
        """Cut the table into parts of about this size; none if it can only be read from its first row."""
        with self._reading():
            match self.format:
                case "parquet":
                    return _grouped(self._row_group_bytes(), part_bytes)
                case "arrow":
                    count = self._batch_count()
                    return _grouped(dict.fromkeys(range(count), (self.size_bytes or 0) // max(count, 1)), part_bytes)
                case "lance":
                    dataset = ForeignDataset(self.path)
                    rows = dataset.rows_by_fragment()
                    row_bytes = self.expanded_bytes(0) / max(sum(rows.values()), 1)
                    sizes = {unit: round(count * row_bytes) for unit, count in rows.items()}
                    return _grouped(sizes, part_bytes, version=dataset.version)
                case _:
                    return ()

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except (OSError, UnicodeDecodeError, pa.ArrowException) as error:
            raise Io(
                f"Cannot read {self.path} as {self.format}: {shorten(str(error))}. Nothing was loaded.", path=self.path
            ) from error

    def _parquet(self, part: TablePart | None) -> Iterator[pa.RecordBatch]:
        import pyarrow.parquet as pq

        with self.store.open(self.path) as stream, pq.ParquetFile(stream) as file:
            yield from file.iter_batches(row_groups=part and list(part.units))

    def _row_group_bytes(self) -> dict[int, int]:
        import pyarrow.parquet as pq

        with self.store.open(self.path) as stream, pq.ParquetFile(stream) as file:
            return {unit: file.metadata.row_group(unit).total_byte_size for unit in range(file.num_row_groups)}

    def _arrow(self, part: TablePart | None) -> Iterator[pa.RecordBatch]:
        with self.store.open(self.path) as stream:
            try:
                file = pa.ipc.open_file(stream)
            except pa.ArrowInvalid:
                stream.seek(0)
                yield from pa.ipc.open_stream(stream)
                return
            for index in part.units if part else range(file.num_record_batches):
                yield file.get_batch(index)

    def _batch_count(self) -> int:
        with self.store.open(self.path) as stream:
            try:
                return int(pa.ipc.open_file(stream).num_record_batches)
            except pa.ArrowInvalid:
                return 0

    def _csv(self) -> Iterator[pa.RecordBatch]:
        if self.size_bytes == 0:
            return
        names = self._column_names()
        wrong: list[Any] = []

        def refuse(row: Any) -> str:
            wrong.append(row)
            return "error"

        with self._bytes() as stream:
            checked = CheckedCsv(stream)
            try:
                yield from _open_csv(checked, names=names, refuse=refuse)
            except pa.ArrowInvalid as error:
                # Arrow stumbles over the first row that a missing quote runs into; the quote is what to tell.
                if problem := checked.look_at_rest():
                    raise self._rejected(problem) from error
                if wrong:
                    # The header is Arrow's first row, and the first row of data is ours.
                    row = wrong[0]
                    problem = ragged(row.number - 1, cells=row.actual_columns, columns=row.expected_columns)
                    raise self._rejected(problem) from error
                raise
            if problem := checked.look_at_rest():
                raise self._rejected(problem)

    def _column_names(self) -> list[str]:
        with self._bytes() as stream:
            checked = CheckedCsv(stream)
            try:
                names = list(_open_csv(checked, names=(), refuse=lambda _: "skip").schema.names)
            except (pa.ArrowInvalid, UnicodeDecodeError) as error:
                if problem := checked.look_at_rest():
                    raise self._rejected(problem) from error
                raise
        if problem := checked.problem or header_problem(checked.head, names):
            raise self._rejected(problem)
        return names

    def _bytes(self) -> Any:
        stream = self.store.open(self.path)
        return pa.CompressedInputStream(stream, "gzip") if self.path.endswith(".gz") else stream

    def _rejected(self, problem: CsvProblem) -> OmniError:
        return rejected(problem.findings(), files=(self.name,))


def _open_csv(stream: Any, *, names: Sequence[str], refuse: Callable[[Any], str]) -> pa.RecordBatchReader:
    """Read cells of the named columns as text; an empty cell is null unless it is quoted."""
    import pyarrow.csv as pa_csv

    return pa_csv.open_csv(
        stream,
        read_options=pa_csv.ReadOptions(use_threads=False, block_size=_CSV_BLOCK_BYTES),
        parse_options=pa_csv.ParseOptions(newlines_in_values=True, invalid_row_handler=refuse),
        convert_options=pa_csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.utf8()),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )


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


def _grouped(bytes_by_unit: Mapping[int, int], part_bytes: int, *, version: int | None = None) -> tuple[TablePart, ...]:
    """Put neighbouring units together until they have the size of a part."""
    groups = fitted(bytes_by_unit, (bytes_by_unit.__getitem__, part_bytes))
    return tuple(TablePart(units=group, version=version) for group in groups)


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
