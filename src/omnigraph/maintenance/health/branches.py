"""How the branches besides `main` are doing: how long they rest, what they keep alive, and what only they hold."""

from collections.abc import Iterable, Mapping

from omnigraph.base.values import dataclass
from omnigraph.errors import GraphCorrupt, StorageError
from omnigraph.graphs.capture import Capture
from omnigraph.graphs.context import GraphContext
from omnigraph.maintenance.unreadable import refuse_unreachable
from omnigraph.manifest.ancestry import History, ancestors
from omnigraph.manifest.commits import MAIN_BRANCH, Commit, CommitKind
from omnigraph.manifest.rows import MANIFEST
from omnigraph.manifest.snapshot import GraphSnapshot, TablePin
from omnigraph.storage.refs import Ref, list_refs
from omnigraph.storage.tables import TableAddress

_WITHOUT_CONTENT = frozenset({CommitKind.MAINTENANCE})
"""Commits that change no row, so that nothing is lost with them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveBranch:
    """A branch that could be read, as it was then."""

    capture: Capture
    head: Commit


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchHealth:
    """One branch besides `main`."""

    name: str
    graph_version: int
    created_at_us: int
    last_commit_us: int
    """Of a new branch, this is the commit that it was made from."""
    parent: str
    """Where it would be merged: the branch that it came from, or `main` if that is gone."""
    owned_tables: int
    old_versions_kept: int
    """Versions that nobody else reads any more and that cleanup must keep because of this branch."""
    unmerged_commits: int | None
    """Commits with changes that neither `main` nor the parent has; they would go with the branch. None: unknown."""

    @property
    def last_active_us(self) -> int:
        """When somebody last did something with it: made it, or committed to it."""
        return max(self.created_at_us, self.last_commit_us)


def observe_branches(
    context: GraphContext, live: Mapping[str, LiveBranch], history: History | None
) -> list[BranchHealth]:
    """Describe every branch that could be read; one that is gone from the list by now is left out."""
    refs = list_refs(context.store.tables, MANIFEST.location)
    return [
        _observe(context, refs[name], live, history)
        for name in live
        if name in refs and refs[name].incarnation == live[name].capture.snapshot.incarnation
    ]


def _observe(context: GraphContext, ref: Ref, live: Mapping[str, LiveBranch], history: History | None) -> BranchHealth:
    branch = live[ref.name]
    snapshot = branch.capture.snapshot
    parent = ref.parent if ref.parent is not None and ref.parent in live else MAIN_BRANCH
    return BranchHealth(
        name=ref.name,
        graph_version=snapshot.graph_version,
        created_at_us=ref.created_at_s * 1_000_000,
        last_commit_us=branch.head.created_at_us,
        parent=parent,
        owned_tables=sum(pin.ref == snapshot.own_ref for pin in snapshot.pins.values()),
        old_versions_kept=_old_versions_kept(context, snapshot, live),
        unmerged_commits=_unmerged(branch, [live[name] for name in {MAIN_BRANCH, parent} & live.keys()], history),
    )


def _old_versions_kept(context: GraphContext, snapshot: GraphSnapshot, live: Mapping[str, LiveBranch]) -> int:
    """Count the tables of which the branch reads, or was forked from, a state that is not its owner's newest."""
    newest = {
        pin.address: pin.version
        for branch in live.values()
        for pin in branch.capture.snapshot.pins.values()
        if pin.ref == branch.capture.snapshot.own_ref
    }
    read = (_read_from_others(context, snapshot, pin) for pin in snapshot.pins.values())
    return sum(newest.get(address) != version for address, version in filter(None, read))


def _read_from_others(context: GraphContext, snapshot: GraphSnapshot, pin: TablePin) -> tuple[TableAddress, int] | None:
    """Return the state of somebody else's table that a pin rests on; None when that cannot be told."""
    if pin.ref != snapshot.own_ref:
        return pin.address, pin.version
    try:
        fork = list_refs(context.store.tables, pin.location).get(str(pin.ref))
    except StorageError as error:
        refuse_unreachable(error)
        return None  # The table's own observation tells of it.
    return None if fork is None else (TableAddress(pin.location, fork.parent), fork.parent_version)


def _unmerged(branch: LiveBranch, others: Iterable[LiveBranch], history: History | None) -> int | None:
    if history is None:
        return None
    try:
        elsewhere = [ancestors(history, other.head.graph_commit_id) for other in others]
        own = ancestors(history, branch.head.graph_commit_id).difference(*elsewhere)
    except GraphCorrupt:
        return None  # A log with a gap: nobody can tell what is merged.
    return sum(history[commit].kind not in _WITHOUT_CONTENT for commit in own)
