"""Branches and merges."""

from typing import TYPE_CHECKING

from omnigraph.base.values import Json
from omnigraph.documents.changes import counts_document
from omnigraph.documents.commits import commit_document, graph_version_members

if TYPE_CHECKING:  # the result classes live beside code that imports Lance
    from omnigraph.branches.listing import BranchSummary
    from omnigraph.branches.merge.run import MergeResult
    from omnigraph.errors import MergeConflicts


def created_branch_document(name: str, *, uri: str, source: str, actor_id: str | None) -> Json:
    """Say which branch was made, and from what."""
    return {"uri": uri, "from": source, "name": name, "actor_id": actor_id}


def deleted_branch_document(name: str, *, uri: str, actor_id: str | None) -> Json:
    """Say which branch is gone."""
    return {"uri": uri, "name": name, "actor_id": actor_id}


def branches_document(branches: "list[BranchSummary]") -> Json:
    """List branches by name, with their details."""
    return {
        "branches": [branch.name for branch in branches],
        "details": [
            {
                "name": branch.name,
                "head": branch.head,
                **graph_version_members(branch.graph_version),
                "parent": branch.parent,
                "created_at": branch.created_at_us,
                "owned_tables": list(branch.owned_tables),
            }
            for branch in branches
        ],
    }


def merge_document(result: "MergeResult") -> Json:
    """Describe a merge; what became of the source is there only if its deletion was asked for."""
    document: dict[str, Json] = {
        "source": result.source,
        "target": result.target,
        "outcome": result.outcome.value,
        "dry_run": result.is_dry_run,
        "tables": counts_document(result.tables),
        "actor_id": result.actor_id,
        "engine": result.engine,
        "engine_reason": result.engine_reason,
        "commit": commit_document(result.commit) if result.commit else None,
    }
    if result.branch_deleted is not None:
        document["branch_deleted"] = result.branch_deleted
    if result.branch_delete_error is not None:
        document["branch_delete_error"] = result.branch_delete_error
    return document


def conflicts_document(error: "MergeConflicts") -> Json:
    """Describe a refused merge: the error document, with every conflict that was kept."""
    return error.document()
