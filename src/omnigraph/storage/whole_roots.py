"""The root of a graph as a whole: whether anything is there, and removing all of it."""

import shutil
from typing import Final

from omnigraph.errors import StorageError
from omnigraph.storage.store import GraphStore

_FIRST_TO_GO: Final = "__manifest"
"""Without it there is no graph for anybody, so what an interruption leaves is never half of one."""
_PASSES_MAX: Final = 5
"""A writer that has not noticed yet may add files while they are removed; it fails at its next step."""


def holds_anything(store: GraphStore) -> bool:
    """Whether at least one object is below the root."""
    return bool(store.objects.list(""))


def erase_root(store: GraphStore) -> None:
    """Remove everything below a root, the manifest first; a root that is gone is fine, and so is a second attempt."""
    if store.root.is_local:
        _erase_directory(store)
        return
    for _ in range(_PASSES_MAX):
        paths = store.objects.list("")
        if not paths:
            return
        first = [path for path in paths if path.startswith(f"{_FIRST_TO_GO}/")]
        for some in (first, [path for path in paths if path not in set(first)]):
            if some:
                store.objects.delete_all(some)
    if holds_anything(store):
        raise StorageError(
            f"Files keep appearing below {store.uri} while it is deleted; stop whoever writes there, and try again.",
            storage_kind="transient",
            uri=store.uri,
        )


def _erase_directory(store: GraphStore) -> None:
    directory = store.root.local_path
    try:
        for place in (directory / _FIRST_TO_GO, directory):
            if place.exists():
                shutil.rmtree(place)
    except OSError as error:
        raise StorageError(
            f"{directory} could not be removed: {error.strerror or error}.", storage_kind="configuration", uri=store.uri
        ) from error
