"""Deleting a branch: its `__manifest` ref goes first, and from that moment the branch is gone for everybody.

What is left of it afterwards (trees, refs on tables) belongs to nobody: names carry the incarnation, so a new branch
of the same name never meets it, and cleanup reclaims it.
"""

from omnigraph.base import faults
from omnigraph.base.endings import tell
from omnigraph.base.events import Events, Warned
from omnigraph.base.logs import about, logger_of
from omnigraph.branches.gates import hold_branches
from omnigraph.branches.names import check_branch_name
from omnigraph.errors import (
    BranchHasDependents,
    InvalidTarget,
    OmniError,
    PreconditionFailed,
    RecoveryRequired,
    StaleView,
)
from omnigraph.graphs.context import GraphContext
from omnigraph.manifest.ancestry import first_parent_line
from omnigraph.manifest.bases import is_fast_forward, merges_of
from omnigraph.manifest.commits import MAIN_BRANCH, CommitId
from omnigraph.manifest.missing import no_such_branch
from omnigraph.manifest.rows import MANIFEST
from omnigraph.manifest.state import ManifestState, look_at_live_branches
from omnigraph.storage.refs import Ref, delete_ref, drop_leftover_tree, list_refs
from omnigraph.writes.recovery.entry import settle_branch

_log = logger_of(__name__)


def delete_branch(context: GraphContext, name: str, events: Events, *, expected_head: CommitId | None = None) -> None:
    """Delete a branch that no other branch depends on; with `expected_head`, only if that still is its head."""
    trimmed = check_branch_name(name)
    if trimmed == MAIN_BRANCH:
        raise InvalidTarget("Branch 'main' cannot be deleted.")
    with hold_branches(context, [trimmed], operation=f"branch delete {trimmed}") as lock:
        refs = list_refs(context.store.tables, MANIFEST.location)
        if trimmed not in refs:
            raise no_such_branch(trimmed, refs, uri=context.store.uri)
        try:
            settle_branch(context, trimmed, lock=lock, events=events)
        except RecoveryRequired as unsettled:
            # The branch goes, and with it what the operation was about.
            events(Warned(message=str(unsettled)))
        state = context.manifest.load(trimmed)
        _refuse_moved_on(state, expected_head)
        _refuse_dependents(context, trimmed, refs, state)
        keeps_tables = _may_be_a_base(context, state)
        lock.ensure_seconds_left()
        _delete_authority(context, refs[trimmed])
        context.manifest.forget(trimmed)
        with about(graph=context.store.uri):
            _log.info("deleted branch %s, whose head was commit %s", trimmed, state.head.graph_commit_id)
        faults.reach("branch.delete.after_ref")
        _reclaim(context, state, events, keeps_tables=keeps_tables)


def _refuse_moved_on(state: ManifestState, expected_head: CommitId | None) -> None:
    head = state.head.graph_commit_id
    if expected_head is not None and head != expected_head:
        raise PreconditionFailed(
            f"The head of '{state.branch.name}' is {head}, not {expected_head}: it holds newer commits, which deleting "
            "it would lose.",
            expected=expected_head,
            actual=head,
        )


def _refuse_dependents(context: GraphContext, name: str, refs: dict[str, Ref], state: ManifestState) -> None:
    dependents = {other.name for other in refs.values() if other.parent == name}
    own_ref = state.snapshot.own_ref
    for other, seen in look_at_live_branches(context.manifest, context.manifest.load).items():
        if other != name and own_ref in {pin.ref for pin in seen.snapshot.pins.values()}:
            dependents.add(other)
    if dependents:
        listed = ", ".join(sorted(dependents))
        raise BranchHasDependents(
            f"Branch '{name}' cannot be deleted: {listed} still reads its tables or was created from it. "
            "Delete or merge those first.",
            branch=name,
            dependents=sorted(dependents),
        )


def _delete_authority(context: GraphContext, ref: Ref) -> None:
    """Delete the `__manifest` ref; after an unclear error the list says what became of it."""
    try:
        delete_ref(context.store.tables, MANIFEST.location, ref.name)
    except OmniError:
        left = list_refs(context.store.tables, MANIFEST.location).get(ref.name)
        if left is None:
            return
        if left.incarnation != ref.incarnation:
            raise StaleView(
                f"stale view of branch '{ref.name}': it was deleted and created again meanwhile — refresh and retry"
            ) from None
        raise


def _may_be_a_base(context: GraphContext, state: ManifestState) -> bool:
    """Whether several branches have merged this one, so that merging them with each other needs its tables.

    They stay as orphans then, and cleanup reclaims them once nobody needs them.
    """
    history = context.log.history(state.head)
    own = {
        commit_id
        for commit_id in first_parent_line(history, state.head.graph_commit_id)
        if history[commit_id].graph_branch == state.branch.name
    }
    return sum(not is_fast_forward(merge) for merge in merges_of(history, own)) > 1


def _reclaim(context: GraphContext, state: ManifestState, events: Events, *, keeps_tables: bool) -> None:
    """Remove what the branch owned, as far as possible; whatever stays is an orphan that cleanup recognises."""
    own_ref = state.snapshot.own_ref
    assert own_ref is not None
    owned = [(MANIFEST.location, state.branch.name)]
    if not keeps_tables:
        owned += [(pin.location, own_ref) for pin in state.snapshot.pins.values()]
    for location, ref in owned:
        try:
            if ref in list_refs(context.store.tables, location):
                delete_ref(context.store.tables, location, ref)
            drop_leftover_tree(context.store.objects, location, ref, keeps_data=False)
            faults.reach("branch.delete.after_some_forks")
        except (OmniError, OSError) as error:
            tell(events, Warned(message=f"{location}/tree/{ref} could not be removed; cleanup will: {error}"))
