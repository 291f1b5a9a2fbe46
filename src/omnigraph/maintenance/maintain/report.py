"""Say: what became of every step, of every graph, and of the run as a whole."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Any

from omnigraph.base import clock
from omnigraph.base.showing import Shown
from omnigraph.base.units import counted
from omnigraph.base.values import dataclass
from omnigraph.errors import MaintainFailed, NeedsPerson, OmniError
from omnigraph.maintenance.health.finding import Finding
from omnigraph.maintenance.maintain.facts import settings_digest
from omnigraph.maintenance.maintain.plan import Cleanup, Due, GraphPlan, Optimize, Recover, Step

_NAMED_MAX = 5


class StepStatus(StrEnum):
    """What became of one step."""

    PLANNED = "planned"
    DONE = "done"
    FAILED = "failed"
    LEFT = "left"
    """To the next run: a budget ended, quiet hours began, or somebody asked to stop."""
    ELSEWHERE = "elsewhere"
    """Another process maintains the graph."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepReport:
    """One step and what it came to."""

    step: Step
    status: StepStatus
    detail: str = ""
    """What was gained, or why not, in a few words."""
    commit: str | None = None
    bytes: int = 0
    """Rewritten by optimize, removed by cleanup."""
    engine: str | None = None
    """Where bulk work ran; None for a step without any."""
    duration_ms: int = 0


class GraphStatus(StrEnum):
    """One graph in a word."""

    DUE = "due"
    """In a preview: there are steps."""
    NOTHING_DUE = "nothing_due"
    UNCHANGED = "unchanged"
    DONE = "done"
    LEFT = "left"
    FAILED = "failed"
    QUIET = "quiet_hours"
    ELSEWHERE = "elsewhere"
    DISABLED = "disabled"


_BY_PLAN = {
    Due.STEPS: GraphStatus.DUE,
    Due.NOTHING: GraphStatus.NOTHING_DUE,
    Due.UNCHANGED: GraphStatus.UNCHANGED,
    Due.QUIET: GraphStatus.QUIET,
    Due.DISABLED: GraphStatus.DISABLED,
    Due.UNREADABLE: GraphStatus.FAILED,
    Due.LEFT: GraphStatus.LEFT,
}
_WORST_FIRST = (
    (StepStatus.FAILED, GraphStatus.FAILED),
    (StepStatus.ELSEWHERE, GraphStatus.ELSEWHERE),
    (StepStatus.LEFT, GraphStatus.LEFT),
    (StepStatus.PLANNED, GraphStatus.DUE),
    (StepStatus.DONE, GraphStatus.DONE),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphReport:
    """What was found and done in one graph."""

    plan: GraphPlan
    """The last one: of a graph that was recovered, the plan that was made afterwards."""
    steps: tuple[StepReport, ...] = ()

    @property
    def name(self) -> str:
        """The graph."""
        return self.plan.graph.name

    @property
    def status(self) -> GraphStatus:
        """Sum up: the worst step decides; without steps, what the look came to."""
        seen = {step.status for step in self.steps}
        of_steps = next((status for found, status in _WORST_FIRST if found in seen), None)
        if self.plan.due is Due.UNREADABLE or of_steps is None:
            return _BY_PLAN[self.plan.due]
        return of_steps

    @property
    def reason(self) -> str:
        """Why that, in a sentence: what failed or was left comes before what was due."""
        decisive = [step for step in self.steps if step.status not in {StepStatus.DONE, StepStatus.PLANNED}]
        if self.plan.due is Due.UNREADABLE or not decisive:
            return self.plan.reason
        return f"{spell_step(decisive[0].step)}: {decisive[0].detail}"

    @property
    def is_in_order(self) -> bool:
        """Whether a full look, now or not long ago, found nothing to do or to tell: then it can be remembered."""
        return self.plan.due is Due.UNCHANGED or (
            self.plan.due is Due.NOTHING and not self.steps and not self.plan.for_people and not self.plan.notes
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class MaintainReport(Shown):
    """One run over all of its graphs."""

    about: str
    """The cluster or the graph, as it was addressed."""
    dry_run: bool
    started_at_us: int
    duration_ms: int
    is_stopped: bool = False
    """Whether somebody asked to stop before everything was done."""
    graphs: tuple[GraphReport, ...]
    run_id: str | None = None
    """The line of the journal; None for a preview."""

    def having(self, *statuses: GraphStatus) -> tuple[GraphReport, ...]:
        """Return the graphs of which that became."""
        return tuple(graph for graph in self.graphs if graph.status in statuses)

    @property
    def for_people(self) -> tuple[tuple[str, Finding], ...]:
        """What must be done by somebody, with the graph."""
        return tuple((graph.name, finding) for graph in self.graphs for finding in graph.plan.for_people)

    @property
    def failure(self) -> OmniError | None:
        """What the exit code tells of: a failure before what needs a person; what was done stands in either case."""
        failed = self.having(GraphStatus.FAILED)
        if failed:
            return MaintainFailed(
                f"{_named(graph.name for graph in failed)} could not be maintained as planned; first: "
                f"{failed[0].reason.rstrip('.')}. What was done stands; the next run tries again.",
                graphs=[graph.name for graph in failed],
            )
        if self.for_people:
            names = dict.fromkeys(name for name, _ in self.for_people)
            first = self.for_people[0][1]
            return NeedsPerson(
                f"{_named(names)} {'needs' if len(names) == 1 else 'need'} a person: {first.message.rstrip('.')}. "
                f"Look at it with `{first.fix}`.",
                graphs=list(names),
            )
        return None


def spell_step(step: Step) -> str:
    """Name a step for people."""
    match step:
        case Recover():
            return "recover"
        case Optimize():
            return "optimize" if step.branch == "main" else f"optimize {step.branch}"
        case Cleanup():
            return "cleanup"


def as_document(report: MaintainReport) -> dict[str, Any]:
    """Describe a run in plain values; the command prints this, and the journal keeps it."""
    return {
        "about": report.about,
        "dry_run": report.dry_run,
        "started_at": report.started_at_us,
        "duration_ms": report.duration_ms,
        "stopped": report.is_stopped,
        "run_id": report.run_id,
        "graphs": [_graph_document(graph) for graph in report.graphs],
    }


def _graph_document(report: GraphReport) -> dict[str, Any]:
    plan = report.plan
    return {
        "graph": report.name,
        "uri": plan.graph.uri,
        "status": report.status.value,
        "reason": report.reason,
        "steps": [_step_document(step) for step in report.steps],
        "needs_person": [_finding_document(finding) for finding in plan.for_people],
        "notes": [_finding_document(finding) for finding in plan.notes],
        "in_order": report.is_in_order,
        "looked_at": clock.timestamp_from_us(plan.look.looked_at_us),
        "state": plan.look.state,
        "settings": settings_digest(plan.graph.settings),
    }


def _step_document(report: StepReport) -> dict[str, Any]:
    step = report.step
    return {
        "step": spell_step(step).partition(" ")[0],
        "branch": step.branch if isinstance(step, Optimize) else None,
        "why": list(step.why),
        "status": report.status.value,
        "detail": report.detail,
        "commit": report.commit,
        "bytes": report.bytes,
        "engine": report.engine,
        "duration_ms": report.duration_ms,
    }


def _finding_document(finding: Finding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "message": finding.message,
        "fix": finding.fix,
        "tables": list(finding.tables),
        "branch": finding.branch,
    }


def _named(names: Iterable[str]) -> str:
    known = list(names)
    shown = ", ".join(known[:_NAMED_MAX])
    more = len(known) - _NAMED_MAX
    return f"{shown} and {counted(more, 'more graph')}" if more > 0 else shown
