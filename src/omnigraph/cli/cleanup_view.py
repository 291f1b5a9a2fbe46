"""What `cleanup` removed, or would remove, as a document and as text."""

from typing import TYPE_CHECKING

from omnigraph.base.units import counted, spell_bytes
from omnigraph.cli.output import Column, Grid, Json, Text

if TYPE_CHECKING:  # the result classes live beside code that imports Lance
    from omnigraph.maintenance.cleanup.run import CleanupReport, CleanupRow

_REASONS_SHOWN = 3


def cleanup_document(uri: str, report: "CleanupReport") -> Json:
    """Describe every table, the internal ones included."""
    older_than = report.policy.older_than
    return {
        "uri": uri,
        "keep_versions": report.policy.keep_versions,
        "older_than_secs": int(older_than.total_seconds()) if older_than is not None else None,
        "executed": report.executed,
        "engine": "local",
        "engine_reason": "removing versions moves no data",
        "run_id": report.run_id,
        "tables": [_row_document(row) for row in report.rows],
    }


def _row_document(row: "CleanupRow") -> Json:
    return {
        "table_key": row.table_key,
        "branch": row.branch,
        "dropped": row.dropped,
        "bytes_removed": row.removed.bytes,
        "old_versions_removed": row.removed.versions,
        "error": row.error,
        "data_files_removed": row.removed.data_files,
        "index_files_removed": row.removed.index_files,
        "branches_reclaimed": list(row.branches_reclaimed),
        "kept_because": list(row.kept_because),
    }


def cleanup_text(report: "CleanupReport") -> Text:
    """List the tables from which something goes or that failed, and the sum."""
    versions = sum(row.removed.versions for row in report.rows)
    total = f"{counted(versions, 'version')}, {spell_bytes(sum(row.removed.bytes for row in report.rows))}"
    shown = [row for row in report.rows if row.removed.bytes or row.branches_reclaimed or row.error]
    if not shown:
        return [f"nothing to remove: {counted(len(report.rows), 'table')} within the policy"]
    cells = tuple(_cells(row) for row in shown)
    titles = ("table", "versions", "size", "files", "kept because")
    grid = Grid(
        columns=tuple(
            Column(title=title, justify="right" if title in {"versions", "size", "files"} else "left")
            for title in titles
        ),
        rows=cells,
        plain=tuple(" ".join(cell for cell in row if cell) for row in cells),
    )
    reclaimed = [
        f"{_name(row)}: reclaims the refs {', '.join(row.branches_reclaimed)}"
        for row in shown
        if row.branches_reclaimed
    ]
    failed = [f"{_name(row)}: {row.error}" for row in shown if row.error]
    if report.executed:
        return [grid, *reclaimed, *failed, f"removed {total}"]
    return [grid, *reclaimed, *failed, f"would remove {total}. Nothing was changed; remove it with --confirm."]


def _cells(row: "CleanupRow") -> tuple[str, ...]:
    return (
        f"{_name(row)} (dropped)" if row.dropped else _name(row),
        str(row.removed.versions),
        spell_bytes(row.removed.bytes),
        str(row.removed.data_files + row.removed.index_files),
        _reasons(row.kept_because),
    )


def _name(row: "CleanupRow") -> str:
    return row.table_key if row.branch is None else f"{row.table_key} on {row.branch}"


def _reasons(reasons: tuple[str, ...]) -> str:
    left = len(reasons) - _REASONS_SHOWN
    return "; ".join(reasons[:_REASONS_SHOWN]) + (f" and {left} more" if left > 0 else "")
