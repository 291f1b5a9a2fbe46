"""Decide: which facts deserve attention, how urgent they are, and the command that settles each.

All of it is pure but the last function, which looks first.
"""

from collections.abc import Iterator
from dataclasses import replace

from omnigraph.base.showing import Shown
from omnigraph.base.units import counted, spell_bytes
from omnigraph.base.values import dataclass
from omnigraph.graphs.context import GraphContext
from omnigraph.maintenance.cleanup.policy import CleanupPolicy
from omnigraph.maintenance.health.branches import BranchHealth
from omnigraph.maintenance.health.commands import Commands
from omnigraph.maintenance.health.damage import Damage, DamagedPart
from omnigraph.maintenance.health.facts import GraphHealth, InternalHealth, observe_health
from omnigraph.maintenance.health.finding import Finding, Severity, Status, most_urgent_first, status_of
from omnigraph.maintenance.health.grouping import group_findings
from omnigraph.maintenance.health.rules import BrokenTable
from omnigraph.maintenance.health.runs import RepeatedFailure, repeated_failures
from omnigraph.maintenance.health.space import DEFAULT_POLICY
from omnigraph.maintenance.health.table_findings import AUTO_CLEANUP, find_in_tables
from omnigraph.maintenance.health.tables import DEFAULT_AIM
from omnigraph.maintenance.health.thresholds import INTERNAL_FRAGMENTS_MAX, RECLAIMABLE_BYTES_MIN, RECLAIMABLE_SHARE
from omnigraph.maintenance.optimize.request import OptimizeRequest
from omnigraph.maintenance.verify.report import Problem, ProblemKind
from omnigraph.manifest.commits import MAIN_BRANCH

__all__ = ["Finding", "Severity", "Status", "find", "status_of"]

STALE_BRANCH_DAYS = 30
_DAY_US = 86_400 * 1_000_000
_BRANCHES_APART_MAX = 3
"""Up to so many branches are told one by one, each with its own command."""
_BROKEN_SHOWN = 3
_FAILURES_MAX = 3
"""So often in a row is no bad luck any more: what maintenance leaves undone piles up until the disk is full."""
_DAMAGED = "table_damaged"


def find(health: GraphHealth) -> list[Finding]:
    """Judge the facts: one finding for each kind of thing with one remedy, the most urgent first."""
    commands = Commands(uri=health.uri)
    in_tables = [_with_what_is_left(found, health) for found in find_in_tables(commands, health.tables)]
    findings = [
        *_damages(commands, health.damages),
        *_lost(commands, health, in_tables),
        *_recoveries(commands, health),
        *in_tables,
        *(_broken(commands, table) for table in health.broken),
        *(finding for internal in health.internal for finding in _internal(commands, internal)),
        *(finding for branch in health.branches for finding in _branch(commands, health, branch)),
        *(_failure(commands, failure) for failure in repeated_failures(health.runs) if _concerns(health, failure)),
        *_reclaimable(commands, health),
    ]
    for_all = commands.optimize_all_branches()
    grouped = group_findings(
        _with_one_remedy(commands, findings, for_all),
        never_optimized=_never_optimized(health),
        fix_for_all_branches=for_all,
    )
    return most_urgent_first(grouped)


def _with_one_remedy(commands: Commands, findings: list[Finding], for_all: str) -> list[Finding]:
    """Give what `optimize` settles on many branches the one command that does all of them."""
    waiting = {
        finding.branch
        for finding in findings
        if finding.needs_something and finding.fix == commands.optimize(finding.branch)
    }
    if len(waiting) <= _BRANCHES_APART_MAX:
        return findings
    return [
        replace(finding, fix=for_all) if finding.fix == commands.optimize(finding.branch) else finding
        for finding in findings
    ]


def _never_optimized(health: GraphHealth) -> list[str | None]:
    """Name the branches, `main` as None, that no run of optimize has come to an end on."""
    done = {run.branch for run in health.runs if run.verb == "optimize" and "" not in run.errors}
    others = [branch.name for branch in health.branches if branch.name not in done]
    is_main_fresh = MAIN_BRANCH not in done and health.last_maintenance is None
    return [None, *others] if is_main_fresh else [*others]


def _damages(commands: Commands, damages: tuple[Damage, ...]) -> Iterator[Finding]:
    named = {(damage.table_key, damage.branch) for damage in damages if damage.part is not DamagedPart.CLEANUP}
    for damage in damages:
        # Cleanup stumbles over the same damage, and over any when it cannot look at all: that says nothing new.
        if damage.part is DamagedPart.CLEANUP and named and (damage.table_key is None or _place(damage) in named):
            continue
        yield _damage(commands, damage)


def _place(damage: Damage) -> tuple[str | None, str | None]:
    return damage.table_key, damage.branch


def _damage(commands: Commands, damage: Damage) -> Finding:
    code, fix = f"{damage.part.value}_unreadable", commands.look_again()
    message = f"cannot be read: {damage.problem}"
    restore = f"restore {damage.where} from a backup"
    match damage.part:
        case DamagedPart.REF:
            code, fix = "ref_missing", commands.merge(str(damage.branch), deletes=True)
            message = f"{damage.problem}, so that cleanup may remove what it reads; {restore} or merge the branch"
        case DamagedPart.CLEANUP:
            code, fix = "cleanup_blocked", commands.preview_cleanup()
            message = f"cleanup cannot tell what may go: {damage.problem}"
        case DamagedPart.TABLE if damage.branch is not None:
            message += f"; {restore}, or give up what is on the branch with `{commands.delete(damage.branch)}`"
        case DamagedPart.TABLE | DamagedPart.BRANCH | DamagedPart.INTERNAL if damage.where is not None:
            message += f"; {restore} and look again"
    return Finding(
        severity=Severity.ACTION,
        code=code,
        message=message,
        fix=fix,
        table_key=damage.table_key,
        branch=damage.branch,
    )


def _with_what_is_left(finding: Finding, health: GraphHealth) -> Finding:
    """Add to the finding about a damaged table which graph versions need what is lost and which show it whole."""
    if finding.code != _DAMAGED:
        return finding
    here = (finding.table_key, finding.branch)
    left = next((found.lost for found in health.lost if found.lost and (found.table_key, found.branch) == here), None)
    return replace(finding, message=f"{finding.message}; {left}") if left is not None else finding


def _lost(commands: Commands, health: GraphHealth, in_tables: list[Finding]) -> Iterator[Finding]:
    """One finding for each place that lost something, unless another finding tells of that place already."""
    known = {_place(damage) for damage in health.damages if damage.part is not DamagedPart.CLEANUP}
    known |= {(damage.where, damage.branch) for damage in health.damages}
    known |= {(found.table_key, found.branch) for found in in_tables if found.code in {_DAMAGED, "table_behind"}}
    by_place: dict[tuple[str, str | None, str | None], list[Problem]] = {}
    for problem in health.lost:
        if (problem.table_key, problem.branch) not in known and problem.kind is not ProblemKind.INDEX_LOST:
            by_place.setdefault((problem.kind.value, problem.table_key, problem.branch), []).append(problem)
    for (code, table_key, branch), problems in by_place.items():
        first, more = problems[0], len(problems) - 1
        also = f" (and {counted(more, 'more problem')})" if more else ""
        yield Finding(
            severity=Severity.ACTION,
            code=code,
            message=f"{first.message}{also}{f': {first.lost}' if first.lost else ''}; "
            f"{first.remedy or 'restore it from a backup'}",
            fix=commands.verify(branch),
            table_key=table_key,
            branch=branch,
        )


def _broken(commands: Commands, table: BrokenTable) -> Finding:
    found = table.findings
    counts = ", ".join(f"{count:,} {code.value.replace('_', ' ')}" for code, count in found.by_code.items())
    first = "; ".join(finding.message for finding in found.first[:_BROKEN_SHOWN])
    more = f"; and {found.total - _BROKEN_SHOWN:,} more" if found.total > _BROKEN_SHOWN else ""
    return Finding(
        severity=Severity.ACTION,
        code="rules_broken",
        message=f"a forced repair published rows that break declared rules ({counts}): {first}{more}. Export the rows, "
        "correct them and load them with --mode overwrite",
        fix=commands.export(table.table_key, table.branch),
        table_key=table.table_key,
        branch=None if table.branch == MAIN_BRANCH else table.branch,
    )


def _recoveries(commands: Commands, health: GraphHealth) -> Iterator[Finding]:
    for operation in health.pending:
        sidecar = operation.sidecar
        what = f"{sidecar.kind.value} on {sidecar.branch_name}" if sidecar else "an operation that cannot be read"
        in_use = sidecar is not None and f"branch/{sidecar.branch_name}" in health.locks
        yield Finding(
            severity=Severity.INFO if in_use else Severity.ACTION,
            code="recovery_in_use" if in_use else "recovery_pending",
            message=f"{operation.operation_id}: {what} {'is under way' if in_use else 'was interrupted'}",
            fix=commands.recover(),
        )


def _internal(commands: Commands, internal: InternalHealth) -> Iterator[Finding]:
    fragments = len(internal.layout.fragments)
    fix = commands.optimize(internal.branch)
    if internal.layout.has_auto_cleanup:
        yield Finding(
            severity=Severity.ACTION,
            code="auto_cleanup",
            message=AUTO_CLEANUP,
            fix=fix,
            table_key=internal.name,
            branch=internal.branch,
        )
    if fragments > INTERNAL_FRAGMENTS_MAX:
        yield Finding(
            severity=Severity.ATTENTION,
            code="internal_growth",
            message=f"{counted(fragments, 'fragment')} slow down every commit",
            fix=fix,
            table_key=internal.name,
            branch=internal.branch,
        )


def _branch(commands: Commands, health: GraphHealth, branch: BranchHealth) -> Iterator[Finding]:
    days = (health.looked_at_us - branch.last_active_us) // _DAY_US
    if days < STALE_BRANCH_DAYS or not branch.old_versions_kept:
        return
    message = f"nothing happened for {days} days, and it keeps {counted(branch.old_versions_kept, 'old version')} alive"
    if branch.unmerged_commits == 0:
        message += "; everything on it is merged, so it can go"
        fix = commands.delete(branch.name)
    else:
        # Deleting would lose them, so that is for somebody who has read this to type.
        many = "commits" if branch.unmerged_commits is None else counted(branch.unmerged_commits, "commit")
        message += f"; merge its {many}, or give them up with `{commands.delete(branch.name)}`"
        fix = commands.merge(branch.name, into=branch.parent, deletes=True)
    yield Finding(severity=Severity.ATTENTION, code="stale_branch", message=message, fix=fix, branch=branch.name)


def _concerns(health: GraphHealth, failure: RepeatedFailure) -> bool:
    """Whether what failed is still there: branches and types that are gone need no maintenance."""
    tables = {(table.table_key, table.branch) for table in health.tables}
    branches = {branch.name for branch in health.branches} | {"main"}
    if failure.table_key is None or failure.branch is None:
        return failure.branch is None or failure.branch in branches
    return (failure.table_key, failure.branch) in tables or failure.table_key.startswith("_")


def _failure(commands: Commands, failure: RepeatedFailure) -> Finding:
    branch = None if failure.branch == "main" else failure.branch
    often = "failed" if failure.times == 1 else f"failed {failure.times} times in a row"
    reason = f": {failure.error.rstrip('.')}" if failure.error else ""
    return Finding(
        severity=Severity.ACTION if failure.times >= _FAILURES_MAX else Severity.ATTENTION,
        code="maintenance_failing",
        message=f"{failure.verb} {often}{reason}",
        fix=commands.cleanup() if failure.verb == "cleanup" else commands.optimize(branch),
        table_key=failure.table_key,
        branch=branch,
    )


def _reclaimable(commands: Commands, health: GraphHealth) -> Iterator[Finding]:
    reclaimable = health.reclaimable_bytes
    live = sum(fragment.bytes for table in health.tables if table.facts for fragment in table.facts.layout.fragments)
    if reclaimable >= RECLAIMABLE_BYTES_MIN and reclaimable >= live * RECLAIMABLE_SHARE:
        yield Finding(
            severity=Severity.ATTENTION,
            code="reclaimable",
            message=f"{spell_bytes(reclaimable)} that cleanup would remove beside {spell_bytes(live)} of live data",
            fix=commands.cleanup(),
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class HealthReport(Shown):
    """What was seen, and what follows from it."""

    health: GraphHealth
    findings: tuple[Finding, ...]

    @property
    def status(self) -> Status:
        """The graph in a word."""
        return status_of(list(self.findings))


def report_health(
    context: GraphContext, *, aim: OptimizeRequest = DEFAULT_AIM, retention: CleanupPolicy | None = DEFAULT_POLICY
) -> HealthReport:
    """Look at a graph and judge what is seen; writes nothing and takes no lock."""
    health = observe_health(context, aim=aim, retention=retention)
    return HealthReport(health=health, findings=tuple(find(health)))
