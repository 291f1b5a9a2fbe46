"""The health of a graph as a document and as text."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from omnigraph.base.clock import timestamp_from_us
from omnigraph.base.units import counted, spell_bytes
from omnigraph.cli.health_runs import run_document, run_line
from omnigraph.cli.output import Column, Grid, Json, Text

if TYPE_CHECKING:  # the result classes live beside code that imports Lance
    from omnigraph.maintenance.health.findings import Finding
    from omnigraph.maintenance.health.report import HealthReport
    from omnigraph.maintenance.health.tables import TableHealth

SIZE_BUCKETS = ((1 << 20, "< 1 MiB"), (16 << 20, "< 16 MiB"), (256 << 20, "< 256 MiB"), (None, "larger"))
"""Into which sizes fragments are counted."""
RUNS_SHOWN = 3


def health_document(report: "HealthReport") -> dict[str, Any]:
    """Describe everything that was looked at."""
    health = report.health
    return {
        "uri": health.uri,
        "status": report.status.value,
        "looked_at": timestamp_from_us(health.looked_at_us),
        "tables": [table_document(table) for table in health.tables],
        "internal_tables": [
            {
                "table_key": internal.name,
                "branch": internal.branch,
                "fragments": len(internal.layout.fragments),
                "rows": internal.layout.rows,
                "bytes": internal.bytes,
                "versions": internal.versions,
            }
            for internal in health.internal
        ],
        "recoveries": [
            {
                "operation_id": operation.operation_id,
                "kind": operation.sidecar.kind.value if operation.sidecar else None,
                "branch": operation.sidecar.branch_name if operation.sidecar else None,
                "problem": operation.problem,
            }
            for operation in health.pending
        ],
        "branches": [
            {
                "name": branch.name,
                "graph_version": branch.graph_version,
                "created_at": timestamp_from_us(branch.created_at_us),
                "last_commit_at": timestamp_from_us(branch.last_commit_us),
                "parent": branch.parent,
                "owned_tables": branch.owned_tables,
                "old_versions_kept": branch.old_versions_kept,
                "unmerged_commits": branch.unmerged_commits,
            }
            for branch in health.branches
        ],
        "locks": [
            {"name": name, "holder": str(holder), "since": holder.since} for name, holder in health.locks.items()
        ],
        "last_maintenance": (
            {
                "commit": health.last_maintenance.graph_commit_id,
                "at": timestamp_from_us(health.last_maintenance.created_at_us),
            }
            if health.last_maintenance
            else None
        ),
        "runs": [run_document(run) for run in health.runs],
        "leftovers": [
            {"name": left.name, "branch": left.branch, "dropped": left.is_dropped, "reclaimable_bytes": left.bytes}
            for left in health.leftovers
        ],
        "reclaimable_bytes": health.reclaimable_bytes,
        "damage": [
            {
                "part": damage.part.value,
                "table_key": damage.table_key,
                "branch": damage.branch,
                "path": damage.where,
                "problem": damage.problem,
            }
            for damage in health.damages
        ],
        "findings": [_finding_document(finding) for finding in report.findings],
    }


def table_document(table: "TableHealth") -> dict[str, Any]:
    """Describe one table; what cannot be read at its pin is null."""
    facts = table.facts
    fragments = facts.layout.fragments if facts is not None else ()
    physical = sum(fragment.physical_rows for fragment in fragments)
    deleted = sum(fragment.deleted_rows for fragment in fragments)
    return {
        "table_key": table.table_key,
        "branch": None if table.branch == "main" else table.branch,
        "rows": facts.layout.rows if facts is not None else None,
        "bytes": sum(fragment.bytes for fragment in fragments),
        "fragments": len(fragments),
        "fragment_sizes": fragment_sizes([fragment.bytes for fragment in fragments]),
        "deleted_ratio": round(deleted / physical, 4) if physical else 0.0,
        "versions": table.versions,
        "reclaimable_bytes": table.reclaimable_bytes,
        "indexes": index_documents(table),
        "coverage": round(facts.coverage(), 4) if facts is not None else None,
        "pending_indexes": [
            {"column": pending.column, "reason": pending.reason}
            for pending in (table.plan.pending if table.plan else ())
        ],
        "pending_vectors": table.pending_vectors,
        "drift": table.drift.classification.value,
        "manifest_version": table.drift.pin.version,
        "lance_head_version": table.drift.head_version,
    }


def index_documents(table: "TableHealth") -> list[dict[str, Any]]:
    """Describe every index of a table, those that are declared and do not exist yet among them."""
    facts = table.facts
    if facts is None:
        return []
    layout = facts.layout
    declared = {intent.name: intent.kind.value for intent in facts.intents}
    built: list[dict[str, Any]] = [
        {
            "name": index.name,
            "kind": index.kind,
            "declared_as": declared.get(index.name),
            "columns": list(index.columns),
            "segments": len(index.segments),
            "coverage": round(layout.coverage(index), 4),
        }
        for index in layout.indexes
    ]
    missing: list[dict[str, Any]] = [
        {
            "name": intent.name,
            "kind": None,
            "declared_as": intent.kind.value,
            "columns": [intent.column],
            "segments": 0,
            "coverage": 0.0,
        }
        for intent in facts.intents
        if layout.rows and intent.name not in layout.index_by_name
    ]
    return built + missing


def fragment_sizes(sizes: list[int]) -> dict[str, int]:
    """Count fragments by size."""
    counts = {label: 0 for _, label in SIZE_BUCKETS}
    for size in sizes:
        counts[next(label for limit, label in SIZE_BUCKETS if limit is None or size < limit)] += 1
    return counts


def _finding_document(finding: "Finding") -> Json:
    return {
        "severity": finding.severity.value,
        "code": finding.code,
        **({"table_key": finding.table_key} if finding.table_key else {}),
        **({"branch": finding.branch} if finding.branch else {}),
        "message": finding.message,
        "fix": finding.fix,
    }


def health_text(report: "HealthReport") -> Text:
    """Show the tables, then what to do about each finding."""
    rows = tuple(_cells(table_document(table)) for table in report.health.tables)
    titles = ("table", "rows", "size", "fragments", "deleted", "versions", "reclaimable", "indexed")
    grid = Grid(
        columns=tuple(Column(title=title, justify="left" if title == "table" else "right") for title in titles),
        rows=rows,
        plain=tuple(
            " ".join(f"{title}={cell}" if title != "table" else cell for title, cell in zip(titles, row, strict=True))
            for row in rows
        ),
    )
    lines: list[str | Grid] = [f"{report.health.uri}: {report.status.value}", grid, *_incomplete_indexes(report)]
    for finding in report.findings:
        where = " on ".join(part for part in (finding.table_key, finding.branch) if part)
        lines.append(f"{finding.severity.value}: {f'{where}: ' if where else ''}{finding.message}")
        if finding.severity != "info":
            lines.append(f"  {finding.fix}")
    if not report.findings:
        lines.append(f"nothing to do: {counted(len(rows), 'table')} in good order")
    return [*lines, *_behind_the_scenes(report)]


def _incomplete_indexes(report: "HealthReport") -> Iterator[str]:
    """Name the indexes that do not know all rows; the others are only counted."""
    for table in report.health.tables:
        indexes = index_documents(table)
        incomplete = [_incomplete(index) for index in indexes if index["coverage"] < 1.0]
        if incomplete:
            complete = f"{len(indexes) - len(incomplete)} of {len(indexes)} complete"
            yield f"{_name(table_document(table))} indexes: {complete}; {'; '.join(incomplete)}"


def _incomplete(index: dict[str, Any]) -> str:
    # With the kind: a column may have one index for values and one for words.
    name = f"{', '.join(index['columns'])} {index['declared_as'] or index['kind']}"
    return f"{name} {spell_share(index['coverage']) if index['kind'] else 'not built'}"


def _behind_the_scenes(report: "HealthReport") -> Iterator[str]:
    health = report.health
    beside = sum(left.bytes for left in health.leftovers)
    if beside:
        names = ", ".join(dict.fromkeys(left.name for left in health.leftovers))
        yield f"reclaimable besides: {spell_bytes(beside)} ({names})"
    for name, holder in health.locks.items():
        yield f"locked: {name} by {holder} since {holder.since}"
    for run in health.runs[-RUNS_SHOWN:]:
        yield f"last run: {run_line(run)}"


def spell_share(share: float) -> str:
    """Spell a share, rounded down: an index that misses one row of a million does not know all of them."""
    return f"{int(share * 100)}%"


def _name(table: dict[str, Any]) -> str:
    return table["table_key"] if table["branch"] is None else f"{table['table_key']} on {table['branch']}"


def _cells(table: dict[str, Any]) -> tuple[str, ...]:
    return (
        _name(table),
        "?" if table["rows"] is None else f"{table['rows']:,}",
        spell_bytes(table["bytes"]),
        str(table["fragments"]),
        f"{table['deleted_ratio']:.0%}",
        str(table["versions"]),
        spell_bytes(table["reclaimable_bytes"]),
        "?" if table["coverage"] is None else spell_share(table["coverage"]),
    )
