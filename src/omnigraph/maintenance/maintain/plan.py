"""Decide: what of all that `health` found is done by itself, in which order, and what is for a person. Pure.

Drift is never interpreted here: publishing it or taking it back needs somebody who has seen it.
"""

from collections.abc import Iterator
from datetime import datetime
from enum import StrEnum

from omnigraph.base import clock
from omnigraph.base.units import counted, spell_bytes
from omnigraph.base.values import dataclass
from omnigraph.maintenance.cleanup.policy import CleanupPolicy
from omnigraph.maintenance.health.commands import Commands
from omnigraph.maintenance.health.damage import DamagedPart
from omnigraph.maintenance.health.facts import GraphHealth
from omnigraph.maintenance.health.finding import Finding, Severity
from omnigraph.maintenance.health.grouping import NEVER_OPTIMIZED
from omnigraph.maintenance.health.table_findings import find_in_tables
from omnigraph.maintenance.maintain.facts import GraphLook
from omnigraph.maintenance.maintain.request import MaintainedGraph
from omnigraph.maintenance.maintain.settings import CleanupSettings, OptimizeSettings
from omnigraph.maintenance.repair.drift import Classification
from omnigraph.manifest.commits import MAIN_BRANCH

_OPTIMIZE_SETTLES = frozenset({"fragmented", "index_missing", "index_stale", "index_lost", "auto_cleanup"})
_SETTLED_HERE = _OPTIMIZE_SETTLES | {
    NEVER_OPTIMIZED,
    "internal_growth",
    "reclaimable",
    "recovery_pending",
    "recovery_in_use",
}
"""Findings that a step of ours settles sooner or later; all others are for whoever reads the report."""
_WHY_MAX = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Recover:
    """Settle interrupted writes; what else is due shows afterwards."""

    why: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Optimize:
    """Merge fragments and bring the indexes of one branch up to date, as one commit."""

    branch: str
    why: tuple[str, ...]
    bytes: int
    """To rewrite, as far as could be told when looking."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleanup:
    """Remove the versions that nobody needs and the policy does not keep."""

    policy: CleanupPolicy
    why: tuple[str, ...]
    bytes: int


Step = Recover | Optimize | Cleanup


class Due(StrEnum):
    """What a look at one graph comes to."""

    STEPS = "due"
    NOTHING = "nothing_due"
    UNCHANGED = "unchanged"
    """Nothing happened since it was found in order."""
    QUIET = "quiet_hours"
    DISABLED = "disabled"
    UNREADABLE = "unreadable"
    LEFT = "left"
    """Nobody looked: the run was asked to stop before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphPlan:
    """What is to be done with one graph now, and what is not."""

    look: GraphLook
    due: Due
    reason: str
    """Why this and no other verdict, in a sentence for people."""
    steps: tuple[Step, ...] = ()
    for_people: tuple[Finding, ...] = ()
    """What must be done and nothing here does."""
    notes: tuple[Finding, ...] = ()
    """What deserves attention and nothing here does."""

    @property
    def graph(self) -> MaintainedGraph:
        """The graph."""
        return self.look.graph

    @property
    def rewrite_bytes(self) -> int:
        """Bytes that its steps would rewrite."""
        return sum(step.bytes for step in self.steps if isinstance(step, Optimize))

    @property
    def order(self) -> tuple[int, int, str]:
        """What is broken first, then what waited longest, so that a budget which ends never ends on the same graphs."""
        urgency = 0 if any(isinstance(step, Recover) for step in self.steps) else 1
        return urgency, _last_optimized_us(self.look), self.graph.name


def plan_graph(look: GraphLook, *, now_us: int) -> GraphPlan:
    """Choose the steps for one graph: recovery alone, or optimize for each branch that needs it and then cleanup."""
    settings = look.graph.settings
    if not settings.enabled:
        return GraphPlan(look=look, due=Due.DISABLED, reason="switched off in the settings")
    if look.error is not None:
        return GraphPlan(look=look, due=Due.UNREADABLE, reason=look.error)
    if look.interrupted:
        many = counted(len(look.interrupted), "interrupted write")
        steps: tuple[Step, ...] = (Recover(why=(f"{many}: {', '.join(look.interrupted[:_WHY_MAX])}",)),)
        return _unless_quiet(GraphPlan(look=look, due=Due.STEPS, reason=f"{many} to settle", steps=steps), now_us)
    if look.health is None:
        since = clock.iso_from_us(look.looked_at_us)
        return GraphPlan(look=look, due=Due.UNCHANGED, reason=f"nothing happened since the look at {since}")
    health, findings = look.health.health, look.health.findings
    steps = tuple(_steps(health, settings.optimize, settings.cleanup))
    others = [finding for finding in findings if finding.code not in _SETTLED_HERE and finding.needs_something]
    plan = GraphPlan(
        look=look,
        due=Due.STEPS if steps else Due.NOTHING,
        reason="; ".join(why for step in steps for why in step.why[:1]) if steps else "in good order",
        steps=steps,
        for_people=tuple(finding for finding in others if finding.severity is Severity.ACTION),
        notes=tuple(finding for finding in others if finding.severity is not Severity.ACTION),
    )
    return _unless_quiet(plan, now_us) if steps else plan


def _unless_quiet(plan: GraphPlan, now_us: int) -> GraphPlan:
    until = plan.graph.settings.quiet_hours.until(now_us)
    if until is None:
        return plan
    return GraphPlan(
        look=plan.look,
        due=Due.QUIET,
        reason=f"quiet hours until {_spelled(until)}; then due: {plan.reason}",
        for_people=plan.for_people,
        notes=plan.notes,
    )


def _steps(
    health: GraphHealth, optimize: OptimizeSettings | None, cleanup: CleanupSettings | None
) -> Iterator[Optimize | Cleanup]:
    if optimize is not None:
        reasons: dict[str, list[str]] = {}
        for branch, why in (*_in_tables(health, optimize), *_in_internal(health, optimize)):
            if branch == MAIN_BRANCH or optimize.all_branches:
                reasons.setdefault(branch, []).append(why)
        for branch in sorted(reasons, key=lambda name: (name != MAIN_BRANCH, name)):
            yield Optimize(branch=branch, why=_few(reasons[branch]), bytes=_rewritten(health, branch))
    if cleanup is not None and (gain := _cleanup_gain(health, cleanup)) is not None:
        yield Cleanup(policy=cleanup.policy, why=(gain,), bytes=health.reclaimable_bytes)


def _in_tables(health: GraphHealth, settings: OptimizeSettings) -> Iterator[tuple[str, str]]:
    for finding in find_in_tables(Commands(uri=health.uri), health.tables):
        if finding.code in _OPTIMIZE_SETTLES and _is_worth_it(finding, settings):
            yield finding.branch or MAIN_BRANCH, f"{finding.table_key}: {finding.message}"


def _is_worth_it(finding: Finding, settings: OptimizeSettings) -> bool:
    figures = finding.figures
    if figures is None:
        return True
    match finding.code:
        case "fragmented":
            removed = figures.fragments_before - figures.fragments_after
            # Where no fragment goes, rows that were deleted do.
            return removed >= settings.fragments or removed == 0
        case "index_stale":
            return settings.coverage >= 1.0 or figures.known_percent < settings.coverage * 100
        case _:
            return True


def _in_internal(health: GraphHealth, settings: OptimizeSettings) -> Iterator[tuple[str, str]]:
    for internal in health.internal:
        fragments = len(internal.layout.fragments)
        if fragments > settings.internal_fragments or internal.layout.has_auto_cleanup:
            yield internal.branch or MAIN_BRANCH, f"{internal.name}: {counted(fragments, 'fragment')} slow down commits"


def _rewritten(health: GraphHealth, branch: str) -> int:
    return sum(table.plan.bytes_read for table in health.tables if table.plan is not None and table.branch == branch)


def _cleanup_gain(health: GraphHealth, settings: CleanupSettings) -> str | None:
    """Say what a cleanup would gain; None where that is too little, or where it would refuse to begin."""
    live = sum(fragment.bytes for table in health.tables if table.facts for fragment in table.facts.layout.fragments)
    reclaimable = health.reclaimable_bytes
    if reclaimable < settings.reclaimable or reclaimable < live * settings.share:
        return None
    sound = {Classification.NO_DRIFT, Classification.BEHIND}
    has_drift = any(table.branch == MAIN_BRANCH and table.drift.classification not in sound for table in health.tables)
    is_unclear = any(damage.part in {DamagedPart.BRANCH, DamagedPart.INTERNAL} for damage in health.damages)
    if has_drift or is_unclear:
        return None
    return f"{spell_bytes(reclaimable)} of old versions beside {spell_bytes(live)} of live data"


def _few(reasons: list[str]) -> tuple[str, ...]:
    more = len(reasons) - _WHY_MAX
    return (*reasons[:_WHY_MAX], *((f"and {more} more",) if more > 0 else ()))


def _last_optimized_us(look: GraphLook) -> int:
    if look.health is None:
        return 0
    health = look.health.health
    ended = [run.ended_at_us for run in health.runs if run.verb == "optimize"]
    last = health.last_maintenance
    return max([*ended, *([last.created_at_us] if last is not None else [])], default=0)


def _spelled(moment: datetime) -> str:
    return moment.isoformat(sep=" ", timespec="minutes")
