"""Decide what deserves attention about each table by itself; `grouping.py` puts what is alike together. Pure."""

from collections.abc import Iterable, Iterator

from omnigraph.base.units import counted
from omnigraph.maintenance.health.commands import Commands
from omnigraph.maintenance.health.finding import Figures, Finding, Severity
from omnigraph.maintenance.health.grouping import (
    NO_ROWS,
    spell_fragments,
    spell_missing_indexes,
    spell_stale_indexes,
    spell_vectors,
)
from omnigraph.maintenance.health.tables import TableHealth
from omnigraph.maintenance.optimize.plan import TablePlan
from omnigraph.maintenance.repair.drift import Classification
from omnigraph.manifest.commits import MAIN_BRANCH

AUTO_CLEANUP = "a stored setting would make Lance delete versions that the graph still pins"
_MANY_FRAGMENTS = 100
_STALE_COVERAGE = 0.5
_VECTORS = "more vectors"


def find_in_tables(commands: Commands, tables: Iterable[TableHealth]) -> Iterator[Finding]:
    """Judge every table."""
    seen = list(tables)
    without_vectors = [table.branch for table in seen if table.pending_vectors]
    for table in seen:
        yield from _table(commands, table, is_alone=without_vectors.count(table.branch) == 1)


def _table(commands: Commands, table: TableHealth, *, is_alone: bool) -> Iterator[Finding]:
    if table.drift.classification is not Classification.NO_DRIFT:
        yield _drift(commands, table)
    elif table.plan is not None and table.plan.facts.problem is not None:
        message = _damaged(table, table.plan.facts.problem)
        yield _about(table, Severity.ACTION, "table_damaged", message, commands.look_again())
    elif table.plan is not None:
        optimize = commands.optimize(table.branch)
        yield from _layout(table, table.plan, optimize)
        yield from _indexes(table, table.plan, optimize)
        yield from _vectors(commands, table, is_alone=is_alone)


def _about(
    table: TableHealth, severity: Severity, code: str, message: str, fix: str, figures: Figures | None = None
) -> Finding:
    return Finding(
        severity=severity,
        code=code,
        message=message,
        fix=fix,
        table_key=table.table_key,
        branch=None if table.branch == MAIN_BRANCH else table.branch,
        figures=figures,
    )


def _drift(commands: Commands, table: TableHealth) -> Finding:
    drift = table.drift
    if drift.classification is Classification.BEHIND:
        return _about(table, Severity.ACTION, "table_behind", _behind(table), commands.look_again())
    named = drift.classification.value.replace("_", " ")
    message = f"at version {drift.head_version} but the graph pins {drift.pin.version} ({named})"
    return _about(table, Severity.ACTION, "drift", message, commands.repair(table.branch))


def _behind(table: TableHealth) -> str:
    """Say what is lost and what is left: no command brings back files that are gone."""
    drift = table.drift
    left = (
        "nothing of the table is left"
        if drift.head_version is None
        else f"what is left of the table ends at version {drift.head_version}"
    )
    pinned = f"version {drift.pin.version}, which the graph pins with {counted(drift.pin.row_count, 'row')}"
    return (
        f"{pinned}, is gone; {left}. "
        f"Restore {drift.pin.address.path} from a backup and look again; this does not affect other tables"
    )


def _damaged(table: TableHealth, problem: str) -> str:
    return (
        f"files of its rows are lost: {problem}. Restore {table.drift.pin.address.path} from a backup and look again; "
        "this does not affect other tables"
    )


def _layout(table: TableHealth, plan: TablePlan, optimize: str) -> Iterator[Finding]:
    layout = plan.facts.layout
    if layout.has_auto_cleanup:
        yield _about(table, Severity.ACTION, "auto_cleanup", AUTO_CLEANUP, optimize)
    groups = (*plan.groups, *plan.left)
    if groups:
        merged = sum(len(group.fragments) for group in groups)
        figures = Figures(
            fragments_before=len(layout.fragments),
            fragments_after=len(layout.fragments) - merged + len(groups),
            deleted_rows=sum(fragment.deleted_rows for fragment in layout.fragments),
        )
        severity = Severity.ACTION if merged > _MANY_FRAGMENTS else Severity.ATTENTION
        yield _about(table, severity, "fragmented", spell_fragments(figures), optimize, figures)


def _indexes(table: TableHealth, plan: TablePlan, optimize: str) -> Iterator[Finding]:
    lost = dict.fromkeys(column for index in plan.facts.lost_indexes for column in index.columns)
    if lost:
        message = f"files of the index on {', '.join(lost)} are lost, so that lookups read the whole table"
        yield _about(table, Severity.ACTION, "index_lost", message, optimize)
    missing = {build.name for build in plan.builds if build.is_new}
    if missing:
        intents = [intent for intent in plan.facts.intents if intent.name in missing]
        type_name = table.drift.pin.type_name
        figures = Figures(
            built_in=tuple(intent.column for intent in intents if intent.is_built_in),
            declared=tuple(f"{type_name}.{intent.column}" for intent in intents if not intent.is_built_in),
        )
        yield _about(table, Severity.ATTENTION, "index_missing", spell_missing_indexes(figures), optimize, figures)
    elif not lost and (plan.folds or plan.builds):
        coverage = plan.facts.coverage()
        severity = Severity.ACTION if coverage < _STALE_COVERAGE else Severity.ATTENTION
        # Rounded down: an index that misses one row of a million does not know all of them.
        figures = Figures(known_percent=min(99, int(coverage * 100)))
        yield _about(table, severity, "index_stale", spell_stale_indexes(figures), optimize, figures)
    for reason in dict.fromkeys(pending.reason for pending in plan.pending):
        columns = dict.fromkeys(pending.column for pending in plan.pending if pending.reason == reason)
        message = f"no index on {', '.join(columns)} yet: {reason}"
        figures = Figures(waits_for=NO_ROWS if reason == NO_ROWS else _VECTORS)
        yield _about(table, Severity.INFO, "index_pending", message, optimize, figures)


def _vectors(commands: Commands, table: TableHealth, *, is_alone: bool) -> Iterator[Finding]:
    if table.pending_vectors:
        figures = Figures(pending_rows=table.pending_vectors)
        fix = commands.embed(table.drift.pin.type_name if is_alone else None, table.branch)
        yield _about(table, Severity.ATTENTION, "vectors_pending", spell_vectors(figures), fix, figures)
