"""Cleanup: look at everything first, then remove table by table; one table's failure does not stop the others."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace

from omnigraph.base import clock, faults
from omnigraph.base.events import Events, Warned, ignore_events, phase
from omnigraph.base.logs import about, logger_of
from omnigraph.base.units import counted, spell_seconds
from omnigraph.branches.gates import hold_branches
from omnigraph.engine.choice import EngineChoice, EngineName
from omnigraph.errors import DriftNeedsRepair
from omnigraph.graphs.context import GraphContext
from omnigraph.graphs.holding import CLEANUP_OPERATION
from omnigraph.maintenance.admission import refuse_pending_on, require_settled, sole_maintainer
from omnigraph.maintenance.cleanup.one_table import Part, TableCleaning
from omnigraph.maintenance.cleanup.orphans import Orphans, Reclaiming, find_orphans
from omnigraph.maintenance.cleanup.plan import Choosing, CleanupTarget, RemovalPlan, cleanup_targets, dropped_tables
from omnigraph.maintenance.cleanup.policy import CleanupPolicy, CleanupRequest
from omnigraph.maintenance.cleanup.protections import Protections, gather_protections
from omnigraph.maintenance.cleanup.published import BranchPast, commits_lost, published_versions
from omnigraph.maintenance.cleanup.remover import Remover
from omnigraph.maintenance.cleanup.report import CleanupReport, CleanupRow, as_document
from omnigraph.maintenance.cleanup.tally import Tally
from omnigraph.maintenance.journal import record_run
from omnigraph.maintenance.repair.drift import Classification, find_lasting_drift
from omnigraph.maintenance.unreadable import UNREADABLE, problem_of, refuse_unreachable
from omnigraph.manifest.commits import MAIN_BRANCH, Commit, CommitId
from omnigraph.manifest.rows import MANIFEST
from omnigraph.manifest.state import ManifestState
from omnigraph.storage.leftovers import STALE_SECONDS, drop_scratch, stale_scratch
from omnigraph.storage.locks import Lease, StoreClock, forget_dead_readers, list_reader_leases, settle_holds
from omnigraph.storage.refs import list_refs
from omnigraph.storage.removal import remove_table
from omnigraph.storage.retention import Removal, StoredVersion, preview_drop, preview_ref_drop, stored_versions
from omnigraph.storage.scratch import SCRATCH_DIRECTORY
from omnigraph.storage.tables import TableAddress

_log = logger_of(__name__)

__all__ = ["CleanupReport", "CleanupRow", "preview_cleanup", "run_cleanup"]

RECOVERY_FLOOR = 3


def run_cleanup(context: GraphContext, request: CleanupRequest, *, events: Events) -> CleanupReport:
    """Remove versions outside of the policy that nobody needs; without `confirm`, say exactly what would go."""
    policy, confirm = request.policy, request.confirm
    if policy.keep_versions is not None and policy.keep_versions < RECOVERY_FLOOR:
        events(
            Warned(message=f"keeping fewer than {RECOVERY_FLOOR} versions: crash recovery may lose its rollback target")
        )
    alone = sole_maintainer(context, CLEANUP_OPERATION, wait_seconds=request.wait_seconds, events=events)
    with about(graph=context.store.uri), alone if confirm else nullcontext():
        started = clock.now_us()
        require_settled(context, "cleanup")
        broken = _refuse_drift(context)
        report = _Run(context, policy, request.engine, broken=broken, executes=confirm, events=events).report()
        if not confirm:
            return report
        document = {key: value for key, value in as_document(report).items() if key != "run_id"}
        run_id = record_run(context.store.objects, "cleanup", started_at_us=started, document=document, events=events)
        _log.info(
            "cleanup %s finished in %.3f s: removed %s and %s, %d of %s failed",
            run_id,
            (clock.now_us() - started) / 1e6,
            counted(sum(row.removed.versions for row in report.rows), "version"),
            counted(sum(row.removed.bytes for row in report.rows), "byte"),
            len(report.failed),
            counted(len(report.rows), "table"),
        )
        return replace(report, run_id=run_id)


def preview_cleanup(context: GraphContext, policy: CleanupPolicy) -> tuple[CleanupRow, ...]:
    """Compute what a cleanup would remove, whatever state the graph is in; changes nothing."""
    in_process = EngineChoice(engine=EngineName.LOCAL)
    return _Run(context, policy, in_process, broken={}, executes=False, events=ignore_events).report().rows


def _refuse_drift(context: GraphContext) -> dict[str, str]:
    """Refuse tables of `main` that moved without the graph; return those that nobody can judge, with the reason.

    What is damaged is left alone and told of in its row: it is no reason to leave the others as they are.
    """
    found = find_lasting_drift(context, MAIN_BRANCH)
    broken = {
        drift.pin.location: drift.problem
        or f"it ends at version {drift.head_version} and the graph pins version {drift.pin.version}"
        for drift in found
        if drift.problem is not None or drift.classification is Classification.BEHIND
    }
    drifted = [
        drift.pin.table_key
        for drift in found
        if drift.classification is not Classification.NO_DRIFT and drift.pin.location not in broken
    ]
    if drifted:
        raise DriftNeedsRepair(
            f"`cleanup` needs tables at the versions that the graph pins, and {', '.join(drifted)} "
            f"{'is' if len(drifted) == 1 else 'are'} not. Nothing was removed; run `omnigraph repair "
            f"{context.store.uri}` first.",
            tables=drifted,
        )
    return broken


class _Run:
    """One pass over all tables; the branch list and the leases are read anew right before each."""

    def __init__(
        self,
        context: GraphContext,
        policy: CleanupPolicy,
        choice: EngineChoice,
        *,
        broken: Mapping[str, str],
        executes: bool,
        events: Events,
    ) -> None:
        self._context = context
        self._policy = policy
        self._remover = Remover(context, choice, events)
        self._broken = broken
        self._executes = executes
        self._events = events
        objects = context.store.objects
        # Snapshots that this very process holds may not have their lease yet, and the preview is to be exact.
        settle_holds(objects)
        self._clock = StoreClock.observe(objects) if executes else StoreClock.estimate(objects)
        self._reclaiming = Reclaiming(context, self._gather, events)
        self._seen: object = None
        self._protections = self._gather()
        self._stored: dict[TableAddress, list[StoredVersion]] = {}
        self._known: dict[TableAddress, set[int]] = {}
        self._gone: dict[TableAddress, set[int]] = {}

    def report(self) -> CleanupReport:
        self._warn_of_skew()
        if self._executes:
            forget_dead_readers(self._context.store.objects, store_clock=self._clock)
        states = self._protections.states
        history = self._history(states)
        pasts = [BranchPast.of(state) for state in states.values()]
        self._look_at_versions(pasts)
        dropped = dropped_tables(self._context, states[MAIN_BRANCH], history)
        targets = cleanup_targets(self._protections, self._policy, dropped, self._clock)
        choosing = self._choosing(pasts)
        orphans = {
            location: self._find_orphans(location)
            for location in dict.fromkeys(target.address.location for target in targets if not target.is_dropped)
        }
        faults.reach("cleanup.after_plan")
        by_location: dict[str, list[CleanupTarget]] = {}
        for target in targets:
            by_location.setdefault(target.address.location, []).append(target)
        rows = (
            *(
                row
                for location, group in self._followed(by_location)
                for row in self._rows(location, group, orphans.get(location, Orphans()), choosing)
            ),
            *self._scratch_rows(),
        )
        return CleanupReport(
            policy=self._policy,
            executed=self._executes,
            rows=rows,
            engine=self._remover.engine_name,
            engine_reason=self._remover.reason,
            readable_from={past.branch: past.readable_from(self._exists_after) for past in pasts},
            commits_lost=commits_lost(pasts, history, before=self._existed, after=self._exists_after),
            clock_skew_seconds=self._clock.skew_seconds,
        )

    def _followed(
        self, targets_by_location: Mapping[str, Sequence[CleanupTarget]]
    ) -> Iterator[tuple[str, Sequence[CleanupTarget]]]:
        """Yield one table after the other, and tell how many are done."""
        name = "cleaning up" if self._executes else "looking at the tables"
        with phase(self._events, name, total=len(targets_by_location), unit="tables") as cleaning:
            for location, targets in targets_by_location.items():
                yield location, targets
                cleaning.advance()

    def _warn_of_skew(self) -> None:
        skew = self._clock.skew_seconds
        if skew is not None and self._clock.is_far_off:
            self._events(
                Warned(
                    message=f"the clock of this machine is {spell_seconds(abs(skew))} "
                    f"{'ahead of' if skew > 0 else 'behind'} that of the store; cleanup goes by the store's"
                )
            )

    def _history(self, states: Mapping[str, ManifestState]) -> dict[CommitId, Commit]:
        try:
            return self._context.log.history(*(state.head for state in states.values()))
        except UNREADABLE as error:
            refuse_unreachable(error)
            self._events(Warned(message=f"the commit log cannot be read: {problem_of(str(error))}"))
            return {state.head.graph_commit_id: state.head for state in states.values()}

    def _look_at_versions(self, pasts: Sequence[BranchPast]) -> None:
        for address in dict.fromkeys(span.address for past in pasts for span in past.spans):
            stored = stored_versions(self._context.store.objects, address)
            self._stored[address] = stored
            self._known[address] = {known.version for known in stored}

    def _existed(self, address: TableAddress, version: int) -> bool:
        return version in self._known.get(address, ())

    def _exists_after(self, address: TableAddress, version: int) -> bool:
        return version not in self._gone.get(address, ()) and self._existed(address, version)

    def _choosing(self, pasts: Sequence[BranchPast]) -> Choosing:
        of_newest: dict[TableAddress, set[int]] = {}
        for past in pasts:
            for span in past.pinned_by_newest(self._policy.keep_versions or 1):
                of_newest.setdefault(span.address, set()).add(span.version)
        return Choosing(
            policy=self._policy, published=published_versions(pasts), of_newest=of_newest, store_clock=self._clock
        )

    def _find_orphans(self, location: str) -> Orphans:
        """Look for what belongs to nobody; a table where that cannot be told is left alone, and only that one."""
        if location in self._broken:
            return Orphans(problem=self._broken[location])
        try:
            return find_orphans(self._context, location, self._protections, now_seconds=self._clock.seconds_ago(0))
        except UNREADABLE as error:
            refuse_unreachable(error)
            return Orphans(problem=str(error))

    def _rows(
        self, location: str, targets: Sequence[CleanupTarget], orphans: Orphans, choosing: Choosing
    ) -> list[CleanupRow]:
        parts = [
            Part(target=target, tally=self._tally(target.name, branch=target.branch, dropped=target.is_dropped))
            for target in targets
        ]
        if orphans.problem is not None:
            for part in parts:
                part.tally.fail(orphans.problem)
        elif targets[0].is_dropped:
            with parts[0].tally.step():
                self._drop(parts[0].tally, location)
        else:
            self._clean(location, parts, orphans, choosing)
        return [part.tally.row() for part in parts]

    def _clean(self, location: str, parts: Sequence[Part], orphans: Orphans, choosing: Choosing) -> None:
        cleaning = TableCleaning(
            context=self._context,
            location=location,
            parts=parts,
            orphans=orphans,
            abandoned_before=self._clock.seconds_ago(STALE_SECONDS),
            remover=self._remover,
            executes=self._executes,
            gate=self._gate_of,
        )
        protections = self._fresh_protections()

        def select(target: CleanupTarget) -> RemovalPlan | None:
            stored = self._stored.get(target.address)
            if stored is None:
                stored = stored_versions(self._context.store.objects, target.address)
            return choosing.select(self._context, target, stored, protections, orphans.refs)

        parts[0].tally.keep(orphans.kept_because)
        if not cleaning.look(select, self._is_branch_gone):
            return
        self._reclaim(parts[0].tally, location, orphans)
        for part, selection in cleaning.remove(self._is_branch_gone):
            self._gone[part.target.address] = set(selection.versions)
        for part in parts:
            if part.tally.has_failed and self._executes:
                self._see_what_went(part.target.address)

    def _see_what_went(self, address: TableAddress) -> None:
        """Look at a ref that was not cleaned as a whole."""
        with suppress(*UNREADABLE):
            left = {stored.version for stored in stored_versions(self._context.store.objects, address)}
            self._gone[address] = self._gone.get(address, set()) - left

    def _tally(self, table_key: str, *, branch: str | None = None, dropped: bool = False) -> Tally:
        return Tally(table_key, branch=branch, dropped=dropped, executes=self._executes, events=self._events)

    def _scratch_rows(self) -> tuple[CleanupRow, ...]:
        """Remove the intermediate files of bulk operations that died; no row when there are none."""
        tally = self._tally(SCRATCH_DIRECTORY)
        stale: dict[str, Removal] = {}
        with tally.step():
            stale = stale_scratch(self._context.store, before=self._clock.seconds_ago(STALE_SECONDS))
        for operation_id, held in stale.items():
            with tally.step(f"what operation {operation_id} left"):
                if self._executes:
                    drop_scratch(self._context.store, operation_id)
                tally.remove(held)
        row = tally.row()
        return (row,) if stale or row.error is not None else ()

    def _reclaim(self, tally: Tally, location: str, orphans: Orphans) -> None:
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
                    self._reclaiming.drop_tree(tree, now_seconds=self._clock.seconds_ago(0))
                    if self._executes
                    else tree.held,
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
        with self._gate_of(MAIN_BRANCH) if self._executes else nullcontext():
            self._protections = self._gather()
            if self._protections.mentions(location):
                tally.keep(["somebody reads it again"])
                return
            if self._executes:
                remove_table(self._context.store.tables, objects, location)
            tally.remove(held)
        for address in [known for known in self._stored if known.location == location]:
            self._gone[address] = {stored.version for stored in self._stored[address]}

    @contextmanager
    def _gate_of(self, branch: str) -> Iterator[None]:
        with hold_branches(self._context, [branch], operation=CLEANUP_OPERATION, events=self._events):
            refuse_pending_on(self._context, branch, CLEANUP_OPERATION)
            yield

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
