"""Removing old versions of one table: which there are, what exactly would go, and letting it go.

Lance decides which files a version alone refers to; which versions may go is decided above, and Lance gets the list.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import unquote

from omnigraph.errors import StorageError
from omnigraph.storage.access import ANY_OPERATION, TableAccess
from omnigraph.storage.lance_errors import LanceFailure, classify, lance_failures, translated
from omnigraph.storage.objects import ControlStore
from omnigraph.storage.tables import Table, TableAddress, TableStore
from omnigraph.storage.worker_files import worker_store

_BEGINNINGS_MAX = 4
_LONGER_THAN_ANY_VERSION_LIVES = timedelta(days=36_500)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredVersion:
    """One version of a table on its ref."""

    version: int
    created_at_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """What goes, or went."""

    versions: int = 0
    bytes: int = 0
    data_files: int = 0
    index_files: int = 0

    def __add__(self, other: "Removal") -> "Removal":
        return Removal(
            versions=self.versions + other.versions,
            bytes=self.bytes + other.bytes,
            data_files=self.data_files + other.data_files,
            index_files=self.index_files + other.index_files,
        )


def stored_versions(table: Table) -> list[StoredVersion]:
    """Return all versions of the table's ref, ascending."""
    with translated(doing=f"listing the versions of {table.address.path}", uri=table.address.path):
        listed = table.dataset.versions()
    return sorted(
        # Lance gives the time of this machine's zone without saying so.
        (
            StoredVersion(version=int(entry["version"]), created_at_us=int(entry["timestamp"].timestamp() * 1_000_000))
            for entry in listed
        ),
        key=lambda stored: stored.version,
    )


def tagged_versions(table: Table) -> dict[int, str]:
    """Return the versions that a Lance tag refers to, each with the name of one of them."""
    with translated(doing=f"listing the tags of {table.address.location}", uri=table.address.location):
        listed = table.dataset.tags.list()
    return {
        int(facts["version"]): name
        for name, facts in listed.items()
        if (facts.get("branch") or None) == table.address.ref
    }


def preview_removal(table: Table, versions: Sequence[int]) -> Removal:
    """Compute exactly what `remove_versions` would remove; changes nothing."""
    with translated(doing=f"looking for what can go from {table.address.path}", uri=table.address.path):
        return _removal(_again_if_gone(table.dataset.explain_cleanup_old_versions, versions).stats)


def remove_versions(store: TableStore, table: Table, versions: Sequence[int]) -> Removal:
    """Remove versions, the files that only they refer to, and files of failed writes that are older than a week."""
    store.forget(table.address)
    with translated(doing=f"removing versions of {table.address.path}", uri=table.address.path):
        return _removal(_again_if_gone(table.dataset.cleanup_old_versions, versions))


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovalTask:
    """Versions of one ref that are to go; a plain value that any worker can carry out, also twice."""

    access: TableAccess
    versions: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovalOutcome:
    """What a task removed, or why it failed."""

    removed: Removal
    error: StorageError | None = None


def run_removal(task: RemovalTask) -> RemovalOutcome:
    """Carry out one task where the work happens."""
    store = worker_store(task.access.graph_uri, ANY_OPERATION).tables
    try:
        table = store.fresh(task.access.address, task.access.version)
        return RemovalOutcome(removed=remove_versions(store, table, task.versions))
    except StorageError as error:
        return RemovalOutcome(removed=Removal(), error=error)


def preview_drop(objects: ControlStore, location: str) -> Removal:
    """Say what the directory of a table holds."""
    return removal_of(objects.sizes(f"{location}/"))


def preview_ref_drop(objects: ControlStore, location: str, name: str) -> Removal:
    """Say what a ref of a table holds: its tree, and the object by which the table knows it."""
    known = objects.sizes(f"{location}/_refs/branches/")
    # Lance escapes the slashes of a ref's name.
    own = {path: size for path, size in known.items() if unquote(path).endswith(f"/_refs/branches/{name}.json")}
    return removal_of({**objects.sizes(f"{TableAddress(location, name).path}/"), **own})


def removal_of(sizes: Mapping[str, int]) -> Removal:
    """Say what goes with these files, given with their sizes."""
    return Removal(
        versions=sum("/_versions/" in path for path in sizes),
        bytes=sum(sizes.values()),
        data_files=sum("/data/" in path for path in sizes),
        index_files=sum("/_indices/" in path for path in sizes),
    )


def _again_if_gone(clean: Callable[..., Any], versions: Sequence[int]) -> Any:
    """Let Lance begin again when something it had listed is gone: it reads all refs first, and branches come and go."""
    for again in range(_BEGINNINGS_MAX, 0, -1):
        try:
            return clean(**_selection(versions))
        except lance_failures() as error:
            if again == 1 or classify(error) is not LanceFailure.NOT_FOUND:
                raise
    raise AssertionError("unreachable: the last time returns or raises")


def _selection(versions: Sequence[int]) -> dict[str, Any]:
    # An empty list is refused, and old files of failed writes should go all the same. Not `retain_versions`: with it
    # Lance panics over a ref that is deleted while it looks.
    chosen: dict[str, Any] = (
        {"versions": list(versions)} if versions else {"older_than": _LONGER_THAN_ANY_VERSION_LIVES}
    )
    return {**chosen, "error_if_tagged_old_versions": False}


def _removal(stats: Any) -> Removal:
    return Removal(
        versions=int(stats.old_versions),
        bytes=int(stats.bytes_removed),
        data_files=int(stats.data_files_removed),
        index_files=int(stats.index_files_removed),
    )
