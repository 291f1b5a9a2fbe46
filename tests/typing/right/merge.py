"""Merge, look at the outcome, and at conflicts."""

from omnigraph import Graph
from omnigraph.errors import MergeConflicts


def changed(graph: Graph) -> dict[str, int]:
    preview = graph.branches.merge("review", into="main", dry_run=True)
    return {table.table_key: table.inserted + table.updated + table.deleted for table in preview.tables}


def merged(graph: Graph) -> str | None:
    try:
        result = graph.branches.merge("review", delete_branch=True, message="October", actor="act-ines")
    except MergeConflicts as conflicts:
        return str(conflicts.details["merge_conflicts_total"])
    return result.commit.merged_parent_commit_id if result.commit is not None else result.outcome.value
