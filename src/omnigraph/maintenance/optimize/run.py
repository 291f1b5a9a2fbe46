"""optimize, from end to end: admission, facts, plan, work without a lock, the tail, internal tables, the report."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from omnigraph.base import clock, faults
from omnigraph.base.events import Events, Noted, Warned, ignore_events
from omnigraph.base.logs import about, logger_of
from omnigraph.base.units import counted
from omnigraph.catalog.model import TableKey
from omnigraph.catalog.type_names import find_types
from omnigraph.engine.choice import Work
from omnigraph.engine.interface import Engine
from omnigraph.engine.opening import decide, open_engine
from omnigraph.errors import OmniError
from omnigraph.graphs.capture import Capture, capture_branch
from omnigraph.graphs.context import GraphContext
from omnigraph.maintenance.admission import require_settled, sole_maintainer
from omnigraph.maintenance.journal import record_run
from omnigraph.maintenance.optimize.costs import PUBLISH_SECONDS, TAIL_SECONDS_MAX
from omnigraph.maintenance.optimize.facts import TableFacts, observe_tables
from omnigraph.maintenance.optimize.internal import (
    compact_internal,
    internal_tables,
    preview_internal,
    report_failed_internal,
)
from omnigraph.maintenance.optimize.plan import plan_tables
from omnigraph.maintenance.optimize.replan import plan_again
from omnigraph.maintenance.optimize.report import (
    Contention,
    OptimizeResult,
    TableReport,
    as_document,
    report_committed,
    report_preview,
    report_uncommitted,
    report_untouched,
)
from omnigraph.maintenance.optimize.request import OptimizeRequest, concurrency_from
from omnigraph.maintenance.optimize.table_plan import BEHIND, BLOBS, DRIFT, TablePlan
from omnigraph.maintenance.optimize.table_work import TableWork, drop_files
from omnigraph.maintenance.optimize.tail import Tail, run_tail
from omnigraph.maintenance.optimize.work import carry_out_tasks
from omnigraph.maintenance.repair.drift import find_lasting_drift
from omnigraph.maintenance.unreadable import UNREADABLE, problem_of, refuse_unreachable
from omnigraph.storage.access import ANY_OPERATION
from omnigraph.storage.tables import TableAddress
from omnigraph.storage.worker_files import shared_with_workers
from omnigraph.writes.aftermath import says_what_is_published
from omnigraph.writes.opening import bring_up_to_date
from omnigraph.writes.pending import list_pending, sidecars_of

_log = logger_of(__name__)

_NOTHING_TO_DO = ("local", "nothing to do")
_LOOKS_MAX = 3
_FOREVER_SECONDS = 1e9
"""As long as any run takes; an infinite time has no last moment that could be told to workers."""
ATTEMPTS = 3
"""How often a group is made again when a writer changed its fragments meanwhile."""


@says_what_is_published
def run_optimize(context: GraphContext, request: OptimizeRequest, *, events: Events = ignore_events) -> OptimizeResult:
    """Compact, reindex and publish the tables that a branch owns; a preview changes nothing and takes no lock."""
    request.check()
    run = _Run(context, request, concurrency_from(os.environ), events)
    if request.dry_run:
        require_settled(context, "optimize")
        return run.preview()
    with (
        about(graph=context.store.uri),
        sole_maintainer(context, "optimize", wait_seconds=request.wait_seconds, events=events),
        shared_with_workers(context.store, ANY_OPERATION),
    ):
        require_settled(context, "optimize")
        context.store.objects.probe()
        bring_up_to_date(context, request.branch)
        started = clock.monotonic_seconds()
        result = run.optimize()
        _log.info(
            "optimize of branch %s finished in %.3f s: %d of %s committed, %s left to do",
            request.branch,
            clock.monotonic_seconds() - started,
            sum(bool(table.committed) for table in result.tables),
            counted(len(result.tables), "table"),
            counted(result.bytes_left, "byte"),
        )
        return result


class _Run:
    """One run over one branch."""

    def __init__(
        self,
        context: GraphContext,
        request: OptimizeRequest,
        concurrency: int,
        events: Events,
    ) -> None:
        self._context = context
        self._branch = request.branch
        self._request = request
        self._concurrency = concurrency
        self._events = events
        self._started = clock.monotonic_seconds()
        self._started_at_us = clock.now_us()

    def preview(self) -> OptimizeResult:
        capture, facts = self._look()
        plans = self._plan(facts)
        share = PUBLISH_SECONDS / max(1, sum(plan.has_work for plan in plans))
        reports = [report_preview(plan, publish_seconds=share) for plan in plans]
        for address in self._internal_tables():
            try:
                previewed = preview_internal(self._context.store.tables, address, self._request)
            except UNREADABLE as failure:
                refuse_unreachable(failure)
                previewed = report_failed_internal(address, failure)
            if previewed is not None:
                reports.append(previewed)
        decision = decide(self._request.engine, Work.OPTIMIZE, _work_bytes(plans))
        ran = (decision.engine.value, decision.reason) if _has_work(plans) else _NOTHING_TO_DO
        return self._result(capture, plans, reports, ran, graph_version=capture.snapshot.graph_version)

    def optimize(self) -> OptimizeResult:
        capture, facts = self._look()
        try:
            return self._carry_out(capture, facts)
        except (OmniError, OSError) as failure:
            # Runs that die of the same thing every night would otherwise leave no trace for `health` to count.
            self._journal({"branch": self._branch, "error": str(failure)})
            raise

    def _carry_out(self, capture: Capture, facts: tuple[TableFacts, ...]) -> OptimizeResult:
        plans = self._plan(facts)
        works = [TableWork.of(plan, capture.table(plan.table_key)) for plan in plans if plan.has_work]
        tail, ran = Tail(), _NOTHING_TO_DO
        if works:
            engine, reason = self._open_engine(plans)
            tail, ran = self._attempt_until_committed(capture, works, engine), (engine.name, reason)
        for found in tail.commits:
            self._context.store.tables.forget(found.pin.address)
            found.work.rewritten = found.rewritten
        reports = self._reports(plans, works, tail)
        internal, contentions, internal_left = self._compact_internal()
        # Of the commit itself: a later look would show what other writers have published since.
        after = tail.commit.graph_version if tail.commit is not None else capture.snapshot.graph_version
        result = self._result(capture, plans, [*reports, *internal], ran, graph_version=after)
        left = internal_left + sum(work.left_bytes for work in works)
        result = replace(
            result, commit=tail.commit, contentions=tuple(contentions), bytes_left=result.bytes_left + left
        )
        self._record(result)
        return result

    def _record(self, result: OptimizeResult) -> None:
        """Leave a line in the journal: neither a failure nor the compaction of internal tables makes a commit."""
        if result.failure is not None or any(table.committed for table in result.tables):
            self._journal({key: value for key, value in as_document(result).items() if key != "uri"})

    def _journal(self, document: Mapping[str, object]) -> None:
        record_run(
            self._context.store.objects,
            "optimize",
            started_at_us=self._started_at_us,
            document=document,
            events=self._events,
        )

    def _look(self) -> tuple[Capture, tuple[TableFacts, ...]]:
        """Capture the branch and look at its tables; a write under way, which looks like drift, is waited for.

        Where writers leave no time for two equal looks the pin is planned on: under the gates nobody writes, and there
        drift is known for sure.
        """
        for _ in range(_LOOKS_MAX):
            capture = capture_branch(self._context, self._branch)
            facts = observe_tables(
                capture, self._table_keys(capture), concurrency=self._looked_at_once, events=self._events
            )
            in_doubt = self._in_doubt(facts)
            if not in_doubt:
                break
        return capture, tuple(found.at_pin() if found.table_key in in_doubt else found for found in facts)

    def _in_doubt(self, facts: Sequence[TableFacts]) -> frozenset[TableKey]:
        """Return the tables ahead of their pins that a live writer may be at work on."""
        ahead = {found.table_key: found for found in facts if found.is_drifted and found.is_readable}
        if not ahead:
            return frozenset()
        looked_again = find_lasting_drift(self._context, self._branch, tuple(ahead))
        same = {
            drift.pin.table_key
            for drift in looked_again
            if (drift.pin.version, drift.head_version)
            == (ahead[drift.pin.table_key].pin.version, ahead[drift.pin.table_key].head_version)
        }
        announced = {
            effect.identity
            for operation in list_pending(sidecars_of(self._context))
            if operation.sidecar is not None
            for effect in operation.sidecar.effects
        }
        return frozenset(key for key, found in ahead.items() if key not in same or found.pin.identity in announced)

    @property
    def _looked_at_once(self) -> int:
        """How many tables to look at side by side; on a local disk nobody waits, and more threads only take turns."""
        is_local = self._context.store.root.is_local
        return min(self._concurrency, self._context.engine.slots) if is_local else self._concurrency

    def _plan(self, facts: tuple[TableFacts, ...]) -> tuple[TablePlan, ...]:
        plans = plan_tables(facts, self._request)
        for plan in plans:
            pinned = plan.facts.pin.version
            if plan.skipped == DRIFT:
                self._note(
                    f"{plan.table_key} is at version {plan.facts.head_version} but the graph pins {pinned}"
                    f"{'' if plan.facts.is_readable else ', which is gone'}: skipped. Look at it with "
                    f"`omnigraph repair {self._context.store.uri}`."
                )
            elif plan.skipped == BEHIND:
                newest = plan.facts.head_version
                found = "is gone" if newest is None else f"ends at version {newest}"
                self._note(
                    f"{plan.table_key} {found} but the graph pins version {pinned}: skipped. Its newest rows are lost; "
                    "restore it from a backup."
                )
            elif plan.skipped == BLOBS:
                self._events(
                    Warned(
                        message=f"{plan.table_key} has blob columns, which this version of Lance cannot compact: "
                        "skipped, and its indexes were not updated either. Reads and writes are not affected."
                    )
                )
        pause = PUBLISH_SECONDS + sum(plan.tail_seconds for plan in plans)
        if pause > TAIL_SECONDS_MAX:
            self._note(
                f"Writers will wait for about {pause:.0f} s, longer than the {TAIL_SECONDS_MAX:.0f} s that a run keeps "
                "to: an index has so much to take in at once. Writers give up after 30 s."
            )
        return plans

    def _note(self, message: str) -> None:
        self._events(Noted(message=message))

    def _open_engine(self, plans: Sequence[TablePlan]) -> tuple[Engine, str]:
        return open_engine(
            self._request.engine,
            Work.OPTIMIZE,
            _work_bytes(plans),
            local=self._context.engine,
            worker_environment=self._context.store.settings.environment,
            events=self._events,
        )

    def _attempt_until_committed(self, capture: Capture, works: list[TableWork], engine: Engine) -> Tail:
        """Do the work and commit it; what writers changed meanwhile is done again, a few times."""
        for attempt in range(1, ATTEMPTS + 1):
            carry_out_tasks(
                engine,
                self._context.store,
                [work for work in works if work.error is None],
                self._request,
                not_after_us=self._deadline_us(),
                events=self._events,
            )
            faults.reach("optimize.after_rewrite_tasks")
            for work in works:
                if work.error is not None:
                    drop_files(self._context.store.objects, work)
            tail = run_tail(
                self._context,
                self._branch,
                [work for work in works if work.error is None],
                ir_hash=capture.snapshot.schema.ir_hash,
                concurrency=self._concurrency,
                may_replan=attempt < ATTEMPTS,
                started=self._started,
                message=self._request.message,
                events=self._events,
            )
            if not tail.stale or attempt == ATTEMPTS:
                break
            former, capture = capture, capture_branch(self._context, self._branch)
            same_schema = former.snapshot.schema == capture.snapshot.schema
            for work in works:
                if work.plan.table_key in tail.stale:
                    self._plan_again(capture, work, same_schema=same_schema, is_last=attempt + 1 == ATTEMPTS)
        for work in works:
            work.is_contended = work.plan.table_key in tail.stale
        return tail

    def _plan_again(self, capture: Capture, work: TableWork, *, same_schema: bool, is_last: bool) -> None:
        try:
            plan_again(capture, work, self._request, same_schema=same_schema, is_last=is_last)
        except UNREADABLE as failure:
            refuse_unreachable(failure)
            work.error = problem_of(str(failure))

    def _reports(self, plans: Sequence[TablePlan], works: list[TableWork], tail: Tail) -> list[TableReport]:
        committed = {found.work.plan.table_key: report_committed(found) for found in tail.commits}
        work_by_key = {work.plan.table_key: work for work in works}
        reports = []
        for plan in plans:
            if plan.table_key in committed:
                reports.append(committed[plan.table_key])
            elif plan.table_key not in work_by_key:
                reports.append(report_untouched(plan))
            elif plan.table_key in tail.drifted:
                head = tail.drifted[plan.table_key]
                reports.append(report_uncommitted(work_by_key[plan.table_key], skipped=DRIFT, head_version=head))
            elif plan.table_key in tail.behind:
                lost = tail.behind[plan.table_key]
                reports.append(report_uncommitted(work_by_key[plan.table_key], skipped=BEHIND, head_version=lost))
            else:
                reports.append(report_uncommitted(work_by_key[plan.table_key]))
        return reports

    def _compact_internal(self) -> tuple[list[TableReport], list[Contention], int]:
        """Compact the internal tables last: the publish itself adds a fragment to them."""
        reports, contentions, left = [], [], 0
        for address in self._internal_tables():
            try:
                done = compact_internal(
                    self._context.store, self._context.engine, address, self._request, not_after_us=self._deadline_us()
                )
            except (OmniError, OSError) as failure:
                # The tables are published by now; this one is a row of the result like any other that failed.
                reports.append(report_failed_internal(address, failure))
                continue
            if done is not None:
                reports.append(done.report)
                left += done.bytes_left
                if done.contention is not None:
                    contentions.append(done.contention)
        return reports, contentions, left

    def _table_keys(self, capture: Capture) -> tuple[TableKey, ...]:
        known = capture.snapshot.pins
        internal = {address.location for address in internal_tables(self._manifest())}
        wanted = find_types(self._request.tables, [*known, *map(TableKey, internal)], what="table")
        return tuple(key for key in known if not wanted or key in wanted)

    def _internal_tables(self) -> Iterator[TableAddress]:
        for address in internal_tables(self._manifest()):
            if not self._request.tables or address.location in self._request.tables:
                yield address

    def _manifest(self) -> TableAddress:
        return self._context.manifest.resolve(self._branch).manifest

    def _deadline_us(self) -> int | None:
        if self._request.max_seconds is None:
            return None
        left = min(self._request.max_seconds, _FOREVER_SECONDS) - (clock.monotonic_seconds() - self._started)
        return clock.now_us() + round(left * 1_000_000)

    def _result(
        self,
        capture: Capture,
        plans: Sequence[TablePlan],
        reports: Sequence[TableReport],
        ran: tuple[str, str],
        *,
        graph_version: int,
    ) -> OptimizeResult:
        engine, reason = ran
        return OptimizeResult(
            uri=self._context.store.uri,
            branch=self._branch,
            dry_run=self._request.dry_run,
            engine=engine,
            engine_reason=reason,
            graph_version_before=capture.snapshot.graph_version,
            graph_version_after=graph_version,
            commit=None,
            duration_ms=round((clock.monotonic_seconds() - self._started) * 1_000),
            bytes_left=sum(group.bytes for plan in plans for group in plan.left),
            tables=tuple(reports),
        )


def _has_work(plans: Sequence[TablePlan]) -> bool:
    return any(plan.has_work for plan in plans)


def _work_bytes(plans: Sequence[TablePlan]) -> int:
    """Return how much data would be rewritten, which is what the choice of an engine goes by."""
    return sum(plan.bytes_read for plan in plans)
