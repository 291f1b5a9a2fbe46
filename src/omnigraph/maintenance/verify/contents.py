"""The deep part: every byte against its checksum, every value read, every index against a scan; on any engine.

Tasks are small plain values. What a worker cannot read is an outcome like any other: one damaged file hides nothing
about the rest.
"""

from collections.abc import Iterable, Iterator, Sequence

from omnigraph.base.endings import is_panic
from omnigraph.base.events import Events, phase
from omnigraph.base.grouping import grouped
from omnigraph.base.values import dataclass
from omnigraph.engine.interface import Engine
from omnigraph.errors import OmniError, StorageError
from omnigraph.maintenance.verify.files import FilesToVerify
from omnigraph.maintenance.verify.report import Problem, ProblemKind
from omnigraph.manifest.snapshot import TablePin, branch_of
from omnigraph.storage.checksums import FileSum, blob_directory, short_name, sum_of_file
from omnigraph.storage.file_references import FileKind
from omnigraph.storage.index_check import disagreement
from omnigraph.storage.layout import read_layout
from omnigraph.storage.tables import StateAddress, Table
from omnigraph.storage.worker_files import worker_store

_TASK_BYTES = 256 << 20
_TASK_ROWS = 4 << 20
_CHECKED = (FileKind.DATA, FileKind.DELETIONS)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileToRead:
    """One file, with the blobs beside it and the checksum that it should have, if anybody recorded one."""

    path: str
    size: int
    blobs: tuple[str, ...]
    expected: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadFiles:
    """Files that one worker reads to the last byte."""

    uri: str
    operation_id: str
    files: tuple[FileToRead, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesRead:
    """What was wrong, by path."""

    bytes: int
    problems: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRows:
    """Fragments of one table state that one worker decodes, or an index that it compares with a scan."""

    uri: str
    operation_id: str
    key: int
    state: StateAddress
    fragment_ids: tuple[int, ...]
    index: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsRead:
    """How many rows, and what was wrong."""

    key: int
    rows: int
    index: str | None = None
    problem: str | None = None


def files_to_read(seen: FilesToVerify) -> Iterator[FileToRead]:
    """Yield the files of a table that are there and whose bytes count."""
    beside: dict[str, list[str]] = {}
    for path in seen.present:
        if path.endswith(".blob"):
            beside.setdefault(f"{path.rpartition('/')[0]}/", []).append(path)
    for path, file in sorted(seen.needed.items()):
        if file.kind in _CHECKED and path in seen.present:
            blobs = tuple(sorted(beside.get(blob_directory(path), ())))
            size = seen.present[path] + sum(seen.present[blob] for blob in blobs)
            yield FileToRead(path=path, size=size, blobs=blobs, expected=seen.checksums.get(short_name(path)))


def read_files(task: ReadFiles) -> FilesRead:
    """Read files on a worker and compare them with their checksums."""
    objects = worker_store(task.uri, task.operation_id).objects
    problems = {}
    for file in task.files:
        try:
            found = sum_of_file(objects, file.path, file.blobs)
        except FileNotFoundError:
            problems[file.path] = "is missing"
        except StorageError as error:
            if error.is_transient:
                raise
            problems[file.path] = f"cannot be read: {error.message}"
        else:
            expected = FileSum.read(file.expected) if file.expected is not None else found
            if found.crc32 != expected.crc32:
                problems[file.path] = (
                    f"has other bytes than were written (checksum {found.crc32}, not {expected.crc32})"
                )
            elif found != expected:
                problems[file.path] = "has blobs with other bytes than were written"
    return FilesRead(bytes=sum(file.size for file in task.files), problems=problems)


def compare_bytes(
    engine: Engine, uri: str, operation_id: str, tables: Iterable[FilesToVerify], events: Events
) -> tuple[int, int]:
    """Read every needed file of some tables; note what is wrong, return the bytes read and the files without a sum."""
    found = [(file, seen) for seen in tables for file in files_to_read(seen)]
    owner = {file.path: seen for file, seen in found}
    files = [file for file, _ in found]
    tasks = [
        ReadFiles(uri=uri, operation_id=operation_id, files=group)
        for group in grouped(files, (lambda file: file.size, _TASK_BYTES))
    ]
    done = 0
    with phase(events, "reading files", total=sum(file.size for file in files), unit="bytes") as watch:
        for outcome in engine.map(read_files, tasks):
            done += outcome.bytes
            watch.reach(done)
            for path, problem in outcome.problems.items():
                seen = owner[path]
                kind = seen.needed[path].kind
                message = f"{kind} {path} {problem}"
                seen.harm(seen.places_needing(path), ProblemKind.FILE_CHANGED, message, file=path)
    return done, sum(file.expected is None for file in files)


def read_rows(task: ReadRows) -> RowsRead:
    """Decode rows, or compare an index with a scan, on a worker."""
    rows = 0
    try:
        table = task.state.open(worker_store(task.uri, task.operation_id).tables)
        if task.index is not None:
            problem = disagreement(table, read_layout(table).index_by_name[task.index])
            return RowsRead(key=task.key, rows=0, index=task.index, problem=problem)
        for batch in table.scan(fragment_ids=task.fragment_ids):
            batch.validate(full=True)
            rows += batch.num_rows
    except OmniError as error:
        if isinstance(error, StorageError) and error.is_transient:
            raise
        return RowsRead(key=task.key, rows=rows, index=task.index, problem=f"cannot be read: {error.message}")
    except (ArithmeticError, LookupError, ValueError, OSError, RuntimeError) as error:
        return RowsRead(key=task.key, rows=rows, index=task.index, problem=f"cannot be read: {error}")
    except BaseException as error:
        # Lance panics over some damage, and a panic is none of the exceptions that programs catch.
        if not is_panic(error):
            raise
        return RowsRead(key=task.key, rows=rows, index=task.index, problem=f"cannot be read: {error}")
    return RowsRead(key=task.key, rows=rows, index=task.index)


def read_contents(
    engine: Engine,
    uri: str,
    operation_id: str,
    states: Sequence[tuple[TablePin, Table]],
    remedy: str,
    events: Events,
) -> tuple[int, list[Problem]]:
    """Read every value of some states and ask their indexes; return the rows read and what is wrong."""
    tasks: list[ReadRows] = []
    for key, (pin, table) in enumerate(states):
        sizes = sorted(table.rows_by_fragment().items())
        groups = grouped(sizes, (lambda fragment: fragment[1], _TASK_ROWS))
        for group in groups:
            fragments = tuple(number for number, _ in group)
            tasks.append(_task(uri, operation_id, key, pin, fragments))
        tasks += [_task(uri, operation_id, key, pin, (), index.name) for index in read_layout(table).indexes]
    rows, problems = 0, []
    total = sum(pin.row_count for pin, _ in states)
    with phase(events, "reading rows", total=total, unit="rows") as watch:
        for outcome in engine.map(read_rows, tasks):
            rows += outcome.rows
            watch.reach(rows)
            if outcome.problem is not None:
                problems.append(_problem(states[outcome.key][0], outcome, remedy))
    return rows, problems


def _task(
    uri: str,
    operation_id: str,
    key: int,
    pin: TablePin,
    fragment_ids: tuple[int, ...],
    index: str | None = None,
) -> ReadRows:
    return ReadRows(
        uri=uri,
        operation_id=operation_id,
        key=key,
        state=pin.state,
        fragment_ids=fragment_ids,
        index=index,
    )


def _problem(pin: TablePin, outcome: RowsRead, remedy: str) -> Problem:
    branch = None if pin.ref is None else branch_of(pin.ref)
    if outcome.index is not None:
        return Problem(
            kind=ProblemKind.INDEX_WRONG,
            message=f"index {outcome.index} of {pin.table_key} {outcome.problem}",
            lost="no row is lost: searches that use the index answer wrongly or fail",
            remedy=remedy,
            table_key=pin.table_key,
            branch=branch,
            versions=(pin.version,),
        )
    return Problem(
        kind=ProblemKind.TABLE_UNREADABLE,
        message=f"rows of version {pin.version} in {pin.address.path} {outcome.problem}",
        table_key=pin.table_key,
        branch=branch,
        versions=(pin.version,),
    )
