"""Removing old versions of one table: which there are, which files go with them, and letting those go.

Lance names the files that only certain versions refer to, and those that no version refers to. Which versions may go is
decided above, and the files are removed here and not by Lance: it would judge by the clock of this machine which files
are left over from failed writes, and a machine that is ahead would take those of a live writer.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from itertools import islice
from typing import Any
from urllib.parse import unquote

from omnigraph.base import faults
from omnigraph.base.values import dataclass
from omnigraph.errors import Internal, StorageError
from omnigraph.storage.file_references import each_version
from omnigraph.storage.lance_errors import LanceFailure, classify, lance_failures, translated
from omnigraph.storage.objects import ControlStore
from omnigraph.storage.tables import Table, TableAddress
from omnigraph.storage.version_files import is_detached_file, version_of_file
from omnigraph.storage.worker_files import worker_store

_BEGINNINGS_MAX = 4
_LONGER_THAN_ANY_VERSION_LIVES = timedelta(days=36_500)
_FILES_MAX = 1 << 40
_FILES_AT_ONCE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredVersion:
    """One version of a table on its ref."""

    version: int
    stored_at: float
    """When the store says that it was written, in seconds since the Unix epoch."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Doomed:
    """The files of one ref that go, by path relative to the graph's root, with their sizes."""

    of_versions: Mapping[str, int]
    """Manifests of the versions, and the files that only these versions refer to."""
    abandoned: Mapping[str, int]
    """What failed writes left long ago: no version refers to it."""

    @property
    def removal(self) -> Removal:
        """What goes with them."""
        return removal_of({**self.of_versions, **self.abandoned})

    def __bool__(self) -> bool:
        return bool(self.of_versions or self.abandoned)


def stored_versions(objects: ControlStore, address: TableAddress) -> list[StoredVersion]:
    """Return all versions of a ref, ascending, with the times that the store gives them; none if it does not exist.

    The times inside the manifests are those of whichever machines wrote them.
    """
    listed = objects.facts(f"{address.path}/_versions/")
    found = ((version_of_file(path.rpartition("/")[2]), facts) for path, facts in listed.items())
    return sorted(
        (
            StoredVersion(version=version, stored_at=facts.last_modified)
            for version, facts in found
            if version is not None
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


def doomed_files(
    objects: ControlStore, table: Table, versions: Sequence[int], *, abandoned_before: float | None
) -> Doomed:
    """Say exactly which files go when versions of a ref do; changes nothing.

    Files that no version refers to are among them if the store dated them before `abandoned_before`: younger ones may
    belong to a write that is under way. None leaves all of them alone.
    """
    with translated(doing=f"looking for what can go from {table.address.path}", uri=table.address.path):
        of_versions = dict(_of_versions(objects, table, versions)) if versions else {}
        loose = dict(_unreferenced(table)) if abandoned_before is not None else {}
    if abandoned_before is None:
        return Doomed(of_versions=of_versions, abandoned={})
    listed = objects.facts(f"{table.address.path}/{'' if loose else '_versions/'}")
    # Of versions that stand beside the line Lance says nothing; no operation needs one of its own for that long.
    loose |= {
        path: facts.size for path, facts in listed.items() if is_detached_file(path.removeprefix(_versions_of(table)))
    }
    old = {path for path, facts in listed.items() if facts.last_modified < abandoned_before}
    return Doomed(of_versions=of_versions, abandoned={path: size for path, size in loose.items() if path in old})


def _versions_of(table: Table) -> str:
    return f"{table.address.path}/_versions/"


def remove_files(objects: ControlStore, paths: Iterable[str], *, versions_first: bool = True) -> None:
    """Remove files, manifests first: a version without one is gone, and is never seen while its files are going.

    Whoever dies in between leaves files that no version refers to, which a later cleanup takes for what they are.
    """
    paths = list(paths)
    manifests = [path for path in paths if _is_manifest(path)]
    others = [path for path in paths if not _is_manifest(path)]
    steps = (manifests, *_chunks(others)) if versions_first else (*_chunks(others), manifests)
    for number, chunk in enumerate(steps):
        if number:
            faults.reach("cleanup.between_steps")
        if chunk:
            objects.delete_all(chunk)


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovalTask:
    """Files of one ref that are to go; a plain value that any worker can carry out, also twice."""

    graph_uri: str
    operation: str
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovalOutcome:
    """Why a task failed, if it did."""

    error: StorageError | None = None


def run_removal(task: RemovalTask) -> RemovalOutcome:
    """Carry out one task where the work happens."""
    try:
        remove_files(worker_store(task.graph_uri, task.operation).objects, task.paths)
    except StorageError as error:
        return RemovalOutcome(error=error)
    return RemovalOutcome()


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
        versions=sum(_is_manifest(path) for path in sizes),
        bytes=sum(sizes.values()),
        data_files=sum("/data/" in path for path in sizes),
        index_files=sum("/_indices/" in path for path in sizes),
    )


def _is_manifest(path: str) -> bool:
    directory, _, name = path.rpartition("/")
    return directory.endswith("/_versions") and version_of_file(name) is not None


def _chunks(paths: Iterable[str]) -> Iterator[list[str]]:
    remaining = iter(paths)
    while chunk := list(islice(remaining, _FILES_AT_ONCE)):
        yield chunk


def _of_versions(objects: ControlStore, table: Table, versions: Sequence[int]) -> Iterator[tuple[str, int]]:
    """Yield what goes with versions and with nothing else.

    Of files that look old by the clock of this machine Lance does not say whether a version refers to them, so the
    versions are asked: what none of them names is no file of theirs.
    """
    candidates = list(_candidates(table, versions=list(versions)))
    if any(file.unverified for _, file in candidates):
        named = {file.path for files in each_version(objects, table.address, versions) for file in files}
    else:
        named = set()
    for path, file in candidates:
        # Large blobs lie in a directory with the name of their data file; of old indexes only the directory is known.
        directory = path.rpartition("/")[0]
        if not file.unverified or named & {path, f"{directory}/", f"{directory}.lance"}:
            yield path, int(file.size_bytes)


def _unreferenced(table: Table) -> Iterator[tuple[str, int]]:
    """Yield what no version refers to, however young."""
    for path, file in _candidates(table, older_than=_LONGER_THAN_ANY_VERSION_LIVES, delete_unverified=True):
        yield path, int(file.size_bytes)


def _candidates(table: Table, **chosen: Any) -> Iterator[tuple[str, Any]]:
    """Yield what Lance would remove, by path below the graph's root."""
    explained = _again_if_gone(
        lambda: table.dataset.explain_cleanup_old_versions(
            **chosen, error_if_tagged_old_versions=False, include_files=True, max_files=_FILES_MAX
        )
    )
    if explained.candidate_files_truncated:
        raise Internal(f"Lance did not name all files that can go from {table.address.path}.")
    for file in explained.candidate_files:
        yield _inside_graph(file.path, table.address.location), file


def _inside_graph(path: str, location: str) -> str:
    """Return a path of Lance's, which begins at the root of the disk or bucket, as one below the graph's root."""
    _, found, inside = path.rpartition(f"/{location}/")
    if not found:
        raise Internal(f"Lance named {path}, which does not belong to {location}.")
    return f"{location}/{inside}"


def _again_if_gone(explain: Callable[[], Any]) -> Any:
    """Let Lance begin again when something it had listed is gone: it reads all refs first, and branches come and go."""
    for again in range(_BEGINNINGS_MAX, 0, -1):
        try:
            return explain()
        except lance_failures() as error:
            if again == 1 or classify(error) is not LanceFailure.NOT_FOUND:
                raise
    raise AssertionError("unreachable: the last time returns or raises")
