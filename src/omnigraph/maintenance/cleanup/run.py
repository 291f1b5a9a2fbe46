"""Cleanup: look at everything first, then remove table by table; one table's failure does not stop the others."""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace

from omnigraph.base import clock, faults
from omnigraph.base.events import Events, Warned, ignore_events, phase
from omnigraph.branches.gates import hold_branches
from omnigraph.engine.choice import EngineChoice, EngineName
from omnigraph.errors import DriftNeedsRepair
from omnigraph.maintenance.admission import refuse_pending_on, require_settled, sole_maintainer
from omnigraph.maintenance.cleanup.orphans import Orphans, Reclaiming, find_orphans
from omnigraph.maintenance.cleanup.place import RemovalPlace
from omnigraph.maintenance.cleanup.plan import CleanupTarget, cleanup_targets, dropped_tables, select_versions
from omnigraph.maintenance.cleanup.policy import CleanupPolicy
from omnigraph.maintenance.cleanup.protections import Protections, gather_protections
from omnigraph.maintenance.cleanup.report import CleanupReport, CleanupRow, as_document
from omnigraph.maintenance.cleanup.tally import Tally
from omnigraph.maintenance.journal import record_run
from omnigraph.maintenance.repair.drift import Classification, find_lasting_drift
from omnigraph.manifest.commits import MAIN_BRANCH
from omnigraph.manifest.rows import MANIFEST
from omnigraph.storage.leftovers import drop_scratch, stale_scratch
from omnigraph.storage.locks import HeldLock, Lease, StoreClock, forget_dead_readers, list_reader_leases, settle_holds
from omnigraph.storage.refs import Ref, list_refs
from omnigraph.storage.removal import remove_table
from omnigraph.storage.retention import Removal, preview_drop, preview_ref_drop, preview_removal
from omnigraph.storage.scratch import SCRATCH_DIRECTORY
from omnigraph.writes.context import GraphContext
from omnigraph.writes.holding import CLEANUP_OPERATION

__all__ = ["CleanupReport", "CleanupRow", "preview_cleanup", "run_cleanup"]

RECOVERY_FLOOR = 3


def run_cleanup(
    context: GraphContext,
    policy: CleanupPolicy,
    *,
    confirm: bool,
    choice: EngineChoice,
    wait_seconds: float,
    events: Events,
) -> CleanupReport:
    """Remove versions outside of the policy that nobody needs; without `confirm`, say exactly what would go."""
    if policy.keep_versions is not None and policy.keep_versions < RECOVERY_FLOOR:
        events(
            Warned(message=f"keeping fewer than {RECOVERY_FLOOR} versions: crash recovery may lose its rollback target")
        )
    alone = sole_maintainer(context, CLEANUP_OPERATION, wait_seconds=wait_seconds, events=events)
    with alone if confirm else nullcontext():
        started = clock.now_us()
        require_settled(context, "cleanup")
        _refuse_drift(context)
        report = _Run(context, policy, choice, executes=confirm, events=events).report()
        if not confirm:
            return report
        document = {key: value for key, value in as_document(report).items() if key != "run_id"}
        run_id = record_run(context.store.objects, "cleanup", started_at_us=started, document=document, events=events)
        return replace(report, run_id=run_id)


def preview_cleanup(context: GraphContext, policy: CleanupPolicy) -> tuple[CleanupRow, ...]:
    """Compute what a cleanup would remove, whatever state the graph is in; changes nothing."""
    in_process = EngineChoice(engine=EngineName.LOCAL)
    return _Run(context, policy, in_process, executes=False, events=ignore_events).report().rows


def _refuse_drift(context: GraphContext) -> None:
    drifted = [
        drift.pin.table_key
        for drift in find_lasting_drift(context, MAIN_BRANCH)
        if drift.classification is not Classification.NO_DRIFT
    ]
    if drifted:
        raise DriftNeedsRepair(
            f"`cleanup` needs tables at the versions that the graph pins, and {', '.join(drifted)} "
            f"{'is' if len(drifted) == 1 else 'are'} not. Nothing was removed; run `omnigraph repair "
            f"{context.store.uri}` first.",
            tables=drifted,
        )


class _Run:
    """One pass over all tables; the branch list and the leases are read anew right before each."""

    def __init__(
        self, context: GraphContext, policy: CleanupPolicy, choice: EngineChoice, *, executes: bool, events: Events
    ) -> None:
        self._context = context
        self._policy = policy
        self._place = RemovalPlace(context, choice, events)
        self._executes = executes
        self._events = events
        objects = context.store.objects
        # Snapshots that this very process holds may not have their lease yet, and the preview is to be exact.
        settle_holds(objects)
        self._clock = StoreClock.observe(objects) if executes else StoreClock.estimate(objects)
        self._reclaiming = Reclaiming(context, self._gather, events)
        self._seen: object = None
        self._protections = self._gather()

    def report(self) -> CleanupReport:
        if self._executes:
            forget_dead_readers(self._context.store.objects, store_clock=self._clock)
        state = self._protections.states[MAIN_BRANCH]
        targets = cleanup_targets(self._protections, self._policy, dropped_tables(self._context, state))
        orphans = {
            location: find_orphans(self._context, location, self._protections, now_seconds=self._clock.now_seconds())
            for location in dict.fromkeys(target.address.location for target in targets if not target.is_dropped)
        }
        faults.reach("cleanup.after_plan")
        rows = (
            *(self._row(target, orphans.get(target.address.location, Orphans())) for target in self._followed(targets)),
            *self._scratch_rows(),
        )
        return CleanupReport(
            policy=self._policy,
            executed=self._executes,
            rows=rows,
            engine=self._place.engine_name,
            engine_reason=self._place.reason,
        )

    def _followed(self, targets: Sequence[CleanupTarget]) -> Iterator[CleanupTarget]:
        """Yield one target after the other, and tell how many are done."""
        name = "cleaning up" if self._executes else "looking at the tables"
        with phase(self._events, name, total=len(targets), unit="tables") as cleaning:
            for target in targets:
                yield target
                cleaning.advance()

    def _row(self, target: CleanupTarget, orphans: Orphans) -> CleanupRow:
        tally = self._tally(target.name, branch=target.branch, dropped=target.is_dropped)
        if target.branch is None and not target.is_dropped:
            self._reclaim(tally, target.address.location, orphans)
        with tally.step(is_moot=lambda: self._is_branch_gone(target)):
            if target.is_dropped:
                self._drop(tally, target.address.location)
            else:
                self._thin_out(tally, target, orphans.refs)
        return tally.row()

    def _tally(self, table_key: str, *, branch: str | None = None, dropped: bool = False) -> Tally:
        return Tally(table_key, branch=branch, dropped=dropped, executes=self._executes, events=self._events)

    def _scratch_rows(self) -> tuple[CleanupRow, ...]:
        """Remove the intermediate files of bulk operations that died; no row when there are none."""
        tally = self._tally(SCRATCH_DIRECTORY)
        stale: dict[str, Removal] = {}
        with tally.step():
            stale = stale_scratch(self._context.store, now_ms=clock.now_ms())
        for operation_id, held in stale.items():
            with tally.step(f"what operation {operation_id} left"):
                if self._executes:
                    drop_scratch(self._context.store, operation_id)
                tally.remove(held)
        row = tally.row()
        return (row,) if stale or row.error is not None else ()

    def _reclaim(self, tally: Tally, location: str, orphans: Orphans) -> None:
        tally.keep(orphans.kept_because)
        objects = self._context.store.objects
        for ref in orphans.refs:
            with tally.step(f"the orphaned ref {ref.name}"):
                tally.reclaim_ref(
                    ref.name,
                    self._reclaiming.drop_ref(location, ref.name)
                    if self._executes
                    else preview_ref_drop(objects, location, ref.name),
                )
        for tree in orphans.trees:
            with tally.step(f"the tree {tree.name}"):
                tally.reclaim_tree(
                    tree.name,
                    self._reclaiming.drop_tree(tree, now_seconds=self._clock.now_seconds())
                    if self._executes
                    else tree.held,
                )

    def _thin_out(self, tally: Tally, target: CleanupTarget, orphans: tuple[Ref, ...]) -> None:
        selection = select_versions(self._context, target, self._fresh_protections(), self._policy, orphans)
        if selection is None:
            return
        tally.keep(selection.kept_because)
        tally.remove(
            self._place.remove_versions(selection.table, selection.versions)
            if self._executes
            else preview_removal(selection.table, selection.versions)
        )

    def _is_branch_gone(self, target: CleanupTarget) -> bool:
        """Whether the branch of a row was deleted meanwhile: then nothing is left to clean, and nothing failed."""
        if target.branch is None:
            return False
        return self._context.manifest.incarnations().get(target.branch) != target.incarnation

    def _drop(self, tally: Tally, location: str) -> None:
        """Remove a table whole, behind the gate of the branch that dropped it: nothing brings it back meanwhile."""
        objects = self._context.store.objects
        held = preview_drop(objects, location)
        if held == Removal():
            return  # An earlier run removed it; the tombstone stays.
        with self._gate() if self._executes else nullcontext():
            if self._executes:
                refuse_pending_on(self._context, MAIN_BRANCH, "cleanup")
            self._protections = self._gather()
            if self._protections.mentions(location):
                tally.keep(["somebody reads it again"])
                return
            if self._executes:
                remove_table(self._context.store.tables, objects, location)
            tally.remove(held)

    def _gate(self) -> HeldLock:
        return hold_branches(self._context, [MAIN_BRANCH], operation=CLEANUP_OPERATION, events=self._events)

    def _fresh_protections(self) -> Protections:
        """Gather again only if a branch or a lease came or went; pins only move forward, and the old ones stay safe."""
        if self._fingerprint() != self._seen:
            self._protections = self._gather()
        return self._protections

    def _gather(self) -> Protections:
        self._seen = self._fingerprint()
        return gather_protections(self._context, self._leases())

    def _leases(self) -> tuple[Lease, ...]:
        return list_reader_leases(self._context.store.objects, store_clock=self._clock)

    def _fingerprint(self) -> object:
        refs = list_refs(self._context.store.tables, MANIFEST.location)
        return (
            {name: ref.incarnation for name, ref in refs.items()},
            {lease.lease_id for lease in self._leases()},
        )
