"""The health of a graph: every fact about every table, the findings, and what maintenance gained."""

from typing import TYPE_CHECKING, Any

from omnigraph.base.clock import timestamp_from_us
from omnigraph.base.values import Json

if TYPE_CHECKING:  # the result classes live beside code that imports Lance
    from omnigraph.maintenance.health.finding import Finding
    from omnigraph.maintenance.health.judging import HealthReport
    from omnigraph.maintenance.health.runs import MaintenanceRun
    from omnigraph.maintenance.health.tables import TableHealth

SIZE_BUCKETS = ((1 << 20, "< 1 MiB"), (16 << 20, "< 16 MiB"), (256 << 20, "< 256 MiB"), (None, "larger"))
"""Into which sizes fragments are counted."""


def health_document(report: "HealthReport", *, uri: str) -> dict[str, Any]:
    """Describe everything that was looked at; `uri` is the address that was given."""
    health = report.health
    return {
        "uri": uri,
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
                "created_at": branch.created_at_us,
                "last_commit_at": branch.last_commit_us,
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


def run_document(run: "MaintenanceRun") -> Json:
    """Describe one run."""
    return {
        "run_id": run.run_id,
        "verb": run.verb,
        "branch": run.branch,
        "host": run.host,
        "at": timestamp_from_us(run.ended_at_us),
        "duration_ms": None if run.duration_us is None else run.duration_us // 1_000,
        "commit": run.commit,
        "gained": {
            "fragments_removed": run.fragments_removed,
            "fragments_added": run.fragments_added,
            "indexes_built": run.indexes_built,
            "indexes_updated": run.indexes_updated,
            "versions_removed": run.versions_removed,
            "bytes_removed": run.bytes_removed,
            "tables_repaired": run.tables_repaired,
        },
        "failed": [{"table_key": name or None, "error": error or None} for name, error in run.errors.items()],
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


def unread_document(table_key: str, branch: str | None) -> dict[str, Any]:
    """Describe a table of which nothing is known but its name, for lists that leave no table out."""
    return {
        "table_key": table_key,
        "branch": branch,
        "rows": None,
        "bytes": 0,
        "fragments": 0,
        "fragment_sizes": fragment_sizes([]),
        "deleted_ratio": 0.0,
        "versions": 0,
        "reclaimable_bytes": 0,
        "coverage": None,
        "manifest_version": "?",
        "lance_head_version": "?",
    }


def index_documents(table: "TableHealth") -> list[dict[str, Any]]:
    """Describe every index of a table, those that should exist and do not yet among them."""
    facts = table.facts
    if facts is None:
        return []
    layout = facts.layout
    declared = {intent.name: intent.kind.value for intent in facts.intents}
    built_in = {intent.name for intent in facts.intents if intent.is_built_in}
    built: list[dict[str, Any]] = [
        {
            "name": index.name,
            "kind": index.kind,
            "declared_as": declared.get(index.name),
            "built_in": index.name in built_in,
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
            "built_in": intent.is_built_in,
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
        "tables": list(finding.tables),
        "message": finding.message,
        "fix": finding.fix,
        **({"each": [_member_document(member) for member in finding.members]} if finding.members else {}),
    }


def _member_document(member: "Finding") -> Json:
    return {
        "severity": member.severity.value,
        "code": member.code,
        "table_key": member.table_key,
        "branch": member.branch,
        "message": member.message,
    }
