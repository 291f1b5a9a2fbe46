"""Reads over the heads of branches for a process that answers many of them: one look at storage serves all for a while.

A look costs little on a local disk and a round trip on S3, and a server is asked more often than a branch moves. What
this process writes itself is seen at once, because who writes calls `forget`.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from omnigraph.base.clock import monotonic_seconds

if TYPE_CHECKING:
    from omnigraph.graphs.heads import HeadSnapshots
    from omnigraph.graphs.result import Result
    from omnigraph.graphs.snapshot import Snapshot
    from omnigraph.query.asking import Asking
    from omnigraph.query.caches import CacheFacts

LOOK_SECONDS = 0.25
"""How long a look counts as new; commits of others are promised to be seen within a second."""
_BRANCHES_MAX = 1_024


class _Seen(NamedTuple):
    snapshot: "Snapshot"
    at: float


class Following:
    """The newest snapshots of one graph's branches as of a moment ago; several threads may share it."""

    def __init__(self, heads: "HeadSnapshots", asking: "Asking", at: "Callable[[str], Snapshot]") -> None:
        self.at = at
        """Returns the state that an address means, found out now; not held."""
        self._heads = heads
        self._asking = asking
        self._seen: dict[str, _Seen] = {}
        self.writes = 0
        """How often somebody wrote; a look that began before the last of these may have missed it."""

    def caches(self) -> "list[CacheFacts]":
        """Tell how well what is kept of this graph serves."""
        return self._asking.caches()

    def recent(self, branch: str, *, age_seconds: float = LOOK_SECONDS) -> "Snapshot | None":
        """Return the snapshot that the last look found, if that was no longer ago than this; asks nobody."""
        seen = self._seen.get(branch)
        return seen.snapshot if seen is not None and monotonic_seconds() - seen.at < age_seconds else None

    def look(self, branch: str) -> "Snapshot":
        """Return the newest snapshot of a branch, found out now."""
        at, writes = monotonic_seconds(), self.writes
        snapshot = self._heads.newest(branch)
        if (
            writes == self.writes and snapshot.branch == branch
        ):  # else somebody wrote meanwhile, and this may be from before
            if len(self._seen) >= _BRANCHES_MAX:
                self._seen.clear()
            self._seen[branch] = _Seen(snapshot, at)
        return snapshot

    def forget(self) -> None:
        """Look anew at the next question: something was written."""
        self.writes += 1
        self._seen.clear()

    def query(
        self, snapshot: "Snapshot", text: str, name: str | None, values: Mapping[str, object], *, source: str
    ) -> "Result":
        """Run one read for who wants values and no Arrow."""
        return self._asking.query(snapshot, text, name, values, source=source, is_plain=True)

    def query_briefly(
        self, snapshot: "Snapshot", text: str, name: str | None, values: Mapping[str, object]
    ) -> "Result | None":
        """Run a read that is at hand, where others wait for it; None if it reaches much after all."""
        return self._asking.query_briefly(snapshot, text, name, values)

    def is_at_hand(self, snapshot: "Snapshot", text: str, name: str | None) -> bool:
        """Whether a read touches little by its shape, and all that it needs is in memory."""
        return self._asking.is_at_hand(snapshot, text, name)
