"""Intermediate files of bulk operations that died: nothing refers to them, and nobody else removes them."""

from omnigraph.base import ids
from omnigraph.storage.objects import ObjectFacts
from omnigraph.storage.retention import Removal
from omnigraph.storage.scratch import SCRATCH_DIRECTORY, Scratch
from omnigraph.storage.store import GraphStore

STALE_DAYS = 7
"""How long files wait that nothing refers to: no operation lives that long."""
STALE_SECONDS = STALE_DAYS * 86_400


def stale_scratch(store: GraphStore, *, before: float) -> dict[str, Removal]:
    """Return what operations left in the scratch directory that wrote nothing since `before`, by the store's time."""
    files: dict[str, list[ObjectFacts]] = {}
    for path, facts in store.objects.facts(f"{SCRATCH_DIRECTORY}/").items():
        operation_id = path.removeprefix(f"{SCRATCH_DIRECTORY}/").partition("/")[0]
        # What is not spelled like an operation is somebody's own file.
        if ids.is_ulid(operation_id):
            files.setdefault(operation_id, []).append(facts)
    return {
        operation_id: Removal(bytes=sum(file.size for file in found), data_files=len(found))
        for operation_id, found in files.items()
        if all(file.last_modified < before for file in found)
    }


def drop_scratch(store: GraphStore, operation_id: str) -> None:
    """Remove what one operation left."""
    Scratch(store, operation_id).clear()
