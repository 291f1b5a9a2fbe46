"""Refs of branches that are gone: what a branch delete left when it died half-way."""

import logging
from collections.abc import Iterable, Mapping

from omnigraph.branches.gates import hold_branches
from omnigraph.errors import OmniError
from omnigraph.maintenance.cleanup.protections import merge_base_pins
from omnigraph.manifest.live_branches import look_at_live_branches
from omnigraph.manifest.snapshot import branch_of, own_ref
from omnigraph.storage.refs import Ref, delete_ref, drop_leftover_tree, list_refs
from omnigraph.writes.context import GraphContext
from omnigraph.writes.sidecar import list_pending

_log = logging.getLogger(__name__)


def find_orphans(context: GraphContext, locations: Iterable[str]) -> Mapping[str, tuple[Ref, ...]]:
    """Return, per table, the refs that belong to no live branch, no pending operation and no other ref."""
    live = _needed_refs(context)
    found: dict[str, tuple[Ref, ...]] = {}
    for location in locations:
        refs = list_refs(context.store.tables, location)
        parents = {ref.parent for ref in refs.values()}
        orphans = sorted(name for name in refs if name not in live | parents and not name.startswith("__"))
        if orphans:
            found[location] = tuple(refs[name] for name in orphans)
    return found


def reclaim_orphans(context: GraphContext, location: str, names: Iterable[str]) -> tuple[str, ...]:
    """Delete refs that still belong to nobody; return those that went. One that Lance will not part with stays."""
    reclaimed = []
    for name in names:
        try:
            with hold_branches(context, [branch_of(name)], operation="cleanup"):
                # Whether a branch lives is asked right before each one: only the list of branches decides.
                if name in _needed_refs(context):
                    continue
                delete_ref(context.store.tables, location, name)
                drop_leftover_tree(context.store.objects, location, name, keeps_data=False)
        except OmniError as refused:
            _log.warning("the orphaned ref %s of %s stays: %s", name, location, refused)
            continue
        _log.info("reclaimed the orphaned ref %s of %s", name, location)
        reclaimed.append(name)
    return tuple(reclaimed)


def _needed_refs(context: GraphContext) -> set[str]:
    needed = set()
    states = look_at_live_branches(context.manifest, context.manifest.load)
    for branch, state in states.items():
        own = own_ref(branch, state.snapshot.incarnation)
        needed |= {ref for ref in (own, *(pin.ref for pin in state.snapshot.pins.values())) if ref is not None}
    needed |= {pin.ref for _, pin in merge_base_pins(context, states) if pin.ref is not None}
    for operation in list_pending(context.sidecars):
        if operation.sidecar is not None:
            needed |= {effect.ref for effect in operation.sidecar.effects if effect.ref is not None}
    return needed
