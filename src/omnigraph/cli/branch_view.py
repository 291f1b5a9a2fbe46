"""Branches as text."""

from typing import TYPE_CHECKING

from omnigraph.base.clock import iso_from_us
from omnigraph.cli.output import Grid, Text, TextColumn

if TYPE_CHECKING:  # the result classes live beside code that imports Lance
    from omnigraph.branches.listing import BranchSummary


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
