"""Compacting the graph's own tables in place.

They gain a fragment with every commit, are read at their newest version, and hold the same rows whatever happens to a
compaction: so there is no pin to move and nothing to recover. Live writers are normal, and whoever loses tries again.
"""

from dataclasses import replace

from omnigraph.base import clock, faults, ids, stopping
from omnigraph.base.values import dataclass
from omnigraph.engine.interface import Engine
from omnigraph.maintenance.optimize.grouping import RewriteGroup, group_fragments
from omnigraph.maintenance.optimize.report import Contention, TableReport
from omnigraph.maintenance.optimize.request import OptimizeRequest
from omnigraph.maintenance.optimize.table_plan import CONTENDED
from omnigraph.maintenance.optimize.table_work import drop_rewrite
from omnigraph.maintenance.optimize.work import rewrite_task
from omnigraph.manifest.log import ACTORS, COMMITS
from omnigraph.storage.access import TableAccess
from omnigraph.storage.compaction import RewriteOutcome, commit_rewrites, run_rewrite, without_row_versions
from omnigraph.storage.layout import TableLayout, read_layout
from omnigraph.storage.store import GraphStore
from omnigraph.storage.stored_settings import stage_auto_cleanup_strip
from omnigraph.storage.table_store import TableStore
from omnigraph.storage.tables import Table, TableAddress
from omnigraph.storage.transactions import CommitInterleaved, commit_staged

INTERNAL_RETRY_BUDGET = 5
_PAUSE_SECONDS = 0.05
_PROPERTIES = {"omnigraph.kind": "optimize"}


@dataclass(frozen=True, slots=True, kw_only=True)
class InternalOutcome:
    """One internal table after the run; `contention` is set when it was given up."""

    report: TableReport
    contention: Contention | None = None
    bytes_left: int = 0
    """What was not rewritten because the time was up."""


def internal_tables(manifest: TableAddress) -> tuple[TableAddress, ...]:
    """Return the internal tables of a branch: its own manifest, and the log that all branches share."""
    return (manifest, COMMITS, ACTORS)


def compact_internal(
    store: GraphStore, engine: Engine, address: TableAddress, options: OptimizeRequest, *, not_after_us: int | None
) -> InternalOutcome | None:
    """Compact one internal table, trying again when a live writer was faster; None when there is no such table."""
    started = clock.monotonic_seconds()
    pause = _PAUSE_SECONDS
    for _ in range(INTERNAL_RETRY_BUDGET):
        head = store.tables.head(address)
        if head is None:
            return None
        if stopping.is_over(not_after_us):
            layout = read_layout(head)
            left = sum(group.bytes for group in _groups(layout, options))
            return InternalOutcome(report=_untouched(address, layout), bytes_left=left)
        try:
            report = _attempt(store, engine, head, options)
        except CommitInterleaved:
            clock.sleep_seconds(pause * ids.jitter())
            pause *= 2
        else:
            return InternalOutcome(report=replace(report, duration_ms=_milliseconds_since(started)))
    lost = _untouched(address, read_layout(store.tables.fresh_head(address)))
    return InternalOutcome(
        report=replace(lost, skipped=CONTENDED, duration_ms=_milliseconds_since(started)),
        contention=Contention(table=address.location, attempts=INTERNAL_RETRY_BUDGET),
    )


def report_failed_internal(address: TableAddress, failure: Exception) -> TableReport:
    """Say that one internal table could not be compacted, or not even be looked at."""
    return TableReport(table_key=address.location, manifest_version=None, lance_head_version=None, error=str(failure))


def preview_internal(store: TableStore, address: TableAddress, options: OptimizeRequest) -> TableReport | None:
    """Say what compacting one internal table would do; None when there is no such table."""
    head = store.head(address)
    if head is None:
        return None
    layout = read_layout(head)
    return _planned(address, layout, _groups(layout, options))


def _attempt(store: GraphStore, engine: Engine, head: Table, options: OptimizeRequest) -> TableReport:
    strip = stage_auto_cleanup_strip(head, properties=_PROPERTIES)
    if strip is not None:
        head = commit_staged(store.tables, head.address, strip)
    layout = read_layout(head)
    groups = _groups(layout, options)
    if not groups:
        return replace(_untouched(head.address, layout), committed=strip is not None)
    outcomes = _rewrite(store, engine, head, groups, options)
    failed = next((outcome.error for outcome in outcomes if outcome.error is not None), None)
    if failed is not None:
        for outcome in outcomes:
            if outcome.result is not None:
                drop_rewrite(store.objects, head.address, outcome.result)
        return replace(_untouched(head.address, layout), error=failed)
    faults.reach("optimize.internal_rewritten")
    after = store.tables.fresh_head(head.address)
    commit_rewrites(after, [without_row_versions(outcome.result) for outcome in outcomes if outcome.result is not None])
    return replace(
        _planned(head.address, layout, groups),
        committed=True,
        lance_head_version=after.version,
        fragments_added=sum(outcome.fragments_added for outcome in outcomes),
        bytes_written=sum(outcome.bytes_written for outcome in outcomes),
    )


def _rewrite(
    store: GraphStore, engine: Engine, head: Table, groups: tuple[RewriteGroup, ...], options: OptimizeRequest
) -> list[RewriteOutcome]:
    access = TableAccess.to(store, head)
    tasks = [
        rewrite_task(group, access, options, key=str(number), has_blobs=False) for number, group in enumerate(groups)
    ]
    return list(engine.map(run_rewrite, tasks))


def _groups(layout: TableLayout, options: OptimizeRequest) -> tuple[RewriteGroup, ...]:
    return group_fragments(layout.fragments, options, column_count=layout.column_count)


def _untouched(address: TableAddress, layout: TableLayout) -> TableReport:
    return TableReport(
        table_key=address.location, manifest_version=None, lance_head_version=layout.version, rows=layout.rows
    )


def _planned(address: TableAddress, layout: TableLayout, groups: tuple[RewriteGroup, ...]) -> TableReport:
    return replace(
        _untouched(address, layout),
        fragments_removed=sum(len(group.fragments) for group in groups),
        fragments_added=len(groups),
        bytes_read=sum(group.bytes for group in groups),
        bytes_written=sum(group.bytes_after for group in groups),
    )


def _milliseconds_since(started: float) -> int:
    return round((clock.monotonic_seconds() - started) * 1_000)
