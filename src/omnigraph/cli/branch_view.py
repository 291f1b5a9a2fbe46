"""Branches, merges and their conflicts as text."""

import json
from typing import TYPE_CHECKING, Any

from omnigraph.base.clock import iso_from_us
from omnigraph.cli.change_view import counts_grid
from omnigraph.cli.output import Grid, Text, TextColumn

if TYPE_CHECKING:  # the result classes live beside code that imports Lance
    from omnigraph.branches.listing import BranchSummary
    from omnigraph.branches.merge.run import MergeResult
    from omnigraph.client.values import ServedMerge
    from omnigraph.errors import MergeConflicts


def branches_text(branches: "list[BranchSummary]") -> Text:
    """List branches, one per line."""
    rows = tuple(
        (
            branch.name,
            str(branch.graph_version),
            branch.head,
            branch.parent or "",
            str(len(branch.owned_tables)),
            iso_from_us(branch.created_at_us) if branch.created_at_us else "",
        )
        for branch in branches
    )
    return [
        Grid(
            columns=(
                TextColumn(title="branch"),
                TextColumn(title="version", justify="right"),
                TextColumn(title="head", is_whole=True),
                TextColumn(title="from"),
                TextColumn(title="own tables", justify="right"),
                TextColumn(title="created (UTC)", is_whole=True),
            ),
            rows=rows,
        )
    ]


_SIDES = ("base", "source", "target")


def branch_names_text(names: "list[str]") -> Text:
    """List branches of which only the names are known."""
    return [Grid(columns=(TextColumn(title="branch"),), rows=tuple((name,) for name in names))]


def served_merge_text(result: "ServedMerge") -> Text:
    """Say what a merge was that a server ran, and whether the source is gone."""
    gone = [f"deleted branch {result.source}"] if result.branch_deleted else []
    if result.outcome == "already_up_to_date":
        return [f"{result.target} is already up to date with {result.source}", *gone]
    how = " as a fast-forward" if result.outcome == "fast_forward" else ""
    commit = "" if result.commit is None else f": commit {result.commit.graph_commit_id}"
    return [f"merged {result.source} into {result.target}{how}{commit}", *gone]


def merge_text(result: "MergeResult") -> Text:
    """Say what the merge was, what changed in the target, and whether the source is gone."""
    gone = [f"deleted branch {result.source}"] if result.branch_deleted else []
    return [_headline(result), *([counts_grid(result.tables)] if result.tables else []), *gone]


def _headline(result: "MergeResult") -> str:
    if result.outcome == "already_up_to_date":
        return f"{result.target} is already up to date with {result.source}"
    how = " as a fast-forward" if result.outcome == "fast_forward" else ""
    nothing = "" if result.tables else "; the content is the same"
    if result.commit is None:
        return f"would merge {result.source} into {result.target}{how}{nothing}"
    return f"merged {result.source} into {result.target}{how}: commit {result.commit.graph_commit_id}{nothing}"


def conflicts_text(error: "MergeConflicts") -> Text:
    """List the conflicts, one per line, and the entities behind them where they were asked for."""
    conflicts: list[dict[str, Any]] = error.details["merge_conflicts"]
    grid = Grid(
        columns=(
            TextColumn(title="conflict"),
            TextColumn(title="table", is_whole=True),
            TextColumn(title="entity", is_whole=True),
            TextColumn(title="what"),
        ),
        rows=tuple((found["kind"], found["table_key"], found["row_id"] or "", found["message"]) for found in conflicts),
    )
    left_out = error.details["merge_conflicts_total"] - len(conflicts)
    more = [f"… and {left_out} more"] if left_out else []
    return [grid, *_values(conflicts), *more]


def _values(conflicts: list[dict[str, Any]]) -> list[str]:
    lines = []
    for found in conflicts:
        for side in _SIDES:
            if side in found:
                spelled = json.dumps(found[side], ensure_ascii=False) if found[side] is not None else "absent"
                lines.append(f"{found['table_key']} {found['row_id']} {side}: {spelled}")
    return lines
