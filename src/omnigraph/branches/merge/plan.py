"""Decide: from the sides of a merge to everything it will do, or every reason why it cannot.

Reads, and writes nothing: a dry run prints the very plan that a run carries out. Cost follows the changes of both
sides since they parted (`benchmarks/merge.py`); tables that only the target changed are not opened.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from omnigraph.branches.merge.conflicts import ConflictList
from omnigraph.branches.merge.images import with_images
from omnigraph.branches.merge.routes import Route, route
from omnigraph.branches.merge.sides import MergeOutcome, MergeSides
from omnigraph.branches.merge.tables import TableMerge, merge_table
from omnigraph.catalog.model import TableKey
from omnigraph.manifest.snapshot import TablePin
from omnigraph.records.findings import Finding, FindingCollector
from omnigraph.records.rules import find_violations
from omnigraph.writes.constraints import check_deltas
from omnigraph.writes.delta import TableDelta


@dataclass(frozen=True, slots=True, kw_only=True)
class TableCounts:
    """How many entities of one table a merge changes in the target."""

    table_key: TableKey
    inserted: int
    updated: int
    deleted: int

    @classmethod
    def of(cls, delta: TableDelta) -> "TableCounts":
        """Count what a delta does."""
        return cls(
            table_key=delta.entity.table_key,
            inserted=delta.upserts.num_rows - delta.matched.num_rows,
            updated=delta.matched.num_rows,
            deleted=delta.removed.num_rows,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MergePlan:
    """What a merge does; with conflicts it does nothing."""

    outcome: MergeOutcome
    tables: tuple[TableCounts, ...]
    deltas: Mapping[TableKey, TableDelta]
    """Changes to replay on the target's tables."""
    pointers: tuple[TablePin, ...]
    """Tables of which the target goes on to inherit a newer state."""
    conflicts: ConflictList


def plan_merge(sides: MergeSides, *, show_values: bool = False) -> MergePlan:
    """Resolve every table, check the graph that would come out, and collect all conflicts."""
    merges = [merge for merge in (_merge(sides, key) for key in sides.target.snapshot.pins) if merge is not None]
    deltas = {merge.entity.table_key: merge.delta(sides) for merge in merges if not merge.is_empty}
    conflicts = ConflictList()
    for merge in sorted(merges, key=lambda merge: (merge.entity.kind == "edge", merge.entity.name)):
        conflicts.add(merge.conflicts(at_most=conflicts.room), total=merge.conflicts_total)
    findings = FindingCollector(limit=max(conflicts.room, 1))
    _check_values(deltas, findings)
    check_deltas(sides.target, deltas, findings)
    conflicts.add_findings(findings.result())
    if show_values:
        conflicts.kept = with_images(sides, conflicts.kept)
    pointed = {merge.entity.table_key for merge in merges if merge.route is Route.POINTER and not merge.is_empty}
    return MergePlan(
        outcome=sides.outcome,
        tables=tuple(TableCounts.of(delta) for _, delta in sorted(deltas.items())),
        deltas={key: delta for key, delta in deltas.items() if key not in pointed},
        pointers=tuple(sides.source.pins[key] for key in sorted(pointed)),
        conflicts=conflicts,
    )


def _merge(sides: MergeSides, table_key: TableKey) -> TableMerge | None:
    chosen = route(
        source=sides.source.pins[table_key],
        target=sides.target.snapshot.pins[table_key],
        bases=[base.pins[table_key] for base in sides.bases],
        own_ref=sides.target.snapshot.own_ref,
        lasting_refs=sides.lasting_refs,
    )
    if chosen is Route.SKIP:
        return None
    return merge_table(sides, sides.target.catalog.type_by_table_key[table_key], chosen)


def _check_values(deltas: Mapping[TableKey, TableDelta], findings: FindingCollector) -> None:
    """Check enum, `@range` and `@check` of what comes in: a branch may hold what nobody checked, after a repair."""
    for delta in deltas.values():
        for violation in find_violations(delta.upserts, delta.entity):
            rows = violation.rows.to_pylist()
            for row in rows[: findings.limit]:
                findings.add(
                    Finding(
                        code=violation.code,
                        message=violation.describe(row),
                        table_key=delta.entity.table_key,
                        property=violation.property,
                        row_id=delta.upserts["id"][row].as_py(),
                    )
                )
            findings.count(violation.code, len(rows) - findings.limit)
