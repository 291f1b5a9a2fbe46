"""What is at an address that holds no graph: a file, somebody's directory, the inside of a graph, or nothing.

Only for the message of a failure, so it looks at little: on an object store at the prefixes above the address, on disk
also at what lies beside it and directly in it.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from enum import Enum
from itertools import islice
from pathlib import Path

from omnigraph.base.values import dataclass
from omnigraph.errors import StorageError
from omnigraph.storage.objects import open_objects
from omnigraph.storage.settings import StoreSettings
from omnigraph.storage.uris import GraphRoot

_MANIFEST = "__manifest"
_SCHEMA_COPY = "_schema.pg"
_PARTS = ("_schemas", "nodes", "edges")
_ENTRIES_MAX = 1_000


class Occupant(Enum):
    """What an address without a graph is."""

    NOTHING = "nothing"
    FILE = "file"
    """Or something below one."""
    DIRECTORY = "directory"
    REMAINS = "remains"
    """Parts of a graph without its manifest."""
    INSIDE = "inside"
    """Within another graph."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Whereabouts:
    """What is there, and which graphs are near."""

    occupant: Occupant
    path: str
    """The file, or the graph that the address is inside of; else the address itself."""
    graphs_beside: tuple[str, ...] = ()
    graphs_within: tuple[str, ...] = ()


def look_at(root: GraphRoot, settings: StoreSettings) -> Whereabouts:
    """Find out what is at an address that holds no graph."""
    if (file := blocking_file(root)) is not None:
        return Whereabouts(occupant=Occupant.FILE, path=file)
    if (graph := enclosing_graph(root, settings)) is not None:
        return Whereabouts(occupant=Occupant.INSIDE, path=graph)
    if not root.is_local:
        return Whereabouts(occupant=Occupant.NOTHING, path=root.uri)
    path = root.local_path
    if any(_is((path / part).is_dir) for part in _PARTS):
        return Whereabouts(occupant=Occupant.REMAINS, path=root.uri)
    return Whereabouts(
        occupant=Occupant.DIRECTORY if _is(path.is_dir) else Occupant.NOTHING,
        path=root.uri,
        graphs_within=_graphs_in(path),
        graphs_beside=_graphs_in(path.parent),
    )


def blocking_file(root: GraphRoot) -> str | None:
    """Return the file that stands where a local graph, or a directory above it, should be."""
    if not root.is_local:
        return None
    path = root.local_path
    return next((str(found) for found in (path, *path.parents) if _is(found.exists) and not _is(found.is_dir)), None)


def enclosing_graph(root: GraphRoot, settings: StoreSettings) -> str | None:
    """Return the graph that an address lies inside of."""
    if root.is_local:
        parents = root.local_path.parents
        return next((str(parent) for parent in parents if _is((parent / _MANIFEST).is_dir)), None)
    above = root.key.split("/")[:-1]
    for end in range(len(above), 0, -1):
        parent = GraphRoot.parse(f"{root.store}://{root.bucket}/{'/'.join(above[:end])}")
        # Every graph has this copy for people, and asking for one small object lists nothing. Whoever may only use
        # the address itself is told nothing about what is above it.
        with suppress(StorageError):
            if open_objects(parent, settings).sizes_of([_SCHEMA_COPY]):
                return parent.uri
    return None


def _is(look: Callable[[], bool]) -> bool:
    """Answer a question about a path; what may not be looked at is not there."""
    try:
        return look()
    except OSError:
        return False


def _graphs_in(directory: Path) -> tuple[str, ...]:
    try:
        with os.scandir(directory) as entries:
            found = [entry.path for entry in islice(entries, _ENTRIES_MAX) if entry.is_dir()]
        return tuple(sorted(path for path in found if Path(path, _MANIFEST).is_dir()))
    except OSError:
        return ()
