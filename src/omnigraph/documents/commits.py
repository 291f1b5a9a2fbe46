"""Commits, with who completed or undid what was interrupted.

Two generations of clients read documents, so a few facts appear under two names with equal values; the pairs are made
here and nowhere else.
"""

import json
from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from omnigraph.base.values import Json, dataclass

if TYPE_CHECKING:  # the result classes live beside code that imports Lance
    from omnigraph.manifest.commits import Commit
    from omnigraph.writes.recovery.audit import RecoveryRecord


def commit_document(commit: "Commit") -> dict[str, Json]:
    """Describe one commit; `main` is null in both spellings of the branch."""
    branch = None if commit.graph_branch == "main" else commit.graph_branch
    document: dict[str, Json] = {
        "graph_commit_id": commit.graph_commit_id,
        "kind": commit.kind.value,
        "manifest_branch": branch,
        "graph_branch": branch,
        **graph_version_members(commit.graph_version),
        "parent_commit_id": commit.parent_commit_id,
        "merged_parent_commit_id": commit.merged_parent_commit_id,
        "actor_id": commit.actor_id,
        "created_at": commit.created_at_us,
    }
    if commit.message is not None:
        document["message"] = commit.message
    if commit.kind.value == "maintenance":
        # What the run came to; commits of older programs have no duration, those of a recovery have no tables either.
        document["stats"] = {
            "duration_ms": commit.metadata.get("duration_ms"),
            "tables": commit.metadata.get("tables", {}),
        }
    return document


def graph_version_members(version: int) -> dict[str, Json]:
    """Give a graph version under both of its names."""
    return {"manifest_version": version, "graph_manifest_version": version}


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownCommits:
    """Commits in the order in which they are shown, and the recoveries that made some of them visible."""

    commits: "list[Commit]"
    recovery_by_commit: "Mapping[str, RecoveryRecord]" = field(default_factory=dict)

    def recovery(self, commit: "Commit") -> "RecoveryRecord | None":
        """Return the recovery of an interrupted write that this commit came out of."""
        return self.recovery_by_commit.get(commit.graph_commit_id)


def commits_document(shown: ShownCommits) -> Json:
    """Describe a history."""
    return {"commits": [_document(commit, shown.recovery(commit)) for commit in shown.commits]}


def one_commit_document(shown: ShownCommits) -> Json:
    """Describe one commit."""
    (commit,) = shown.commits
    return _document(commit, shown.recovery(commit))


def _document(commit: "Commit", recovery: "RecoveryRecord | None") -> Json:
    document = commit_document(commit)
    if recovery is not None:
        document["recovery"] = {
            "operation_id": recovery.operation_id,
            "recovery_kind": recovery.recovery_kind,
            "recovered_by": json.loads(recovery.recovered_by),
            "recovered_at": recovery.created_at_us,
        }
    return document
