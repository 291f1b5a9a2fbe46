"""Intermediate columns of one operation, beside the graph's tables, where every worker can read them.

They are written once, read by whoever needs them and removed when the operation ends. Nothing refers to them, so they
need not survive a crash of the machine and are not synced.
"""

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

import pyarrow as pa

from omnigraph.base import clock, ids, waits
from omnigraph.base.endings import attempt
from omnigraph.base.events import Events
from omnigraph.base.values import dataclass
from omnigraph.errors import StorageError
from omnigraph.storage.store import GraphStore

SCRATCH_DIRECTORY = "__staging"
_TABLE_NAME = b"omnigraph_table"
_QUIET_SECONDS = 0.3


@dataclass(frozen=True, slots=True)
class Scratch:
    """The intermediate files of one operation; names are given by tasks, and a repeated task overwrites its own."""

    store: GraphStore
    operation_id: str

    def write_table(self, name: str, rows: pa.Table) -> None:
        """Keep rows under a name."""
        self.write_tables(name, {"": rows})

    def read_table(self, name: str) -> pa.Table:
        """Return the rows that were kept under a name."""
        return self.read_tables(name)[""]

    def write_tables(self, name: str, rows_by_name: Mapping[str, pa.Table]) -> None:
        """Keep several named tables under one name: few large objects are cheaper than many small ones."""
        with self.sink(name) as sink:
            for table_name, rows in rows_by_name.items():
                write_named(sink, table_name, rows)

    def read_tables(self, name: str) -> dict[str, pa.Table]:
        """Return the tables that were kept under a name."""
        return dict(tables_in(self._open(name)))

    def find_table(self, name: str) -> pa.Table | None:
        """Return the rows that were kept under a name, None if there are none."""
        found = self._find(name)
        return dict(tables_in(found))[""] if found is not None else None

    def write(self, name: str, content: pa.Buffer | bytes) -> None:
        """Keep bytes under a name."""
        with self.sink(name) as sink:
            sink.write(content)

    def read(self, name: str) -> pa.Buffer:
        """Return the bytes that were kept under a name."""
        return self._open(name).read_buffer()

    def read_range(self, name: str, start: int, end: int) -> pa.Buffer:
        """Return some of the bytes that were kept under a name, without reading the others."""
        if self.store.root.is_local:
            file = self._open(name)
            file.seek(start)
            return file.read_buffer(end - start)
        try:
            return pa.py_buffer(self.store.objects.read_range(self._path(name), start, end))
        except FileNotFoundError as exc:
            raise self._gone() from exc

    def read_end(self, name: str, length: int) -> pa.Buffer:
        """Return the last bytes of what was kept under a name; all if there are fewer."""
        if self.store.root.is_local:
            file = self._open(name)
            file.seek(max(0, file.size() - length))
            return file.read_buffer()
        try:
            return pa.py_buffer(self.store.objects.read_end(self._path(name), length))
        except FileNotFoundError as exc:
            raise self._gone() from exc

    def clear(self, folder: str = "") -> None:
        """Remove everything that was kept, or what lies below one folder."""
        if self.store.root.is_local:
            directory = self.store.root.local_path / SCRATCH_DIRECTORY
            shutil.rmtree(directory / self.operation_id / folder, ignore_errors=True)
            with suppress(OSError):  # never there, or other operations use it
                directory.rmdir()
            return
        for path in self.store.objects.list(f"{SCRATCH_DIRECTORY}/{self.operation_id}/{folder}".rstrip("/")):
            self.store.objects.delete(path)

    def clear_at_end(self, events: Events) -> None:
        """Remove everything when the outcome is known: files that stay behind do not change it."""
        attempt(self.clear, events, otherwise=f"{SCRATCH_DIRECTORY}/{self.operation_id} was not removed; cleanup will")

    def clear_for_good(self) -> None:
        """Remove everything, also what workers still write that nobody has told to stop; they end within moments."""

        def is_quiet() -> bool:
            self.clear()
            clock.sleep_seconds(_QUIET_SECONDS)
            return not self.store.objects.list(f"{SCRATCH_DIRECTORY}/{self.operation_id}/")

        clock.wait_until(is_quiet, timeout_seconds=waits.STRAGGLER_SECONDS)

    @contextmanager
    def sink(self, name: str) -> Iterator[pa.NativeFile]:
        """Keep what is written to a stream; it is there, whole, when the block has ended."""
        if not self.store.root.is_local:
            memory = pa.BufferOutputStream()
            yield memory
            self.store.objects.put(self._path(name), memory.getvalue().to_pybytes())
            return
        path = self.store.root.local_path / self._path(name)
        # A task that runs twice replaces its file in one step, under the eyes of a reader.
        unfinished = path.with_name(f".{path.name}.{ids.new_ulid()}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with pa.OSFile(str(unfinished), "wb") as file:
                yield file
            unfinished.replace(path)
        except OSError as exc:
            raise StorageError(
                f"Keeping intermediate data in {path.parent} failed: {_reason(exc)}. Nothing was committed; make room "
                "there and run it again.",
                storage_kind="unknown",
                uri=self.store.uri,
            ) from exc

    def _open(self, name: str) -> pa.NativeFile:
        found = self._find(name)
        if found is None:
            raise self._gone()
        return found

    def _gone(self) -> StorageError:
        return StorageError(
            f"Intermediate data of operation {self.operation_id} is gone; nothing was committed, run it again.",
            storage_kind="not_found",
            uri=self.store.uri,
        )

    def _find(self, name: str) -> pa.NativeFile | None:
        if not self.store.root.is_local:
            found = self.store.objects.read(self._path(name))
            return pa.BufferReader(found.content) if found is not None else None
        try:
            return pa.memory_map(str(self.store.root.local_path / self._path(name)))
        except FileNotFoundError:
            return None

    def _path(self, name: str) -> str:
        return f"{SCRATCH_DIRECTORY}/{self.operation_id}/{name}"


def write_named(sink: pa.NativeFile, name: str, rows: pa.Table) -> None:
    """Write a table behind what a sink holds already."""
    schema = rows.schema.with_metadata({_TABLE_NAME: name})
    with pa.ipc.new_stream(sink, schema) as writer:
        writer.write_table(rows.cast(schema))


def tables_in(source: pa.NativeFile) -> Iterator[tuple[str, pa.Table]]:
    """Yield the named tables that were written one behind the other."""
    size = source.size()
    while source.tell() < size:
        rows = pa.ipc.open_stream(source).read_all()
        yield rows.schema.metadata[_TABLE_NAME].decode(), rows.replace_schema_metadata()


def _reason(exc: OSError) -> str:
    # Arrow puts the system's words behind its own.
    return os.strerror(exc.errno) if exc.errno else str(exc)
