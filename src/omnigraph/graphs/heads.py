"""The snapshots of branches' heads that queries ask about, made once for as long as a head does not move."""

from typing import TYPE_CHECKING, NamedTuple

from omnigraph.graphs.locating import locate
from omnigraph.graphs.snapshot import Snapshot

if TYPE_CHECKING:
    from omnigraph.graphs.context import GraphContext
    from omnigraph.graphs.snapshot import Queries
    from omnigraph.manifest.state import ManifestState


class _Known(NamedTuple):
    state: "ManifestState"
    snapshot: Snapshot


class HeadSnapshots:
    """Finds the newest snapshot of a branch; none is held, because each is read at once. Threads may share it.

    Making a snapshot, and checking that it fits its schema, takes longer than a small question.
    """

    def __init__(self, context: "GraphContext", queries: "Queries") -> None:
        self._context = context
        self._queries = queries
        self._by_branch: dict[str, _Known] = {}

    def newest(self, branch: str) -> Snapshot:
        """Return the snapshot that the name of a branch means now; other addresses mean what they mean elsewhere."""
        known = self._by_branch.get(branch)
        if known is not None and self._context.manifest.is_current(known.state):
            return known.snapshot
        located = locate(self._context, branch=branch)
        snapshot = Snapshot(self._context, located.snapshot, queries=self._queries)
        if located.is_head and located.branch == branch:
            self._let_go()
            self._by_branch[branch] = _Known(located.state, snapshot)
        return snapshot

    def _let_go(self) -> None:
        """Let go of snapshots that cannot be asked for again: of branches that are gone, or whose state moved on."""
        manifest = self._context.manifest
        for branch, known in [*self._by_branch.items()]:
            if not manifest.is_known(known.state):
                self._by_branch.pop(branch, None)
