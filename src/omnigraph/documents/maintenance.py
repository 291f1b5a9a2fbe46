"""What `optimize`, `repair`, `cleanup`, `maintain` and `verify` did and found.

The documents of optimize, cleanup and maintain are made beside their results, because a journal keeps them.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from omnigraph.base import clock
from omnigraph.base.values import Json

if TYPE_CHECKING:  # the result classes live beside code that imports Lance
    from omnigraph.maintenance.cleanup.report import CleanupReport
    from omnigraph.maintenance.journal import JournalEntry
    from omnigraph.maintenance.maintain.report import MaintainReport
    from omnigraph.maintenance.optimize.report import OptimizeResult
    from omnigraph.maintenance.repair.run import RepairReport, RepairRow
    from omnigraph.maintenance.verify.report import VerifyReport


def optimize_document(result: "OptimizeResult") -> Json:
    """Describe one run over one branch."""
    from omnigraph.maintenance.optimize.report import as_document

    return as_document(result)


def optimize_runs_document(results: "Sequence[OptimizeResult]") -> Json:
    """Describe the runs over all branches."""
    return {"uri": results[0].uri, "runs": [optimize_document(result) for result in results]}


def repair_document(report: "RepairReport", *, uri: str) -> Json:
    """Describe every table, and the version that this run published: that of `main`, if it was among the branches."""
    published = {commit.graph_branch: commit.graph_version for commit in report.commits}
    only = next(iter(published.values()), None) if len(published) == 1 else None
    return {
        "uri": uri,
        "confirm": report.consent != "preview",
        "force": report.consent == "anything",
        "discard": report.consent == "discard",
        "manifest_version": published.get("main", only),
        "commits": [commit.graph_commit_id for commit in report.commits],
        "tables": [_repair_row(row) for row in report.rows],
    }


def _repair_row(row: "RepairRow") -> Json:
    return {
        "table_key": row.table_key,
        "branch": None if row.branch == "main" else row.branch,
        "manifest_version": row.manifest_version,
        "lance_head_version": row.lance_head_version,
        "classification": row.classification.value,
        "action": row.action.value,
        "operations": list(row.operations),
        "error": row.error,
        **({"diff": asdict(row.review)} if row.review is not None else {}),
        **({"broken_constraints": asdict(row.broken)} if row.broken is not None else {}),
    }


def cleanup_document(report: "CleanupReport", *, uri: str) -> Json:
    """Describe every table, the internal ones included."""
    from omnigraph.maintenance.cleanup.report import as_document

    return {"uri": uri, **as_document(report)}


def maintain_document(report: "MaintainReport") -> Json:
    """Describe one run over all of its graphs."""
    from omnigraph.maintenance.maintain.report import as_document

    return as_document(report)


def maintain_journal_document(entries: "Sequence[JournalEntry]") -> Json:
    """Describe earlier runs, newest first, each as it was printed."""
    return {
        "runs": [
            {
                **entry.document,
                "run_id": entry.run_id,
                "host": entry.host,
                "ended_at": clock.timestamp_from_us(entry.ended_at_us),
            }
            for entry in reversed(entries)
        ]
    }


def verify_document(report: "VerifyReport") -> Json:
    """Describe everything that was looked at."""
    document = asdict(report)
    problems = [{**found, "kind": str(found["kind"])} for found in document.pop("problems")]
    return {"clean": report.is_clean, **document, "problems": problems}
