"""Cleanup: look at everything first, then remove table by table; one table's failure does not stop the others."""

import logging
from contextlib import nullcontext
from dataclasses import dataclass, replace

from omnigraph.base import clock
from omnigraph.base.events import Events, Warned
from omnigraph.branches.gates import hold_branches
from omnigraph.errors import DriftNeedsRepair, OmniError
from omnigraph.maintenance.admission import require_settled, sole_maintainer
from omnigraph.maintenance.cleanup.orphans import find_orphans, reclaim_orphans
from omnigraph.maintenance.cleanup.plan import CleanupTarget, cleanup_targets, dropped_tables, select_versions
from omnigraph.maintenance.cleanup.policy import CleanupPolicy
from omnigraph.maintenance.cleanup.protections import Protections, gather_protections
from omnigraph.maintenance.journal import record_run
from omnigraph.maintenance.repair.drift import Classification, find_lasting_drift
from omnigraph.manifest.commits import MAIN_BRANCH
from omnigraph.manifest.rows import MANIFEST
from omnigraph.storage.leftovers import drop_scratch, stale_scratch
from omnigraph.storage.locks import HeldLock, Lease, StoreClock, forget_dead_readers, list_reader_leases
from omnigraph.storage.refs import Ref, list_refs
from omnigraph.storage.removal import remove_table
from omnigraph.storage.retention import Removal, preview_drop, preview_ref_drop, preview_removal, remove_versions
from omnigraph.storage.scratch import SCRATCH_DIRECTORY
from omnigraph.writes.context import GraphContext
from omnigraph.writes.holding import CLEANUP_OPERATION

RECOVERY_FLOOR = 3

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanupRow:
    """What went, or would go, from one ref of one table."""

    table_key: str
    branch: str | None
    dropped: bool
    removed: Removal
    branches_reclaimed: tuple[str, ...]
    kept_because: tuple[str, ...]
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanupReport:
    """All rows of one run."""

    policy: CleanupPolicy
    executed: bool
    rows: tuple[CleanupRow, ...]
    run_id: str | None = None
    """The entry of the maintenance journal; None for a preview."""

    @property
    def failed(self) -> tuple[CleanupRow, ...]:
        """The tables that could not be cleaned."""
        return tuple(row for row in self.rows if row.error is not None)


def run_cleanup(
    context: GraphContext, policy: CleanupPolicy, *, confirm: bool, wait_seconds: float, events: Events
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
        report = _Run(context, policy, executes=confirm).report()
        if not confirm:
            return report
        summary = {
            "versions": sum(row.removed.versions for row in report.rows),
            "bytes": sum(row.removed.bytes for row in report.rows),
            "failed": [row.table_key for row in report.failed],
        }
        return replace(
            report, run_id=record_run(context.store.objects, "cleanup", started_at_us=started, document=summary)
        )


def preview_cleanup(context: GraphContext, policy: CleanupPolicy) -> tuple[CleanupRow, ...]:
    """Compute what a cleanup would remove, whatever state the graph is in; changes nothing."""
    return _Run(context, policy, executes=False).report().rows


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

    def __init__(self, context: GraphContext, policy: CleanupPolicy, *, executes: bool) -> None:
        self._context = context
        self._policy = policy
        self._executes = executes
        self._clock = StoreClock.observe(context.store.objects) if executes else None
        self._seen: object = None
        self._protections = self._gather()

    def report(self) -> CleanupReport:
        if self._clock is not None:
            forget_dead_readers(self._context.store.objects, store_clock=self._clock)
        state = self._protections.states[MAIN_BRANCH]
        targets = cleanup_targets(self._protections, self._policy, dropped_tables(self._context, state))
        locations = dict.fromkeys(target.address.location for target in targets if not target.is_internal)
        orphans = find_orphans(self._context, locations)
        return CleanupReport(
            policy=self._policy,
            executed=self._executes,
            rows=(
                *(self._row(target, orphans.get(target.address.location, ())) for target in targets),
                *self._scratch_rows(),
            ),
        )

    def _row(self, target: CleanupTarget, orphans: tuple[Ref, ...]) -> CleanupRow:
        removed = Removal()
        kept_because: tuple[str, ...] = ()
        reclaimed: tuple[str, ...] = ()
        error: str | None = None
        try:
            if target.branch is None and not target.is_dropped:
                reclaimed, removed = self._reclaim(target, tuple(ref.name for ref in orphans))
            more, kept_because = self._drop(target) if target.is_dropped else self._thin_out(target, orphans)
            removed += more
        except (OmniError, OSError) as failure:
            _log.warning("cleaning %s failed: %s", target.address.path, failure)
            error = str(failure)
        return CleanupRow(
            table_key=target.name,
            branch=target.branch,
            dropped=target.is_dropped,
            removed=removed,
            branches_reclaimed=reclaimed,
            kept_because=kept_because,
            error=error,
        )

    def _scratch_rows(self) -> tuple[CleanupRow, ...]:
        """Remove the intermediate files of bulk operations that died; no row when there are none."""
        stale = stale_scratch(self._context.store, now_ms=clock.now_ms())
        error: str | None = None
        for operation_id in stale if self._executes else ():
            try:
                drop_scratch(self._context.store, operation_id)
            except (OmniError, OSError) as failure:
                _log.warning("what operation %s left stays: %s", operation_id, failure)
                error = str(failure)
        if not stale:
            return ()
        row = CleanupRow(
            table_key=SCRATCH_DIRECTORY,
            branch=None,
            dropped=False,
            removed=sum(stale.values(), Removal()),
            branches_reclaimed=(),
            kept_because=(),
            error=error,
        )
        return (row,)

    def _reclaim(self, target: CleanupTarget, orphans: tuple[str, ...]) -> tuple[tuple[str, ...], Removal]:
        location, objects = target.address.location, self._context.store.objects
        held = {name: preview_ref_drop(objects, location, name) for name in orphans}
        gone = reclaim_orphans(self._context, location, orphans) if self._executes else orphans
        return gone, sum((held[name] for name in gone), Removal())

    def _thin_out(self, target: CleanupTarget, orphans: tuple[Ref, ...]) -> tuple[Removal, tuple[str, ...]]:
        selection = select_versions(self._context, target, self._fresh_protections(), self._policy, orphans)
        if selection is None:
            return Removal(), ()
        if not self._executes:
            return preview_removal(selection.table, selection.versions), selection.kept_because
        removed = remove_versions(self._context.store.tables, selection.table, selection.versions)
        return removed, selection.kept_because

    def _drop(self, target: CleanupTarget) -> tuple[Removal, tuple[str, ...]]:
        """Remove a table whole, behind the gate of the branch that dropped it: nothing brings it back meanwhile."""
        objects, location = self._context.store.objects, target.address.location
        held = preview_drop(objects, location)
        if held == Removal():
            return held, ()  # An earlier run removed it; the tombstone stays.
        with self._gate() if self._executes else nullcontext():
            self._protections = self._gather()
            if self._protections.mentions(location):
                return Removal(), ("somebody reads it again",)
            if self._executes:
                remove_table(self._context.store.tables, objects, location)
            return held, ()

    def _gate(self) -> HeldLock:
        return hold_branches(self._context, [MAIN_BRANCH], operation=CLEANUP_OPERATION)

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
