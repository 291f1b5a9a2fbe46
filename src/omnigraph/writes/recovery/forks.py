"""Taking back what an interrupted operation made for itself: a ref for the first write of a branch, a new table."""

from omnigraph.base import faults
from omnigraph.catalog.model import TableIdentity
from omnigraph.errors import BranchNotFound, OmniError
from omnigraph.graphs.context import GraphContext
from omnigraph.manifest.commits import MAIN_BRANCH
from omnigraph.storage.refs import delete_ref, drop_leftover_tree, list_refs
from omnigraph.storage.removal import remove_table
from omnigraph.storage.tables import TableAddress
from omnigraph.writes.recovery.decide import EffectClass, classify
from omnigraph.writes.recovery.facts import observe_effect
from omnigraph.writes.sidecar import Sidecar, SidecarEffect

_REMOVABLE = frozenset({EffectClass.UNTOUCHED, EffectClass.EMPTY_FORK, EffectClass.COMPLETE, EffectClass.PARTIAL})


def targets_to_remove(sidecar: Sidecar) -> tuple[SidecarEffect, ...]:
    """Return the effects whose table or ref belongs to this operation alone."""
    return tuple(effect for effect in sidecar.effects if effect.creates_its_target)


def remove_target(context: GraphContext, effect: SidecarEffect) -> str | None:
    """Delete the table or ref that an effect created; return why not, if something is in the way."""
    return _remove_fork(context, effect) if effect.fork is not None else _remove_table(context, effect)


def _remove_table(context: GraphContext, effect: SidecarEffect) -> str | None:
    """Delete a table that no graph version ever showed; what an unfinished creation left goes too."""
    found = classify(observe_effect(context, effect))
    if found not in {EffectClass.UNTOUCHED, EffectClass.COMPLETE}:
        return f"{effect.table_key}: the new table holds commits of somebody else ({found})"
    for branch in (MAIN_BRANCH, *context.manifest.branch_names()):
        if context.manifest.load(branch).snapshot.pin_of(effect.identity) is not None:
            return f"{effect.table_key}: branch '{branch}' pins the new table"
    remove_table(context.store.tables, context.store.objects, effect.location)
    faults.reach("recover.after_table_drop")
    return None


def _remove_fork(context: GraphContext, effect: SidecarEffect) -> str | None:
    """Delete the ref of a fork and what else its creation left; return why not, if something is in the way.

    An absent ref counts as done. Data files stay where no ref was made: another first write may have staged them.
    """
    found = classify(observe_effect(context, effect))
    if found not in _REMOVABLE:
        return f"{effect.table_key}: the branch's own ref holds commits of somebody else ({found})"
    assert effect.ref is not None
    pinned_by = branch_that_pins(context, effect.identity, effect.ref)
    if pinned_by is not None:
        return f"{effect.table_key}: branch '{pinned_by}' pins the ref {effect.ref}"
    remove_ref(context, TableAddress(effect.location, effect.ref))
    return None


def remove_ref(context: GraphContext, address: TableAddress) -> None:
    """Delete a ref that nobody pins and what else its creation left; the caller holds the gate of its branch."""
    assert address.ref is not None
    existed = address.ref in list_refs(context.store.tables, address.location)
    if existed:
        _invalidate_staged_files(context, address)
        delete_ref(context.store.tables, address.location, address.ref)
        faults.reach("recover.after_fork_delete")
    drop_leftover_tree(context.store.objects, address.location, address.ref, keeps_data=not existed)


def _invalidate_staged_files(context: GraphContext, address: TableAddress) -> None:
    """Remove all data files while the ref still exists: Lance takes the tree away in no particular order.

    Another first write may have staged files there. It looks for each of them before it commits and must never find
    one whose blobs are gone already.
    """
    for path in context.store.objects.list(f"{address.path}/data/"):
        if path.endswith(".lance"):
            context.store.objects.delete(path)


def branch_that_pins(context: GraphContext, identity: TableIdentity, ref: str) -> str | None:
    """Return a branch that reads a ref of a table, or may do so; None when none does."""
    for branch in (MAIN_BRANCH, *context.manifest.branch_names()):
        try:
            pin = context.manifest.load(branch).snapshot.pin_of(identity)
        except BranchNotFound:
            continue  # It was deleted since the listing.
        except OmniError:
            return branch  # A branch that cannot be read may need the ref.
        if pin is not None and pin.ref == ref:
            return branch
    return None
