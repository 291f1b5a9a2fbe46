"""Which states were the newest of their tables when somebody last looked, and whether they still are.

Asking Lance for the newest version lists all versions of a table, which takes longer the more there are. On a local
disk two questions to the file system answer it: the version's manifest is the file that it was, and the next version
has none. Lance numbers versions without gaps and never writes a manifest twice.
"""

from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Generic, TypeVar

State = TypeVar("State")

_VERSIONS_MAX = 2**64 - 1
"""Lance counts the names of manifests down from here, so that the newest is listed first."""


@dataclass(frozen=True, slots=True)
class _Known(Generic[State]):
    state: State
    versions: Path
    version: int
    identity: tuple[int, int, int]

    def is_newest(self) -> bool:
        return _identity(self.versions, self.version) == self.identity and (
            _identity(self.versions, self.version + 1) is None
        )


class KnownHeads(Generic[State]):
    """Remembers the newest state by the directory that holds a table's versions; several threads may share it."""

    def __init__(self) -> None:
        self._by_directory: dict[Path, _Known[State]] = {}
        self._lock = Lock()

    def find(self, versions: Path) -> State | None:
        """Return the state that is known as the newest, if it still is."""
        with self._lock:
            known = self._by_directory.get(versions)
        return known.state if known is not None and known.is_newest() else None

    def remember(self, versions: Path, version: int, state: State) -> None:
        """Remember a state that was just found to be the newest."""
        identity = _identity(versions, version)
        if identity is not None:
            with self._lock:
                self._by_directory[versions] = _Known(state, versions, version, identity)

    def forget(self, directory: Path) -> None:
        """Forget everything that lies in or below a directory."""
        with self._lock:
            for versions in [known for known in self._by_directory if known.is_relative_to(directory)]:
                del self._by_directory[versions]


def _identity(versions: Path, version: int) -> tuple[int, int, int] | None:
    """Tell one file from another that has its name; None when there is no file."""
    try:
        found = (versions / f"{_VERSIONS_MAX - version:020}.manifest").stat()
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
