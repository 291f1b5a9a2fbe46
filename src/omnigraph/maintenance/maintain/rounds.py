"""One run over many graphs: look at all of them, then work on those that need it, and leave a line in the journal.

Looking is reading and mostly waiting, so on an object store many graphs are looked at side by side. Work is done on one
graph at a time for each worker; the size of all of it together decides whether one Spark session is worth its start.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field, replace
from threading import Lock
from types import MappingProxyType
from typing import TypeVar

from omnigraph.base import clock, faults, stopping
from omnigraph.base.events import Event, Events, Noted, Phase, Warned, ignore_events, phase
from omnigraph.base.values import dataclass
from omnigraph.engine.choice import OWN_SESSION_MIN_BYTES, SPARK_MIN_BYTES, EngineChoice, EngineName, Work
from omnigraph.errors import OmniError
from omnigraph.graphs.context import GraphContext
from omnigraph.maintenance.journal import JournalEntry, read_journal, record_run
from omnigraph.maintenance.maintain.facts import GraphLook, Remembered, look_at, open_context, remembered_from
from omnigraph.maintenance.maintain.plan import Due, GraphPlan, plan_graph
from omnigraph.maintenance.maintain.report import GraphReport, MaintainReport, StepReport, StepStatus, as_document
from omnigraph.maintenance.maintain.request import MaintainedGraph, MaintainRequest
from omnigraph.maintenance.maintain.run import GraphBudget, Now, maintain_graph
from omnigraph.storage.objects import ControlStore

GRAPH_JOURNAL = "__maintain/"
"""Where the runs over one graph are written down, below its root."""
CLUSTER_JOURNAL = "maintain/"
"""Where those over a cluster are, below `__cluster`."""
_LOOKS_AT_ONCE = 16
ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")


@dataclass(frozen=True, slots=True, kw_only=True)
class Journal:
    """Where the lines of this run and its predecessors are."""

    objects: ControlStore
    prefix: str

    def read(self, newest: int) -> list[JournalEntry]:
        """Return the newest lines, oldest first."""
        return read_journal(self.objects, prefix=self.prefix, newest=newest)

    def remembered(self, events: Events) -> dict[str, Remembered]:
        """Return which graphs the last run left in order; a journal that cannot be read remembers nothing."""
        try:
            lines = self.read(1)
        except (OmniError, OSError) as failure:
            events(Warned(message=f"the journal of earlier runs cannot be read: {failure}"))
            return {}
        graphs = lines[0].document.get("graphs", ()) if lines else ()
        return remembered_from(graphs if isinstance(graphs, list) else ())


@dataclass(slots=True, kw_only=True)
class _Budget:
    """What is left for the graphs that come next; several workers take from it."""

    ends_at_us: int | None
    bytes_left: int | None
    lock: Lock = field(default_factory=Lock)

    def take(self, used: int) -> None:
        with self.lock:
            if self.bytes_left is not None:
                self.bytes_left = max(0, self.bytes_left - used)

    def reason_to_end(self, now_us: int) -> str | None:
        if stopping.is_asked():
            return "asked to stop"
        if self.ends_at_us is not None and now_us >= self.ends_at_us:
            return "the time for this run is up"
        return "the bytes for this run are used up" if self.bytes_left == 0 else None


def run_maintain(
    graphs: Sequence[MaintainedGraph],
    request: MaintainRequest,
    journal: Journal,
    *,
    about: str,
    opened: Mapping[str, GraphContext] = MappingProxyType({}),
    events: Events = ignore_events,
    now_us: Now = clock.now_us,
) -> MaintainReport:
    """Look at all graphs and do what is due; a preview says what that is, writes nothing and takes no lock.

    `opened` has those that the caller has open already, by name.
    """
    request.check()
    started, started_at_us = clock.monotonic_seconds(), now_us()
    remembered = {} if request.full else journal.remembered(events)
    contexts = {graph.name: opened.get(graph.name) or open_context(graph) for graph in graphs if graph.settings.enabled}
    plans = _look_at_all(graphs, contexts, remembered, events, now_us)
    due = sorted((plan for plan in plans if plan.due is Due.STEPS), key=lambda plan: plan.order)
    if request.dry_run:
        reports = {plan.graph.name: _preview(plan) for plan in due}
    else:
        reports = _work_on(due, contexts, request, started_at_us, events, now_us)
    report = MaintainReport(
        about=about,
        dry_run=request.dry_run,
        started_at_us=started_at_us,
        duration_ms=round((clock.monotonic_seconds() - started) * 1_000),
        is_stopped=stopping.is_asked(),
        graphs=tuple(reports.get(plan.graph.name, GraphReport(plan=plan)) for plan in plans),
    )
    # A journal in a graph that is not there would be the first thing of it.
    is_nowhere = journal.prefix == GRAPH_JOURNAL and any(plan.due is Due.UNREADABLE for plan in plans)
    return report if request.dry_run or is_nowhere else replace(report, run_id=_record(journal, report, events))


def _look_at_all(
    graphs: Sequence[MaintainedGraph],
    contexts: dict[str, GraphContext],
    remembered: dict[str, Remembered],
    events: Events,
    now_us: Now,
) -> list[GraphPlan]:
    """Look at every graph, in the given order; nothing on a local disk is waited for, so threads would take turns."""
    is_remote = any(not context.store.root.is_local for context in contexts.values())

    def look(graph: MaintainedGraph, running: Phase) -> GraphPlan:
        context, seen = contexts.get(graph.name), GraphLook(graph=graph, looked_at_us=now_us())
        if stopping.is_asked():
            return GraphPlan(look=seen, due=Due.LEFT, reason="asked to stop before it was looked at")
        if context is not None:
            seen = look_at(context, graph, now_us=now_us(), remembered=remembered.get(graph.name))
        running.advance()
        return plan_graph(seen, now_us=now_us())

    with phase(events, "looking at the graphs", total=len(graphs), unit="graphs") as running:
        return _map(lambda graph: look(graph, running), graphs, workers=_LOOKS_AT_ONCE if is_remote else 1)


def _work_on(
    due: Sequence[GraphPlan],
    contexts: dict[str, GraphContext],
    request: MaintainRequest,
    started_at_us: int,
    events: Events,
    now_us: Now,
) -> dict[str, GraphReport]:
    seconds = request.max_seconds
    ends_at_us = None if seconds is None else started_at_us + round(min(seconds, 1e9) * 1_000_000)
    budget = _Budget(ends_at_us=ends_at_us, bytes_left=request.max_bytes)
    engine = shared_engine(request.engine, sum(plan.rewrite_bytes for plan in due))

    def work(plan: GraphPlan, running: Phase) -> GraphReport:
        reason = budget.reason_to_end(now_us())
        if reason is not None:
            report = GraphReport(plan=plan, steps=_left(plan, reason))
        else:
            allowance = GraphBudget(ends_at_us=budget.ends_at_us, bytes=budget.bytes_left, engine=engine)
            told = _naming(plan.graph.name, events)
            told(Noted(message=plan.reason))
            report = maintain_graph(contexts[plan.graph.name], plan, allowance, events=told, now_us=now_us)
            budget.take(sum(step.bytes for step in report.steps))
        running.advance()
        return report

    if not due:
        return {}
    with phase(events, "maintaining", total=len(due), unit="graphs") as running:
        done = _map(lambda plan: work(plan, running), due, workers=request.workers)
    return {report.name: report for report in done}


def shared_engine(choice: EngineChoice, total_bytes: int) -> EngineChoice:
    """Let all graphs together pay for the start of one session: then each goes by what one that is there is worth."""
    pays = total_bytes >= OWN_SESSION_MIN_BYTES[Work.OPTIMIZE]
    if choice.engine is not EngineName.AUTO or choice.spark_min_bytes is not None or not pays:
        return choice
    return replace(choice, spark_min_bytes=SPARK_MIN_BYTES)


def _preview(plan: GraphPlan) -> GraphReport:
    return GraphReport(plan=plan, steps=tuple(StepReport(step=step, status=StepStatus.PLANNED) for step in plan.steps))


def _left(plan: GraphPlan, reason: str) -> tuple[StepReport, ...]:
    return tuple(StepReport(step=step, status=StepStatus.LEFT, detail=reason) for step in plan.steps)


def _record(journal: Journal, report: MaintainReport, events: Events) -> str | None:
    faults.reach("maintain.before_journal")
    document = {key: value for key, value in as_document(report).items() if key not in {"run_id", "dry_run"}}
    return record_run(
        journal.objects,
        "maintain",
        started_at_us=report.started_at_us,
        document=document,
        events=events,
        prefix=journal.prefix,
    )


def _naming(name: str, events: Events) -> Events:
    """Say before every note and warning which graph it is about."""

    def tell(event: Event) -> None:
        if isinstance(event, Noted | Warned):
            event = replace(event, message=f"{name}: {event.message}")
        events(event)

    return tell


def _map(act: Callable[[ItemT], ResultT], items: Sequence[ItemT], *, workers: int) -> list[ResultT]:
    """Do the same with every item, in the order given; with one worker on this thread, where an interrupt arrives."""
    if workers == 1 or len(items) < 2:
        return [act(item) for item in items]
    with ThreadPoolExecutor(max_workers=min(workers, len(items)), thread_name_prefix="omnigraph-maintain") as pool:
        return list(pool.map(act, items))
