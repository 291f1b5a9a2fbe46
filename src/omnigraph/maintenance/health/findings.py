"""Decide: which facts deserve attention, how urgent they are, and the command that settles each. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from omnigraph.base.units import counted, spell_bytes
from omnigraph.maintenance.health.facts import BranchHealth, GraphHealth, InternalHealth, TableHealth
from omnigraph.maintenance.optimize.plan import TablePlan
from omnigraph.maintenance.repair.drift import Classification

INTERNAL_FRAGMENTS_MAX = 50
STALE_BRANCH_DAYS = 30
RECLAIMABLE_BYTES_MIN = 64 << 20
_DAY_US = 86_400 * 1_000_000
_MANY_FRAGMENTS = 100
_STALE_COVERAGE = 0.5


class Severity(StrEnum):
    """How urgent a finding is."""

    INFO = "info"
    """Good to know; the graph is healthy all the same."""
    ATTENTION = "attention"
    ACTION = "action"


class Status(StrEnum):
    """The whole graph in a word."""

    HEALTHY = "healthy"
    ATTENTION = "attention"
    ACTION = "action"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing to know, with the exact command that settles it."""

    severity: Severity
    code: str
    message: str
    fix: str
    table_key: str | None = None
    branch: str | None = None


def find(health: GraphHealth) -> list[Finding]:
    """Judge the facts; the most urgent findings come first."""
    findings = [
        *_recoveries(health),
        *(finding for table in health.tables for finding in _table(health.uri, table)),
        *(finding for internal in health.internal for finding in _internal(health.uri, internal)),
        *(finding for branch in health.branches for finding in _branch(health, branch)),
        *_reclaimable(health),
    ]
    order = [Severity.ACTION, Severity.ATTENTION, Severity.INFO]
    return sorted(findings, key=lambda finding: order.index(finding.severity))


def status_of(findings: list[Finding]) -> Status:
    """Sum findings up: the worst of them decides."""
    severities = {finding.severity for finding in findings}
    if Severity.ACTION in severities:
        return Status.ACTION
    return Status.ATTENTION if Severity.ATTENTION in severities else Status.HEALTHY


def _recoveries(health: GraphHealth) -> Iterator[Finding]:
    for operation in health.pending:
        sidecar = operation.sidecar
        what = f"{sidecar.kind.value} on {sidecar.branch_name}" if sidecar else "an operation that cannot be read"
        in_use = sidecar is not None and f"branch/{sidecar.branch_name}" in health.locks
        yield Finding(
            severity=Severity.INFO if in_use else Severity.ACTION,
            code="recovery_in_use" if in_use else "recovery_pending",
            message=f"{operation.operation_id}: {what} {'is under way' if in_use else 'was interrupted'}",
            fix=f"omnigraph recover {health.uri}",
        )


def _table(uri: str, table: TableHealth) -> Iterator[Finding]:
    if table.drift.classification is not Classification.NO_DRIFT:
        yield _drift(uri, table)
    elif table.plan is not None:
        optimize = f"omnigraph optimize {uri}" + ("" if table.branch == "main" else f" --branch {table.branch}")
        yield from _layout(table, table.plan, optimize)
        yield from _indexes(table, table.plan, optimize)
        yield from _vectors(uri, table)


def _about(table: TableHealth, severity: Severity, code: str, message: str, fix: str) -> Finding:
    branch = None if table.branch == "main" else table.branch
    return Finding(severity=severity, code=code, message=message, fix=fix, table_key=table.table_key, branch=branch)


def _drift(uri: str, table: TableHealth) -> Finding:
    drift = table.drift
    if drift.classification is Classification.BEHIND:
        message = f"the graph pins version {drift.pin.version}, which is gone; restore the table from a backup"
        fix = f"omnigraph repair {uri} --table {table.table_key}"
        return _about(table, Severity.ACTION, "table_behind", message, fix)
    named = drift.classification.value.replace("_", " ")
    message = f"at version {drift.head_version} but the graph pins {drift.pin.version} ({named})"
    return _about(table, Severity.ACTION, "drift", message, f"omnigraph repair {uri}")


def _layout(table: TableHealth, plan: TablePlan, optimize: str) -> Iterator[Finding]:
    layout = plan.facts.layout
    if layout.has_auto_cleanup:
        message = "a stored setting would make Lance delete versions that the graph still pins"
        yield _about(table, Severity.ACTION, "auto_cleanup", message, optimize)
    groups = (*plan.groups, *plan.left)
    if groups:
        merged = sum(len(group.fragments) for group in groups)
        dead = sum(fragment.deleted_rows for fragment in layout.fragments)
        also = f", with {counted(dead, 'deleted row')} in them" if dead else ""
        after = len(layout.fragments) - merged + len(groups)
        message = f"{counted(len(layout.fragments), 'fragment')} could be {after}{also}"
        severity = Severity.ACTION if merged > _MANY_FRAGMENTS else Severity.ATTENTION
        yield _about(table, severity, "fragmented", message, optimize)


def _indexes(table: TableHealth, plan: TablePlan, optimize: str) -> Iterator[Finding]:
    missing = list(dict.fromkeys(build.column for build in plan.builds if build.is_new))
    if missing:
        message = f"declared indexes are not built: {', '.join(missing)}"
        yield _about(table, Severity.ATTENTION, "index_missing", message, optimize)
    elif plan.folds or plan.builds:
        coverage = plan.facts.coverage()
        severity = Severity.ACTION if coverage < _STALE_COVERAGE else Severity.ATTENTION
        # Rounded down: an index that misses one row of a million does not know all of them.
        message = f"the least complete index knows {min(99, int(coverage * 100))}% of the rows"
        yield _about(table, severity, "index_stale", message, optimize)
    for reason in dict.fromkeys(pending.reason for pending in plan.pending):
        columns = dict.fromkeys(pending.column for pending in plan.pending if pending.reason == reason)
        message = f"no index on {', '.join(columns)} yet: {reason}"
        yield _about(table, Severity.INFO, "index_pending", message, optimize)


def _vectors(uri: str, table: TableHealth) -> Iterator[Finding]:
    if table.pending_vectors:
        message = f"{counted(table.pending_vectors, 'row')} without the vector that @embed declares"
        fix = f"omnigraph embed {uri} --type {table.drift.pin.type_name}"
        yield _about(table, Severity.ATTENTION, "vectors_pending", message, fix)


def _internal(uri: str, internal: InternalHealth) -> Iterator[Finding]:
    fragments = len(internal.layout.fragments)
    if fragments > INTERNAL_FRAGMENTS_MAX:
        yield Finding(
            severity=Severity.ATTENTION,
            code="internal_growth",
            message=f"{counted(fragments, 'fragment')} slow down every commit",
            fix=f"omnigraph optimize {uri}",
            table_key=internal.name,
        )


def _branch(health: GraphHealth, branch: BranchHealth) -> Iterator[Finding]:
    days = (health.looked_at_us - branch.last_commit_us) // _DAY_US
    if days >= STALE_BRANCH_DAYS:
        yield Finding(
            severity=Severity.ATTENTION,
            code="stale_branch",
            message=f"no commit for {days} days, and it keeps {counted(branch.pins_behind_main, 'old version')} alive",
            fix=f"omnigraph branch delete --store {health.uri} {branch.name}",
            branch=branch.name,
        )


def _reclaimable(health: GraphHealth) -> Iterator[Finding]:
    reclaimable = sum(table.reclaimable_bytes for table in health.tables)
    live = sum(fragment.bytes for table in health.tables if table.facts for fragment in table.facts.layout.fragments)
    if reclaimable >= RECLAIMABLE_BYTES_MIN and reclaimable * 2 >= live:
        yield Finding(
            severity=Severity.ATTENTION,
            code="reclaimable",
            message=f"{spell_bytes(reclaimable)} of old versions beside {spell_bytes(live)} of live data",
            fix=f"omnigraph cleanup {health.uri} --confirm",
        )
