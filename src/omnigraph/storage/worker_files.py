"""What workers do with storage: open the graph's store by its address alone, and write data files.

Credentials do not travel with tasks. A worker in this process finds the store that its driver opened; one in another
process opens the store from its own environment, where the engine has put what is needed.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock

import pyarrow as pa

from omnigraph.storage.staging import with_row_ids, write_data_files
from omnigraph.storage.store import GraphStore
from omnigraph.storage.tables import Table, TableAddress

_stores: dict[str, GraphStore] = {}
_lock = Lock()


@contextmanager
def shared_with_workers(store: GraphStore) -> Iterator[None]:
    """Let tasks in this process use the opened store, with the options that it was opened with."""
    with _lock:
        before = _stores.get(store.uri)
        _stores[store.uri] = store
    try:
        yield
    finally:
        with _lock:
            if before is None:
                _stores.pop(store.uri, None)
            else:
                _stores[store.uri] = before


def worker_store(uri: str) -> GraphStore:
    """Return the store of a graph, opened at most once per process."""
    with _lock:
        if uri not in _stores:
            _stores[uri] = GraphStore.open(uri)
        return _stores[uri]


@dataclass(frozen=True, slots=True, kw_only=True)
class TablePlace:
    """A table state, and where new files of it belong: all that a worker needs to know to read or extend it."""

    address: TableAddress
    version: int
    target: TableAddress

    def open(self, store: GraphStore) -> Table:
        """Open the state."""
        return store.tables.open(self.address, self.version)

    def write_rows(self, store: GraphStore, rows: pa.Table, *, row_ids: pa.Array | None = None) -> tuple[str, ...]:
        """Write rows as new data files that nothing refers to yet; return what a commit needs to know of them.

        The leading rows keep `row_ids`.
        """
        if rows.num_rows == 0:
            return ()
        fragments = write_data_files(store.tables, self.open(store), self.target, rows)
        if row_ids is not None and len(row_ids):
            fragments = with_row_ids(fragments, row_ids)
        return tuple(json.dumps(fragment.to_json()) for fragment in fragments)
