"""What a cleanup says: a row for everything it looked at."""

from collections.abc import Mapping
from typing import Any

from omnigraph.base.showing import Shown
from omnigraph.base.values import dataclass
from omnigraph.maintenance.cleanup.policy import CleanupPolicy
from omnigraph.manifest.commits import CommitId
from omnigraph.storage.retention import Removal


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanupRow:
    """What went, or would go, from one ref of one table."""

    table_key: str
    branch: str | None = None
    dropped: bool = False
    removed: Removal
    branches_reclaimed: tuple[str, ...] = ()
    """Refs of branches that are gone."""
    trees_reclaimed: tuple[str, ...] = ()
    """Trees of refs that do not exist: what first writes and deletions left that were killed long ago."""
    kept_because: tuple[str, ...] = ()
    error: str | None = None

    @property
    def name(self) -> str:
        """The table, and the branch if the row is about one."""
        return self.table_key if self.branch is None else f"{self.table_key} on {self.branch}"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CleanupReport(Shown):
    """All rows of one run."""

    policy: CleanupPolicy
    executed: bool
    rows: tuple[CleanupRow, ...]
    engine: str
    engine_reason: str
    readable_from: Mapping[str, int | None]
    """Per live branch the graph version from which on every one can be read afterwards; None when not even the newest
    can."""
    commits_lost: tuple[CommitId, ...]
    """Commits that could be read as a whole before and cannot afterwards, newest first."""
    clock_skew_seconds: float | None
    """How far the clock of this machine is ahead of the store's; None where a preview could not tell."""
    run_id: str | None = None
    """The entry of the maintenance journal; None for a preview."""

    @property
    def failed(self) -> tuple[CleanupRow, ...]:
        """The tables that could not be cleaned, or not as a whole."""
        return tuple(row for row in self.rows if row.error is not None)


def as_document(report: CleanupReport) -> dict[str, Any]:
    """Describe a run in plain values; the command prints this, and the journal keeps it."""
    older_than = report.policy.older_than
    return {
        "keep_versions": report.policy.keep_versions,
        "older_than_secs": int(older_than.total_seconds()) if older_than is not None else None,
        "executed": report.executed,
        "engine": report.engine,
        "engine_reason": report.engine_reason,
        "run_id": report.run_id,
        "readable_from": dict(report.readable_from),
        "commits_lost": list(report.commits_lost),
        "clock_skew_secs": round(report.clock_skew_seconds) if report.clock_skew_seconds is not None else None,
        "tables": [_row_document(row) for row in report.rows],
    }


def _row_document(row: CleanupRow) -> dict[str, Any]:
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
        "trees_reclaimed": list(row.trees_reclaimed),
        "kept_because": list(row.kept_because),
    }
