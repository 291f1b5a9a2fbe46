"""Act on one graph: alone, look again, then step by step; between two steps a run may end at any time."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import assert_never

from omnigraph.base import clock, faults, stopping
from omnigraph.base.endings import is_failure
from omnigraph.base.events import Events
from omnigraph.base.logs import about, logger_of
from omnigraph.base.units import counted, spell_bytes
from omnigraph.base.values import dataclass
from omnigraph.engine.choice import EngineChoice, EngineName
from omnigraph.errors import BranchBusy, MaintenanceLocked
from omnigraph.graphs.context import GraphContext
from omnigraph.maintenance.cleanup.policy import CleanupRequest
from omnigraph.maintenance.cleanup.run import run_cleanup
from omnigraph.maintenance.maintain.facts import look_at
from omnigraph.maintenance.maintain.plan import Cleanup, GraphPlan, Optimize, Recover, Step, plan_graph
from omnigraph.maintenance.maintain.report import GraphReport, StepReport, StepStatus
from omnigraph.maintenance.maintain.settings import GraphSettings, OptimizeSettings
from omnigraph.maintenance.optimize.request import OptimizeRequest
from omnigraph.maintenance.optimize.run import run_optimize
from omnigraph.storage.locks import HeldLock
from omnigraph.writes.recovery.sweep import settle_all

MAINTAIN_LOCK = "maintain"
"""Beside the lock that each maintenance verb takes: it is held while looking, too, and from the first step to the last,
so that two runs never take turns on one graph."""
_PLANS_MAX = 2
"""What recovery leaves is looked at once more."""

_log = logger_of(__name__)
Now = Callable[[], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphBudget:
    """What one graph may use of what is left of a run; None is no limit."""

    ends_at_us: int | None = None
    bytes: int | None = None
    engine: EngineChoice = EngineChoice()


def maintain_graph(
    context: GraphContext, plan: GraphPlan, allowance: GraphBudget, *, events: Events, now_us: Now = clock.now_us
) -> GraphReport:
    """Carry out what is due on one graph; nothing that goes wrong here leaves it but as a report.

    The plan is made anew once the graph is ours: another process may have done all of it since the first look.
    """
    first = plan.steps[0]
    try:
        lock = context.store.locks.acquire(MAINTAIN_LOCK, operation="maintain", wait_seconds=0.0, events=events)
    except (BranchBusy, MaintenanceLocked) as busy:
        return GraphReport(plan=plan, steps=(StepReport(step=first, status=StepStatus.ELSEWHERE, detail=_held(busy)),))
    except BaseException as failure:
        if not is_failure(failure):
            raise
        failed = StepReport(step=first, status=StepStatus.FAILED, detail=_spelled(failure))
        return GraphReport(plan=plan, steps=(failed,))
    with about(graph=plan.graph.uri), lock:
        return _Run(context, plan, allowance, lock, events, now_us).report()


class _Run:
    """One graph, from the second look to the last step."""

    def __init__(
        self,
        context: GraphContext,
        plan: GraphPlan,
        allowance: GraphBudget,
        lock: HeldLock,
        events: Events,
        now_us: Now,
    ) -> None:
        self._context = context
        self._plan = plan
        self._allowance = allowance
        self._lock = lock
        self._events = events
        self._now_us = now_us
        self._bytes_left = _least(allowance.bytes, plan.graph.settings.max_bytes)
        self._ends_at_us = _least(allowance.ends_at_us, self._own_end())

    def report(self) -> GraphReport:
        done: list[StepReport] = []
        for _ in range(_PLANS_MAX):
            graph = self._plan.graph
            self._plan = plan_graph(look_at(self._context, graph, now_us=self._now_us()), now_us=self._now_us())
            taken = list(self._carry_out(self._plan.steps))
            done += taken
            if not any(isinstance(step.step, Recover) and step.status is StepStatus.DONE for step in taken):
                break
        return GraphReport(plan=self._plan, steps=tuple(done))

    def _carry_out(self, steps: tuple[Step, ...]) -> Iterator[StepReport]:
        for position, step in enumerate(steps):
            reason = self._reason_to_end()
            done = StepReport(step=step, status=StepStatus.LEFT, detail=reason) if reason else self._attempt(step)
            yield done
            if done.status in {StepStatus.LEFT, StepStatus.ELSEWHERE} or (
                isinstance(step, Recover) and done.status is StepStatus.FAILED
            ):
                yield from (replace(done, step=later, bytes=0, duration_ms=0) for later in steps[position + 1 :])
                return

    def _reason_to_end(self) -> str | None:
        """Say why no further step begins; None if one may."""
        if stopping.is_asked():
            return "asked to stop"
        now_us = self._now_us()
        if self._ends_at_us is not None and now_us >= self._ends_at_us:
            return "the time for this run is up"
        until = self._plan.graph.settings.quiet_hours.until(now_us)
        return f"quiet hours until {until.isoformat(sep=' ', timespec='minutes')}" if until is not None else None

    def _attempt(self, step: Step) -> StepReport:
        started = clock.monotonic_seconds()
        try:
            self._lock.ensure_seconds_left()
            faults.reach("maintain.before_step")
            done = self._act(step)
            faults.reach("maintain.after_step")
        except MaintenanceLocked as locked:
            done = StepReport(step=step, status=StepStatus.ELSEWHERE, detail=_held(locked))
        except BaseException as failure:
            if not is_failure(failure):
                raise
            _log.warning("%s failed: %s", type(step).__name__, failure)
            done = StepReport(step=step, status=StepStatus.FAILED, detail=_spelled(failure))
        return replace(done, duration_ms=round((clock.monotonic_seconds() - started) * 1_000))

    def _act(self, step: Step) -> StepReport:
        match step:
            case Recover():
                return self._recover(step)
            case Optimize():
                return self._optimize(step)
            case Cleanup():
                return self._cleanup(step)
            case never:
                assert_never(never)

    def _recover(self, step: Recover) -> StepReport:
        swept = settle_all(self._context, events=self._events)
        settled = counted(len(swept.recovered), "operation")
        if swept.blocked:
            return StepReport(step=step, status=StepStatus.FAILED, detail=f"blocked: {swept.blocked[0].reason}")
        if swept.in_use:
            detail = f"{settled} settled; {counted(len(swept.in_use), 'operation')} may be a live writer's"
            return StepReport(step=step, status=StepStatus.LEFT, detail=detail)
        return StepReport(step=step, status=StepStatus.DONE, detail=f"{settled} settled")

    def _optimize(self, step: Optimize) -> StepReport:
        settings = self._plan.graph.settings
        request = OptimizeRequest(
            branch=step.branch,
            deleted_ratio=(settings.optimize or OptimizeSettings()).deleted_ratio,
            max_seconds=self._seconds_left(),
            max_bytes=self._bytes_left,
            engine=chosen_engine(self._allowance.engine, settings),
        )
        result = run_optimize(self._context, request, events=self._events)
        if self._bytes_left is not None:
            self._bytes_left = max(0, self._bytes_left - result.bytes_rewritten)
        removed = sum(table.fragments_removed - table.fragments_added for table in result.tables)
        built = sum(len(table.indexes_built) + len(table.indexes_updated) for table in result.tables)
        parts = [f"{counted(removed, 'fragment')} fewer" if removed else "", counted(built, "index") if built else ""]
        gained = ", ".join(filter(None, parts)) or "nothing was left to do"
        is_cut_short = result.bytes_left or result.indexes_left
        detail = f"{gained}; {spell_bytes(result.bytes_left)} left to the next run" if is_cut_short else gained
        status = StepStatus.LEFT if is_cut_short else StepStatus.DONE
        if result.failure is not None:
            status, detail = StepStatus.FAILED, result.failure.message
        return StepReport(
            step=step,
            status=status,
            detail=detail,
            commit=result.commit.graph_commit_id if result.commit is not None else None,
            bytes=result.bytes_rewritten,
            engine=result.engine,
        )

    def _cleanup(self, step: Cleanup) -> StepReport:
        settings = self._plan.graph.settings
        engine = chosen_engine(self._allowance.engine, settings)
        request = CleanupRequest(policy=step.policy, confirm=True, engine=engine)
        report = run_cleanup(self._context, request, events=self._events)
        removed = sum(row.removed.bytes for row in report.rows)
        versions = sum(row.removed.versions for row in report.rows)
        detail = f"{spell_bytes(removed)} and {counted(versions, 'version')} removed"
        status = StepStatus.DONE
        if report.failed:
            status = StepStatus.FAILED
            detail = f"{report.failed[0].name} was not cleaned as a whole: {report.failed[0].error}"
        return StepReport(step=step, status=status, detail=detail, bytes=removed, engine=report.engine)

    def _own_end(self) -> int | None:
        """Return when the graph's own time is over: that of its settings, and the beginning of quiet hours."""
        now_us, settings = self._now_us(), self._plan.graph.settings
        own = None if settings.max_time is None else now_us + round(settings.max_time.total_seconds() * 1_000_000)
        begin = settings.quiet_hours.next_begin(now_us)
        return _least(own, None if begin is None else round(begin.timestamp() * 1_000_000))

    def _seconds_left(self) -> float | None:
        return None if self._ends_at_us is None else max(0.0, (self._ends_at_us - self._now_us()) / 1_000_000)


def chosen_engine(asked: EngineChoice, settings: GraphSettings) -> EngineChoice:
    """Weigh what the caller asked for against the settings of a graph, which count where nobody asked."""
    if asked.engine is not EngineName.AUTO or settings.engine is EngineName.AUTO:
        return asked
    return replace(asked, engine=settings.engine, setting="maintenance.engine")


def _least(one: int | None, other: int | None) -> int | None:
    return min((limit for limit in (one, other) if limit is not None), default=None)


def _held(busy: BranchBusy | MaintenanceLocked) -> str:
    holder, since = busy.details.get("holder"), busy.details.get("since")
    return f"maintained elsewhere: {holder or 'another process'} since {since or 'an unknown time'}"


def _spelled(failure: BaseException) -> str:
    return str(failure) or type(failure).__name__
