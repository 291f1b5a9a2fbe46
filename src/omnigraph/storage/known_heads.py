"""Which states were the newest of their tables when we last looked or committed, and whether they still are.

Asking Lance for the newest version lists all versions of a table, which takes longer the more there are. On a local
disk three questions to the file system answer it: the directory of versions has not changed since then, the
version's manifest is the file that it was, and the next version has none. The last one alone would not do, because a
cleanup leaves gaps; the first one alone would not do, because a directory's time stands still for some milliseconds.

Likewise Lance lists all refs and reads each of them to tell about one, where the file that names a ref is enough: it is
written once, so that as long as it is the same file, the ref is the same.
"""

import os
from threading import Lock
from typing import Final, NamedTuple, TypeAlias
from urllib.parse import unquote

from omnigraph.storage.uris import GraphRoot
from omnigraph.storage.version_files import version_file

_DIRECTORIES_MAX: Final = 4_096

Identity: TypeAlias = tuple[int, int, int]


class _Known(NamedTuple):
    version: int
    directory: Identity
    manifest_path: str
    manifest: Identity
    next_path: str


class KnownHeads:
    """Remembers the newest version by the directory that holds a table's versions; several threads may share it."""

    def __init__(self) -> None:
        # By plain text: every query asks, and a path object takes longer to make than the file system to answer.
        self._by_directory: dict[str, _Known] = {}
        self._lock = Lock()

    def find(self, versions: str) -> int | None:
        """Return the version that is known as the newest, if it still is."""
        known = self._by_directory.get(versions)
        if known is None:
            return None
        is_newest = (
            identity(versions) == known.directory
            and identity(known.manifest_path) == known.manifest
            and not os.access(known.next_path, os.F_OK)  # half the price of a look that finds nothing
        )
        return known.version if is_newest else None

    def remember(self, versions: str, version: int, *, directory: Identity | None) -> None:
        """Remember the newest version of a directory as it was right before the listing, or right after our commit.

        A version that somebody adds between a commit and the look at the directory is the next one, which `find` sees.
        """
        path = _manifest(versions, version)
        manifest = identity(path)
        if directory is not None and manifest is not None:
            known = _Known(version, directory, path, manifest, _manifest(versions, version + 1))
            with self._lock:
                if len(self._by_directory) >= _DIRECTORIES_MAX and versions not in self._by_directory:
                    self._by_directory.clear()  # most are of branches that others have deleted
                self._by_directory[versions] = known

    def forget(self, directory: str) -> None:
        """Forget everything that lies in or below a directory."""
        with self._lock:
            for versions in [known for known in self._by_directory if f"{known}/".startswith(f"{directory}/")]:
                del self._by_directory[versions]


def identity(path: str) -> Identity | None:
    """Tell a file or directory from another of its name, and from itself after a change; None when there is none."""
    try:
        found = os.stat(path)  # noqa: PTH116 — several times as fast as by a path object
    except OSError:
        # Gone, behind a file that should be a directory, or not ours to see: whoever opens it says which.
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def _manifest(versions: str, version: int) -> str:
    return f"{versions}/{version_file(version)}"


class SeenRef(NamedTuple):
    """The file that names a ref, as it was when somebody looked."""

    path: str
    identity: Identity

    @property
    def is_unchanged(self) -> bool:
        """Whether it still is that file."""
        return identity(self.path) == self.identity


def see_ref(root: GraphRoot, location: str, name: str) -> SeenRef | None:
    """Look at the file of a ref; None when there is none, and on S3, where a look costs as much as a list."""
    if not root.is_local:
        return None
    directory = f"{root.uri}/{location}/_refs/branches"
    try:
        entries = os.listdir(directory)  # noqa: PTH208 — names are all that is needed
    except OSError:
        return None
    # Lance escapes what a name has and a file must not have.
    path = next((f"{directory}/{entry}" for entry in entries if unquote(unquote(entry)) == f"{name}.json"), None)
    found = identity(path) if path is not None else None
    return SeenRef(path, found) if path is not None and found is not None else None
