"""The states of branches that a process has read, as many as are worth their memory.

A branch can be deleted by anybody, and names come and go: whoever remembered all of them would grow for ever. Those
that were not asked for longest go first; `main` stays.
"""

from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, Final, NamedTuple

from omnigraph.manifest.commits import MAIN_BRANCH

if TYPE_CHECKING:
    from omnigraph.manifest.state import ManifestState
    from omnigraph.storage.known_heads import SeenRef

_BRANCHES_MIN: Final = 16
_BRANCHES_MAX: Final = 256
_BYTES_MAX: Final = 16 << 20
_FRAGMENT_BYTES: Final = 1 << 10


class KnownBranch(NamedTuple):
    """A branch as it was read, and the file that named it then."""

    state: "ManifestState"
    seen: "SeenRef | None"

    @property
    def nbytes(self) -> int:
        """How much memory it takes, roughly: its rows, and what its table says of files."""
        return int(self.state.rows.nbytes) + _FRAGMENT_BYTES * (1 + self.state.table.fragment_count)


class KnownBranches:
    """Branches by name; several threads may share it."""

    def __init__(self) -> None:
        self._by_name: OrderedDict[str, KnownBranch] = OrderedDict()
        self._sizes: dict[str, int] = {}
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._by_name)

    @property
    def nbytes(self) -> int:
        """How much memory all of them take, roughly."""
        return sum(self._sizes.values())

    def names(self) -> set[str]:
        """Return which branches are known."""
        with self._lock:
            return {*self._by_name}

    def find(self, name: str) -> KnownBranch | None:
        """Return what is known of a branch; every query asks, so nothing is noted of it."""
        return self._by_name.get(name)

    def keep(self, name: str, state: "ManifestState", seen: "SeenRef | None") -> None:
        """Know a branch, and let go of those that were kept or used longest ago."""
        with self._lock:
            self._keep(name, KnownBranch(state, seen))

    def replace(self, name: str, before: "ManifestState", after: "ManifestState") -> None:
        """Know the state that followed another, if that is what is known."""
        with self._lock:
            known = self._by_name.get(name)
            if known is not None and known.state is before:
                self._keep(name, KnownBranch(after, known.seen))

    def note_used(self, name: str) -> None:
        """Let a branch stay longer."""
        with self._lock:
            if name in self._by_name:
                self._by_name.move_to_end(name)

    def forget(self, name: str) -> None:
        """Let go of a branch: it was deleted."""
        with self._lock:
            self._drop(name)

    def _keep(self, name: str, branch: KnownBranch) -> None:
        self._by_name[name] = branch
        self._by_name.move_to_end(name)
        self._sizes[name] = branch.nbytes
        while len(self._by_name) > _BRANCHES_MAX or (
            len(self._by_name) > _BRANCHES_MIN and sum(self._sizes.values()) > _BYTES_MAX
        ):
            self._drop(next(known for known in self._by_name if known != MAIN_BRANCH))

    def _drop(self, name: str) -> None:
        self._by_name.pop(name, None)
        self._sizes.pop(name, None)
