"""Intermediate columns of one operation, beside the graph's tables, where every worker can read them.

They are written once, read by whoever needs them and removed when the operation ends. Nothing refers to them, so they
need not survive a crash of the machine and are not synced.
"""

import shutil
from contextlib import suppress
from dataclasses import dataclass

import pyarrow as pa

from omnigraph.base import ids
from omnigraph.errors import StorageError
from omnigraph.storage.store import GraphStore

SCRATCH_DIRECTORY = "__staging"


@dataclass(frozen=True, slots=True)
class Scratch:
    """The intermediate files of one operation; names are given by tasks, and a repeated task overwrites its own."""

    store: GraphStore
    operation_id: str

    def write_table(self, name: str, rows: pa.Table) -> None:
        """Keep rows under a name."""
        sink = pa.BufferOutputStream()
        with pa.ipc.new_file(sink, rows.schema) as writer:
            writer.write_table(rows)
        self.write(name, sink.getvalue())

    def read_table(self, name: str) -> pa.Table:
        """Return the rows that were kept under a name."""
        return pa.ipc.open_file(self._open(name)).read_all()

    def find_table(self, name: str) -> pa.Table | None:
        """Return the rows that were kept under a name, None if there are none."""
        if self.store.root.is_local:
            is_there = (self.store.root.local_path / self._path(name)).exists()
            return self.read_table(name) if is_there else None
        found = self.store.objects.read(self._path(name))
        return pa.ipc.open_file(pa.BufferReader(found.content)).read_all() if found is not None else None

    def write(self, name: str, content: pa.Buffer | bytes) -> None:
        """Keep bytes under a name."""
        if not self.store.root.is_local:
            self.store.objects.put(self._path(name), bytes(content))
            return
        path = self.store.root.local_path / self._path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        # A task that runs twice replaces its file in one step, under the eyes of a reader.
        unfinished = path.with_name(f".{path.name}.{ids.new_ulid()}")
        with unfinished.open("wb") as file:
            file.write(content)
        unfinished.replace(path)

    def read(self, name: str) -> pa.Buffer:
        """Return the bytes that were kept under a name."""
        return self._open(name).read_buffer()

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

    def _open(self, name: str) -> pa.NativeFile:
        if self.store.root.is_local:
            return pa.memory_map(str(self.store.root.local_path / self._path(name)))
        found = self.store.objects.read(self._path(name))
        if found is None:
            raise StorageError(
                f"Intermediate data of operation {self.operation_id} is gone; nothing was committed, run it again.",
                storage_kind="not_found",
                uri=self.store.uri,
            )
        return pa.BufferReader(found.content)

    def _path(self, name: str) -> str:
        return f"{SCRATCH_DIRECTORY}/{self.operation_id}/{name}"
