"""Decide: from the sides of a merge to everything it will do, or every reason why it cannot.

Reads, and writes nothing that anybody refers to: a dry run prints the very plan that a run carries out. Cost follows
the changes of both sides since they parted (`benchmarks/merge.py`); tables that only the target changed are not opened.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from omnigraph.branches.merge.conflicts import ConflictList
from omnigraph.branches.merge.images import with_images
from omnigraph.branches.merge.routes import Route
from omnigraph.branches.merge.sides import MergeOutcome, MergeSides
from omnigraph.branches.merge.tables import merge_table
from omnigraph.catalog.model import TableKey
from omnigraph.changes.diff import TableCounts
from omnigraph.manifest.snapshot import TablePin
from omnigraph.records.offences import OffenceCollector
from omnigraph.records.stored import check_values
from omnigraph.writes.constraints import check_deltas
from omnigraph.writes.delta import TableDelta, prepare_tables
from omnigraph.writes.prepared import PreparedTable, WriteIdentity


@dataclass(frozen=True, slots=True, kw_only=True)
class MergePlan:
    """What a merge does; with conflicts it does nothing."""

    outcome: MergeOutcome
    tables: tuple[TableCounts, ...]
    pointers: tuple[TablePin, ...]
    """Tables of which the target goes on to inherit a newer state."""
    conflicts: ConflictList
    stage: Callable[[WriteIdentity], tuple[PreparedTable, ...]]
    """Plans the transactions of the tables that change."""


def plan_in_process(sides: MergeSides, routes: Mapping[TableKey, Route], *, show_values: bool) -> MergePlan:
    """Resolve every table, check the graph that would come out, and collect all conflicts."""
    types = sides.target.catalog.type_by_table_key
    merges = [merge_table(sides, types[key], chosen) for key, chosen in routes.items()]
    deltas = {merge.entity.table_key: merge.delta(sides) for merge in merges if not merge.is_empty}
    conflicts = ConflictList()
    for merge in sorted(merges, key=lambda merge: (merge.entity.kind == "edge", merge.entity.name)):
        conflicts.add(merge.conflicts(at_most=conflicts.room), total=merge.conflicts_total)
    findings = OffenceCollector(limit=max(conflicts.room, 1))
    for delta in deltas.values():
        check_values(delta.upserts, delta.entity, findings)
    check_deltas(sides.target, deltas, findings)
    conflicts.add_findings(findings.result())
    if show_values:
        conflicts.kept = with_images(sides, conflicts.kept)
    pointed = {merge.entity.table_key for merge in merges if merge.route is Route.POINTER and not merge.is_empty}
    staged = {key: delta for key, delta in deltas.items() if key not in pointed}
    return MergePlan(
        outcome=sides.outcome,
        tables=tuple(_counted(delta) for _, delta in sorted(deltas.items())),
        pointers=tuple(sides.source.pins[key] for key in sorted(pointed)),
        conflicts=conflicts,
        stage=partial(prepare_tables, sides.target, staged),
    )


def _counted(delta: TableDelta) -> TableCounts:
    """Count what a delta does."""
    return TableCounts(
        table_key=delta.entity.table_key,
        inserted=delta.upserts.num_rows - delta.matched.num_rows,
        updated=delta.matched.num_rows,
        deleted=delta.removed.num_rows,
    )
