"""Intermediate files of bulk operations that died: nothing refers to them, and nobody else removes them."""

from omnigraph.base import ids
from omnigraph.storage.retention import Removal
from omnigraph.storage.scratch import SCRATCH_DIRECTORY, Scratch
from omnigraph.storage.store import GraphStore

STALE_DAYS = 7
"""As long as Lance waits for data files that nothing refers to: no operation lives that long."""


def stale_scratch(store: GraphStore, *, now_ms: int) -> dict[str, Removal]:
    """Return what dead operations left below the scratch directory, by operation; changes nothing."""
    oldest_ms = now_ms - STALE_DAYS * 86_400_000
    found: dict[str, Removal] = {}
    for path, size in store.objects.sizes(f"{SCRATCH_DIRECTORY}/").items():
        operation_id = path.removeprefix(f"{SCRATCH_DIRECTORY}/").partition("/")[0]
        # What is not spelled like an operation is somebody's own file.
        if ids.is_ulid(operation_id) and ids.ulid_ms(operation_id) < oldest_ms:
            found[operation_id] = found.get(operation_id, Removal()) + Removal(bytes=size, data_files=1)
    return found


def drop_scratch(store: GraphStore, operation_id: str) -> None:
    """Remove what one operation left."""
    Scratch(store, operation_id).clear()
