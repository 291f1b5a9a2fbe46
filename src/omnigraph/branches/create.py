"""Creating a branch: one Lance branch of `__manifest`, whatever the size of the graph.

Its existence in the list of `__manifest`'s branches, and nothing else, is the existence of the branch. So there is no
sidecar and no commit: every leftover of a crash is recognisable from that list.
"""

from omnigraph.base import faults
from omnigraph.base.endings import tell
from omnigraph.base.events import Events, Published, ignore_events
from omnigraph.base.logs import about, logger_of
from omnigraph.branches.gates import hold_branches
from omnigraph.branches.names import check_new_name
from omnigraph.errors import BranchExists, HistoricalVersionReclaimed
from omnigraph.graphs.context import GraphContext
from omnigraph.graphs.holding import hold_versions
from omnigraph.manifest.addresses import Located
from omnigraph.manifest.commits import Commit
from omnigraph.manifest.root import refuse_moved
from omnigraph.manifest.rows import MANIFEST
from omnigraph.manifest.state import ManifestState
from omnigraph.storage.refs import create_ref, drop_leftover_tree, list_refs
from omnigraph.storage.tables import Table
from omnigraph.writes.recovery.entry import settle_branch

_log = logger_of(__name__)


def create_branch(context: GraphContext, name: str, *, source: Located, events: Events = ignore_events) -> str:
    """Create a branch from a commit; return its name. The head of a branch is read again under the gates."""
    refuse_moved(context.store.tables, context.store.root)
    trimmed = check_new_name(name, context.manifest.branch_names())
    with hold_branches(context, [source.branch, trimmed], operation=f"branch create {trimmed}", events=events) as lock:
        # A branch forked while a schema change is unsettled would keep the old schema when that is rolled forward.
        settle_branch(context, source.branch, lock=lock, events=events)
        existing = list_refs(context.store.tables, MANIFEST.location)
        if trimmed in existing:
            raise BranchExists(f"Branch '{trimmed}' exists already.", branch=trimmed)
        check_new_name(trimmed, list(existing))
        state = context.manifest.load(source.branch)
        # Files without a ref are what a crash left of an earlier creation; Lance refuses to create over them.
        drop_leftover_tree(context.store.objects, MANIFEST.location, trimmed, keeps_data=False)
        if source.is_head:
            _fork(context, state.table, trimmed)
        else:
            _fork_from_the_past(context, state, source.commit, trimmed)
        with about(graph=context.store.uri):
            _log.info("created branch %s at commit %s", trimmed, source.commit.graph_commit_id)
        tell(events, Published(what=f"the new branch {trimmed}"))
    return trimmed


def _fork(context: GraphContext, manifest: Table, name: str) -> None:
    faults.reach("branch.create.before_ref")
    create_ref(context.store.tables, manifest, name)
    faults.reach("branch.create.after_ref")


def _fork_from_the_past(context: GraphContext, state: ManifestState, at: Commit, name: str) -> None:
    """Fork an older state; a lease keeps a running cleanup from the versions it pins until the branch itself does."""
    snapshot = state.snapshot_at(at.graph_version, at.graph_commit_id)
    with hold_versions(context, snapshot.pins.values(), operation=f"branch create {name}"):
        for pin in snapshot.pins.values():
            pin.state.open(context.store.tables)
        _fork(context, _manifest_at(context, state, at), name)


def _manifest_at(context: GraphContext, state: ManifestState, at: Commit) -> Table:
    """Find the newest Lance version of `__manifest` whose head is a commit, by bisection over its versions.

    The head's graph version never decreases along Lance versions: compactions and migrations repeat it.
    """
    versions = state.table.versions()
    low, high = 0, len(versions) - 1
    found: Table | None = None
    while low <= high:
        middle = (low + high) // 2
        table = context.store.tables.open(state.table.address, versions[middle])
        head = context.manifest.head_of(table)
        if head is not None and head.graph_version > at.graph_version:
            high = middle - 1
        else:
            found = table if head is not None and head.graph_commit_id == at.graph_commit_id else found
            low = middle + 1
    if found is None:
        raise HistoricalVersionReclaimed(
            f"The state of __manifest at commit {at.graph_commit_id} is gone: cleanup removed it. "
            "Branch from a newer commit.",
            table_key=MANIFEST.location,
            version=at.graph_version,
        )
    return found
