"""The formats of table files: the one place where a format that loads read is declared.

A format says how its files are called, how their rows are read, and how they are cut for workers. `table_files.py`
finds the files; everything behind it sees rows.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, Final, Protocol

import pyarrow as pa

from omnigraph.base.grouping import fitted
from omnigraph.base.values import dataclass
from omnigraph.errors import Internal, OmniError
from omnigraph.pipeline.load.csv_text import CheckedCsv, CsvProblem, header_problem, ragged
from omnigraph.pipeline.load.sources import InputStore
from omnigraph.records.report import rejected
from omnigraph.storage.foreign import ForeignDataset

_CSV_BLOCK_BYTES = 8 << 20
"""What Arrow parses at once; no row may be longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TablePart:
    """Units of a table that can be read on their own: row groups, record batches, fragments of one version."""

    units: tuple[int, ...]
    version: int | None = None


class TableBytes(Protocol):
    """What a format needs to know of a table: where it is and how to open it."""

    @property
    def name(self) -> str:
        """How messages call it."""
        ...

    @property
    def path(self) -> str:
        """Where it is."""
        ...

    @property
    def size_bytes(self) -> int | None:
        """How large it is as it is stored, if that is known."""
        ...

    @property
    def store(self) -> InputStore:
        """What opens it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFormat:
    """One format of table files."""

    suffixes: tuple[str, ...]
    """What the names of its files end in, most specific ones too."""
    batches: Callable[[TableBytes, TablePart | None], Iterator[pa.RecordBatch]]
    """Its rows, from the first, or those of a part."""
    parts: Callable[[TableBytes, int], tuple[TablePart, ...]]
    """Parts of about so many bytes; none if it can only be read from its first row."""
    expansion: int = 1
    """How much larger than their stored form rows are taken to be; text that is packed counts as eight."""
    is_text: bool = False
    """Whether all cells are text."""
    is_directory: bool = False
    """Whether a table is a directory of files rather than one file."""

    def expanded_bytes(self, table: TableBytes) -> int:
        """Return how large the rows are in memory, roughly."""
        return (table.size_bytes or 0) * (8 if table.path.endswith(".gz") else self.expansion)


def format_named(name: str) -> TableFormat:
    """Return a format by its name."""
    found = FORMATS.get(name)
    if found is None:
        raise Internal(f"pipeline/load/table_formats.py does not say how tables of the format {name} are read")
    return found


def format_of_file(name: str) -> str | None:
    """Name the format that a file has by the end of its name; None for files that are no tables."""
    directory = next((found for found, suffix in _DIRECTORIES if name.endswith(suffix)), None)
    if directory is not None:
        return directory
    endings = PurePosixPath(name).suffixes
    return _BY_SUFFIX.get("".join(endings[-2:])) or _BY_SUFFIX.get("".join(endings[-1:]))


def is_directory_table(name: str) -> bool:
    """Tell whether a directory of this name is one table."""
    return any(name.endswith(suffix) for _, suffix in _DIRECTORIES)


def _parquet(table: TableBytes, part: TablePart | None) -> Iterator[pa.RecordBatch]:
    import pyarrow.parquet as pq

    with table.store.open(table.path) as stream, pq.ParquetFile(stream) as file:
        yield from file.iter_batches(row_groups=part and list(part.units))


def _row_groups(table: TableBytes, part_bytes: int) -> tuple[TablePart, ...]:
    import pyarrow.parquet as pq

    with table.store.open(table.path) as stream, pq.ParquetFile(stream) as file:
        sizes = {unit: file.metadata.row_group(unit).total_byte_size for unit in range(file.num_row_groups)}
    return _grouped(sizes, part_bytes)


def _arrow(table: TableBytes, part: TablePart | None) -> Iterator[pa.RecordBatch]:
    with table.store.open(table.path) as stream:
        try:
            file = pa.ipc.open_file(stream)
        except pa.ArrowInvalid:
            stream.seek(0)
            yield from pa.ipc.open_stream(stream)
            return
        for index in part.units if part else range(file.num_record_batches):
            yield file.get_batch(index)


def _record_batches(table: TableBytes, part_bytes: int) -> tuple[TablePart, ...]:
    with table.store.open(table.path) as stream:
        try:
            count = int(pa.ipc.open_file(stream).num_record_batches)
        except pa.ArrowInvalid:
            count = 0
    return _grouped(dict.fromkeys(range(count), (table.size_bytes or 0) // max(count, 1)), part_bytes)


def _lance(table: TableBytes, part: TablePart | None) -> Iterator[pa.RecordBatch]:
    version, fragments = (part.version, part.units) if part else (None, None)
    yield from ForeignDataset(table.path, version).scan(fragments)


def _fragments(table: TableBytes, part_bytes: int) -> tuple[TablePart, ...]:
    dataset = ForeignDataset(table.path)
    rows = dataset.rows_by_fragment()
    row_bytes = FORMATS["lance"].expanded_bytes(table) / max(sum(rows.values()), 1)
    sizes = {unit: round(count * row_bytes) for unit, count in rows.items()}
    return _grouped(sizes, part_bytes, version=dataset.version)


def _whole(table: TableBytes, part_bytes: int) -> tuple[TablePart, ...]:
    del table, part_bytes
    return ()


def _csv(table: TableBytes, part: TablePart | None) -> Iterator[pa.RecordBatch]:
    assert part is None  # a row may begin inside of quotes, so that text is read from its first row
    if table.size_bytes == 0:
        return
    names = _column_names(table)
    wrong: list[Any] = []

    def refuse(row: Any) -> str:
        wrong.append(row)
        return "error"

    with _bytes(table) as stream:
        checked = CheckedCsv(stream)
        try:
            yield from _open_csv(checked, names=names, refuse=refuse)
        except pa.ArrowInvalid as error:
            # Arrow stumbles over the first row that a missing quote runs into; the quote is what to tell.
            if problem := checked.look_at_rest():
                raise _rejected(table, problem) from error
            if wrong:
                # The header is Arrow's first row, and the first row of data is ours.
                row = wrong[0]
                problem = ragged(row.number - 1, cells=row.actual_columns, columns=row.expected_columns)
                raise _rejected(table, problem) from error
            raise
        if problem := checked.look_at_rest():
            raise _rejected(table, problem)


def _column_names(table: TableBytes) -> list[str]:
    with _bytes(table) as stream:
        checked = CheckedCsv(stream)
        try:
            names = list(_open_csv(checked, names=(), refuse=lambda _: "skip").schema.names)
        except (pa.ArrowInvalid, UnicodeDecodeError) as error:
            if problem := checked.look_at_rest():
                raise _rejected(table, problem) from error
            raise
    if problem := checked.problem or header_problem(checked.head, names):
        raise _rejected(table, problem)
    return names


def _bytes(table: TableBytes) -> Any:
    stream = table.store.open(table.path)
    return pa.CompressedInputStream(stream, "gzip") if table.path.endswith(".gz") else stream


def _rejected(table: TableBytes, problem: CsvProblem) -> OmniError:
    return rejected(problem.findings(), files=(table.name,))


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


def _grouped(bytes_by_unit: Mapping[int, int], part_bytes: int, *, version: int | None = None) -> tuple[TablePart, ...]:
    """Put neighbouring units together until they have the size of a part."""
    groups = fitted(bytes_by_unit, (bytes_by_unit.__getitem__, part_bytes))
    return tuple(TablePart(units=group, version=version) for group in groups)


FORMATS: Final[Mapping[str, TableFormat]] = {
    "parquet": TableFormat(suffixes=(".parquet",), batches=_parquet, parts=_row_groups, expansion=8),
    "csv": TableFormat(suffixes=(".csv", ".csv.gz"), batches=_csv, parts=_whole, is_text=True),
    "arrow": TableFormat(suffixes=(".arrow", ".feather"), batches=_arrow, parts=_record_batches),
    "lance": TableFormat(suffixes=(".lance",), batches=_lance, parts=_fragments, expansion=4, is_directory=True),
}
_BY_SUFFIX: Final = {suffix: name for name, found in FORMATS.items() for suffix in found.suffixes}
_DIRECTORIES: Final = [(name, suffix) for suffix, name in _BY_SUFFIX.items() if FORMATS[name].is_directory]
SUFFIXES: Final = tuple(_BY_SUFFIX)
"""What the names of tables end in."""
