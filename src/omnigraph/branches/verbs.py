"""`graph.branches`: what users do with branches."""

from collections.abc import Callable, Sequence

from omnigraph.base.events import Events, ignore_events
from omnigraph.branches.create import create_branch
from omnigraph.branches.delete import delete_branch
from omnigraph.branches.listing import BranchSummary, list_branches
from omnigraph.changes.snapshots import BranchDiff, diff_branches
from omnigraph.manifest.commits import MAIN_BRANCH
from omnigraph.writes.context import GraphContext


class Branches:
    """The branches of one graph."""

    def __init__(self, context: GraphContext, refuse_read_only: Callable[[], None]) -> None:
        self._context = context
        self._refuse_read_only = refuse_read_only

    def create(self, name: str, *, source: str = MAIN_BRANCH) -> str:
        """Create a branch from a branch, a commit id or `branch@N`; return its name.

        Costs the same for any size of graph: tables are shared until the branch first writes to them.
        """
        self._refuse_read_only()
        return create_branch(self._context, name, source=self._context.addresses.resolve(source))

    def list(self) -> list[BranchSummary]:
        """Describe every branch, sorted by name."""
        return list_branches(self._context)

    def diff(
        self,
        source: str,
        *,
        into: str = MAIN_BRANCH,
        kinds: Sequence[str] = (),
        types: Sequence[str] = (),
        ops: Sequence[str] = (),
    ) -> BranchDiff:
        """Compare a branch with the commit at which it parted from another: what merging it would bring."""
        resolve = self._context.addresses.resolve
        return diff_branches(self._context, resolve(source), resolve(into), kinds=kinds, types=types, ops=ops)

    def delete(self, name: str, *, events: Events = ignore_events) -> None:
        """Delete a branch; refused while another branch was created from it or reads its tables."""
        self._refuse_read_only()
        delete_branch(self._context, name, events)
