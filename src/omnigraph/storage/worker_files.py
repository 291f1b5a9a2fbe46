"""What workers do with storage: open the graph's store by its address alone, and write data files.

Credentials do not travel with tasks. A worker in this process finds the store that its driver opened; one in another
process opens the store from its own environment, where the engine has put what is needed.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache, partial
from threading import Lock

import pyarrow as pa

from omnigraph.base.values import dataclass
from omnigraph.storage import commit_steps
from omnigraph.storage.data_files import described_fragment, write_data_files
from omnigraph.storage.kept_row_ids import with_row_ids
from omnigraph.storage.layout import has_blobs
from omnigraph.storage.scratch import Scratch
from omnigraph.storage.store import GraphStore
from omnigraph.storage.tables import StateAddress, Table, TableAddress

_shared: dict[tuple[str, str], GraphStore] = {}
_lock = Lock()


@contextmanager
def shared_with_workers(store: GraphStore, operation_id: str) -> Iterator[None]:
    """Let tasks in this process use the opened store, with the options that it was opened with."""
    with _lock:
        _shared[store.uri, operation_id] = store
    try:
        yield
    finally:
        with _lock:
            del _shared[store.uri, operation_id]


def worker_store(uri: str, operation_id: str) -> GraphStore:
    """Return the store of a graph for the tasks of one operation.

    Workers outlive operations, and a table directory may come back with other content under the same versions once its
    branch was deleted, so what one operation opened is of no use to the next.
    """
    with _lock:
        found = _shared.get((uri, operation_id))
    return found if found is not None else _opened(uri, operation_id)


@lru_cache(maxsize=2)  # a graph, and a scratch that does not lie in it
def _opened(uri: str, operation_id: str) -> GraphStore:
    del operation_id
    return GraphStore.open(uri)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScratchPlace:
    """Where the workers of one operation keep their intermediate files: a value that travels."""

    uri: str
    operation_id: str

    def open(self) -> Scratch:
        """Open it, on whichever worker."""
        return Scratch(worker_store(self.uri, self.operation_id), self.operation_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class TablePlace:
    """A table state, and where new files of it belong: all that a worker needs to know to read or extend it."""

    state: StateAddress
    target: TableAddress

    def open(self, store: GraphStore) -> Table:
        """Open the state."""
        return self.state.open(store.tables)

    def write_rows(self, store: GraphStore, rows: pa.Table, *, row_ids: pa.Array | None = None) -> tuple[str, ...]:
        """Write rows as new data files that nothing refers to yet; return what a commit needs to know of them.

        The leading rows keep `row_ids`.
        """
        return self.write_stream(store, rows, row_ids=row_ids) if rows.num_rows else ()

    def write_stream(
        self, store: GraphStore, rows: pa.Table | Iterable[pa.RecordBatch], *, row_ids: pa.Array | None = None
    ) -> tuple[str, ...]:
        """Write at least one row as it comes; otherwise as `write_rows`."""
        table = self.open(store)
        if row_ids is None or not len(row_ids):
            fragments = write_data_files(store.tables, table, self.target, rows)
        else:
            written = write_data_files(store.tables, table, self.target, rows, rows_max=commit_steps.REWRITTEN_ROWS_MAX)
            fragments = with_row_ids(written, row_ids)
        described = partial(described_fragment, store.tables, self.target, has_blobs=has_blobs(table.schema))
        return tuple(map(described, fragments))
