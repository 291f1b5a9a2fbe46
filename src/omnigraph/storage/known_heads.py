"""Which states were the newest of their tables when we last looked or committed, and whether they still are.

Asking Lance for the newest version lists all versions of a table, which takes longer the more there are. On a local
disk three questions to the file system answer it: the directory of versions has not changed since then, the
version's manifest is the file that it was, and the next version has none. The last one alone would not do, because a
cleanup leaves gaps; the first one alone would not do, because a directory's time stands still for some milliseconds.
"""

from pathlib import Path
from threading import Lock
from typing import NamedTuple, TypeAlias

from omnigraph.storage.version_files import version_file

Identity: TypeAlias = tuple[int, int, int]


class _Known(NamedTuple):
    version: int
    directory: Identity
    manifest: Identity


class KnownHeads:
    """Remembers the newest version by the directory that holds a table's versions; several threads may share it."""

    def __init__(self) -> None:
        self._by_directory: dict[Path, _Known] = {}
        self._lock = Lock()

    def find(self, versions: Path) -> int | None:
        """Return the version that is known as the newest, if it still is."""
        with self._lock:
            known = self._by_directory.get(versions)
        if known is None:
            return None
        is_newest = (
            identity(versions) == known.directory
            and identity(_manifest(versions, known.version)) == known.manifest
            and identity(_manifest(versions, known.version + 1)) is None
        )
        return known.version if is_newest else None

    def remember(self, versions: Path, version: int, *, directory: Identity | None) -> None:
        """Remember the newest version of a directory as it was right before the listing, or right after our commit.

        A version that somebody adds between a commit and the look at the directory is the next one, which `find` sees.
        """
        manifest = identity(_manifest(versions, version))
        if directory is not None and manifest is not None:
            with self._lock:
                self._by_directory[versions] = _Known(version, directory, manifest)

    def forget(self, directory: Path) -> None:
        """Forget everything that lies in or below a directory."""
        with self._lock:
            for versions in [known for known in self._by_directory if known.is_relative_to(directory)]:
                del self._by_directory[versions]


def identity(path: Path) -> Identity | None:
    """Tell a file or directory from another of its name, and from itself after a change; None when there is none."""
    try:
        found = path.stat()
    except OSError:
        # Gone, behind a file that should be a directory, or not ours to see: whoever opens it says which.
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def _manifest(versions: Path, version: int) -> Path:
    return versions / version_file(version)
