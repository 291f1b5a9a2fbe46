"""What branches left that are gone, or that died before their first write: refs of no branch, trees of no ref."""

from collections.abc import Callable

from omnigraph.base import faults
from omnigraph.base.events import Events
from omnigraph.base.logs import logger_of
from omnigraph.base.values import dataclass
from omnigraph.branches.gates import hold_branches
from omnigraph.graphs.context import GraphContext
from omnigraph.graphs.holding import CLEANUP_OPERATION
from omnigraph.maintenance.admission import refuse_pending_on
from omnigraph.maintenance.cleanup.protections import Protections
from omnigraph.manifest.rows import MANIFEST
from omnigraph.manifest.snapshot import branch_of
from omnigraph.storage.leftovers import StrayTree, drop_stray_tree, find_stray_trees
from omnigraph.storage.refs import Ref, delete_ref, drop_leftover_tree, list_refs
from omnigraph.storage.retention import Removal, preview_ref_drop
from omnigraph.storage.tables import TableAddress

_log = logger_of(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Orphans:
    """What of one table belongs to nobody, and what does not although nobody owns it."""

    refs: tuple[Ref, ...] = ()
    trees: tuple[StrayTree, ...] = ()
    kept_because: tuple[str, ...] = ()
    problem: str | None = None
    """Why nobody can tell what belongs to whom; the table is left alone then."""


def find_orphans(context: GraphContext, location: str, protections: Protections, *, now_seconds: float) -> Orphans:
    """Look for the refs and trees of one table that no branch, merge, reader or pending operation needs."""
    kept: list[str] = []

    def is_free(name: str) -> bool:
        reason = protections.keeps_ref(TableAddress(location, name))
        if reason is not None:
            kept.append(f"ref:{name} is kept: {reason}")
        return reason is None

    trees = [tree for tree in find_stray_trees(context.store, location, now_seconds=now_seconds) if is_free(tree.name)]
    refs: list[Ref] = []
    if location != MANIFEST.location:  # There, and only there, a ref is what makes a branch.
        listed = list_refs(context.store.tables, location)
        needed = {ref.parent for ref in listed.values()} | protections.owned_refs
        refs = [
            listed[name] for name in sorted(listed) if name not in needed and not name.startswith("__") if is_free(name)
        ]
    return Orphans(refs=tuple(refs), trees=tuple(trees), kept_because=tuple(kept))


class Reclaiming:
    """Removes orphans one by one, each behind the gate of its branch; what somebody needs by then stays.

    Whether a branch lives, and who reads, is asked right before each one: only the list of branches decides.
    """

    def __init__(self, context: GraphContext, gather: Callable[[], Protections], events: Events) -> None:
        self._context = context
        self._gather = gather
        self._events = events

    def drop_ref(self, location: str, name: str) -> Removal | None:
        """Delete a ref with its tree; None when somebody needs it again."""
        store = self._context.store
        branch = branch_of(name)
        with hold_branches(self._context, [branch], operation=CLEANUP_OPERATION, events=self._events) as lock:
            protections = self._look_again(branch)
            if name in protections.owned_refs or protections.keeps_ref(TableAddress(location, name)) is not None:
                return None
            held = preview_ref_drop(store.objects, location, name)
            lock.ensure_seconds_left()
            delete_ref(store.tables, location, name)
            faults.reach("cleanup.after_ref_delete")
            drop_leftover_tree(store.objects, location, name, keeps_data=False)
        _log.info("reclaimed the orphaned ref %s of %s", name, location)
        return held

    def drop_tree(self, tree: StrayTree, *, now_seconds: float) -> Removal | None:
        """Delete a tree without a ref; None when somebody needs it again.

        The branch it was meant for may live: it staged files for its first write of the table, and never made it.
        """
        branch = tree.name if tree.location == MANIFEST.location else branch_of(tree.name)
        with hold_branches(self._context, [branch], operation=CLEANUP_OPERATION, events=self._events) as lock:
            if self._look_again(branch).keeps_ref(TableAddress(tree.location, tree.name)) is not None:
                return None
            lock.ensure_seconds_left()
            removed = drop_stray_tree(self._context.store, tree, now_seconds=now_seconds)
        _log.info("removed the tree %s of %s, which has no ref", tree.name, tree.location)
        return removed if removed != Removal() else None

    def _look_again(self, branch: str) -> Protections:
        refuse_pending_on(self._context, branch, CLEANUP_OPERATION)
        return self._gather()
