"""Taking back a ref that an interrupted operation created for the first write of a branch to a table."""

from omnigraph.base import faults
from omnigraph.errors import OmniError
from omnigraph.manifest.commits import MAIN_BRANCH
from omnigraph.storage.refs import delete_ref, drop_leftover_tree, list_refs
from omnigraph.writes.context import GraphContext
from omnigraph.writes.recovery.decide import EffectClass, classify
from omnigraph.writes.recovery.facts import observe_effect
from omnigraph.writes.sidecar import Sidecar, SidecarEffect

_REMOVABLE = frozenset({EffectClass.UNTOUCHED, EffectClass.EMPTY_FORK, EffectClass.COMPLETE, EffectClass.PARTIAL})


def forks_to_remove(sidecar: Sidecar) -> tuple[SidecarEffect, ...]:
    """Return the effects whose ref belongs to this operation alone."""
    return tuple(effect for effect in sidecar.effects if effect.fork is not None)


def remove_fork(context: GraphContext, effect: SidecarEffect) -> str | None:
    """Delete the ref of a fork and what else its creation left; return why not, if something is in the way.

    An absent ref counts as done. Data files stay where no ref was made: another first write may have staged them.
    """
    found = classify(observe_effect(context, effect))
    if found not in _REMOVABLE:
        return f"{effect.table_key}: the branch's own ref holds commits of somebody else ({found})"
    pinned_by = _branch_that_pins(context, effect)
    if pinned_by is not None:
        return f"{effect.table_key}: branch '{pinned_by}' pins the ref {effect.ref}"
    assert effect.ref is not None
    existed = effect.ref in list_refs(context.store.tables, effect.location)
    if existed:
        delete_ref(context.store.tables, effect.location, effect.ref)
        faults.reach("recover.after_fork_delete")
    drop_leftover_tree(context.store.objects, effect.location, effect.ref, keeps_data=not existed)
    return None


def _branch_that_pins(context: GraphContext, effect: SidecarEffect) -> str | None:
    for branch in (MAIN_BRANCH, *context.manifest.branch_names()):
        try:
            pin = context.manifest.load(branch).snapshot.pin_of(effect.identity)
        except OmniError:
            return branch  # A branch that cannot be read may need the ref.
        if pin is not None and pin.ref == effect.ref:
            return branch
    return None
