"""Say: what a run did, or would do, in the rows that users see."""

from collections.abc import Iterable
from dataclasses import asdict, replace
from typing import Any

from omnigraph.base.values import dataclass
from omnigraph.catalog.indexes import IndexIntent
from omnigraph.errors import MaintenanceContention, OmniError, OptimizePartial
from omnigraph.maintenance.optimize.costs import live_rows
from omnigraph.maintenance.optimize.table_commits import TableCommit
from omnigraph.maintenance.optimize.table_plan import CONTENDED, LeftIndex, PendingIndex, TablePlan
from omnigraph.maintenance.optimize.table_work import TableWork
from omnigraph.manifest.commits import Commit, CommitResult
from omnigraph.storage.layout import TableLayout, read_layout


@dataclass(frozen=True, slots=True, kw_only=True)
class TableReport:
    """One table after the run, or in a preview as the run would leave it."""

    table_key: str
    fragments_removed: int = 0
    fragments_added: int = 0
    committed: bool = False
    skipped: str | None = None
    error: str | None = None
    manifest_version: int | None
    """The pin after the run; None for internal tables, which nothing pins."""
    lance_head_version: int | None
    """None when the table is gone."""
    pending_indexes: tuple[PendingIndex, ...] = ()
    rows: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    indexes_built: tuple[str, ...] = ()
    indexes_updated: tuple[str, ...] = ()
    coverage_before: float = 1.0
    coverage_after: float = 1.0
    pause_ms: int = 0
    duration_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Contention:
    """An internal table that live writers kept from being compacted."""

    table: str
    attempts: int


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class OptimizeResult(CommitResult):
    """One run over one branch."""

    uri: str
    branch: str
    dry_run: bool
    engine: str
    engine_reason: str
    graph_version_before: int
    graph_version_after: int
    commit: Commit | None
    duration_ms: int
    bytes_left: int
    """Bytes of fragments that a rewrite would pay for but that a budget or writers left to the next run."""
    tables: tuple[TableReport, ...]
    contentions: tuple[Contention, ...] = ()

    @property
    def bytes_rewritten(self) -> int:
        """Bytes of the tables' fragments that were rewritten, or would be; the graph's own tables are beside that."""
        return sum(table.bytes_read for table in self.tables if table.manifest_version is not None)

    @property
    def indexes_left(self) -> int:
        """How many indexes the next run has to build or to complete."""
        return sum(isinstance(index, LeftIndex) for table in self.tables for index in table.pending_indexes)

    @property
    def pause_ms(self) -> int:
        """How long the branch was closed to writers, all tables together."""
        return sum(table.pause_ms for table in self.tables)

    @property
    def failure(self) -> OmniError | None:
        """What went wrong, if anything did; what is published stands in every case."""
        failed = [table for table in self.tables if table.error is not None]
        if failed:
            return OptimizePartial(
                f"{failed[0].table_key} was not optimized as planned: {failed[0].error}. Everything else is published; "
                "run optimize again.",
                effect=self.effect,
                tables=[table.table_key for table in failed],
            )
        if self.contentions:
            first = self.contentions[0]
            return MaintenanceContention(
                f"The internal table {first.table} could not be compacted: other writers were faster "
                f"{first.attempts} times. What was published stands; run optimize again when it is quieter.",
                effect=self.effect,
                table=first.table,
                attempts=first.attempts,
            )
        return None


def as_document(result: OptimizeResult) -> dict[str, Any]:
    """Describe a run in plain values; the command prints exactly this."""
    return {
        "uri": result.uri,
        "branch": result.branch,
        "dry_run": result.dry_run,
        "engine": result.engine,
        "engine_reason": result.engine_reason,
        "graph_version_before": result.graph_version_before,
        "graph_version_after": result.graph_version_after,
        "commit": result.commit.graph_commit_id if result.commit is not None else None,
        "duration_ms": result.duration_ms,
        "pause_ms": result.pause_ms,
        "bytes_left": result.bytes_left,
        "indexes_left": result.indexes_left,
        "tables": [
            asdict(table)
            | {"coverage_before": round(table.coverage_before, 4), "coverage_after": round(table.coverage_after, 4)}
            for table in result.tables
        ],
    }


def report_preview(plan: TablePlan, *, publish_seconds: float) -> TableReport:
    """Say what a run would do to one table; `publish_seconds` is its share of what the publish of all of them takes."""
    untouched = report_untouched(plan)
    return replace(
        untouched,
        fragments_removed=sum(len(group.fragments) for group in plan.groups),
        fragments_added=len(plan.groups),
        bytes_read=plan.bytes_read,
        bytes_written=plan.bytes_written,
        indexes_built=_columns(build.column for build in plan.builds),
        indexes_updated=_columns(column for index in plan.folds for column in index.columns),
        coverage_after=_coverage_to_come(plan, untouched.coverage_before),
        pause_ms=_milliseconds(plan.tail_seconds + publish_seconds if plan.has_work else 0.0),
    )


def report_untouched(plan: TablePlan) -> TableReport:
    """Say that a table needed nothing, or was skipped."""
    facts = plan.facts
    coverage = facts.coverage()
    return TableReport(
        table_key=plan.table_key,
        skipped=plan.skipped,
        error=_damage(plan),
        manifest_version=facts.pin.version,
        lance_head_version=facts.head_version,
        pending_indexes=(*plan.pending, *plan.postponed),
        rows=facts.rows,
        coverage_before=coverage,
        coverage_after=coverage,
    )


def report_uncommitted(work: TableWork, *, skipped: str | None = None, head_version: int | None = None) -> TableReport:
    """Say that nothing of a table could be committed, and why; `head_version` is where a skipped one was found."""
    facts = work.plan.facts
    coverage = facts.coverage()
    reason = skipped or (CONTENDED if work.is_contended else None)
    return TableReport(
        table_key=work.plan.table_key,
        skipped=None if work.error else reason,
        error=work.error,
        manifest_version=facts.pin.version,
        lance_head_version=head_version if skipped is not None else facts.head_version,
        pending_indexes=_pending(work, facts.layout),
        rows=facts.rows,
        bytes_read=work.plan.bytes_read,
        coverage_before=coverage,
        coverage_after=coverage,
        duration_ms=_milliseconds(work.seconds),
    )


def report_committed(found: TableCommit) -> TableReport:
    """Say what became of a table whose commits were published."""
    work, facts = found.work, found.work.plan.facts
    after: TableLayout = read_layout(found.reached) if found.reached is not None else facts.layout
    return TableReport(
        table_key=work.plan.table_key,
        fragments_removed=sum(len(made.group.fragments) for made in found.rewritten),
        fragments_added=sum(made.fragments_added for made in found.rewritten),
        committed=found.reached is not None,
        skipped=CONTENDED if found.reached is None and work.is_contended and not found.error else None,
        error=found.error,
        manifest_version=after.version if found.reached is not None else found.pin.version,
        lance_head_version=after.version if found.reached is not None else found.head.version,
        pending_indexes=_pending(work, after),
        rows=after.rows,
        bytes_read=sum(made.group.bytes for made in found.rewritten),
        bytes_written=sum(made.bytes_written for made in found.rewritten),
        indexes_built=_columns(made.build.column for made in found.built),
        indexes_updated=found.folded,
        coverage_before=facts.coverage(),
        coverage_after=facts.coverage(after),
        pause_ms=_milliseconds(found.pause_seconds),
        duration_ms=_milliseconds(work.seconds + found.pause_seconds),
    )


def _damage(plan: TablePlan) -> str | None:
    if plan.facts.problem is None:
        return None
    return f"{plan.facts.problem}; restore {plan.facts.pin.address.path} from a backup"


def _coverage_to_come(plan: TablePlan, before: float) -> float:
    if plan.skipped or plan.pending or not plan.reindex:
        return before
    return before if plan.postponed else 1.0


def _pending(work: TableWork, after: TableLayout) -> tuple[PendingIndex, ...]:
    """Name every declared index that is missing or incomplete, and why; the plan knows best, if it was meant to be."""
    pending: list[PendingIndex] = [*work.plan.pending, *work.unbuilt]
    if not work.plan.reindex:
        return tuple(pending)
    told = {index.column for index in pending}
    meant = {index.column: index for index in work.plan.postponed}
    for intent in work.plan.facts.intents:
        reason = _incomplete(after, intent)
        if reason is not None and intent.column not in told:
            told.add(intent.column)
            left = LeftIndex(column=intent.column, reason=f"left to the next run: {reason}")
            pending.append(meant.get(intent.column, left))
    return tuple(pending)


def _incomplete(layout: TableLayout, intent: IndexIntent) -> str | None:
    index = layout.index_by_name.get(intent.name)
    if index is None:
        return "it was not built in time" if layout.rows else None
    unknown = live_rows(layout.uncovered(index))
    return f"it knows {layout.rows - unknown:,} of {layout.rows:,} rows" if unknown else None


def _columns(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(names)))


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1_000)
