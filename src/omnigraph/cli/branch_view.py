"""Branches as text."""

from typing import TYPE_CHECKING

from omnigraph.base.clock import iso_from_us
from omnigraph.cli.output import Column, Grid, Text

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
                Column(title="branch"),
                Column(title="version", justify="right"),
                Column(title="head", is_whole=True),
                Column(title="from"),
                Column(title="own tables", justify="right"),
                Column(title="created (UTC)", is_whole=True),
            ),
            rows=rows,
        )
    ]
