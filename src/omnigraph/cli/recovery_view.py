"""Recoveries as text."""

from typing import TYPE_CHECKING

from omnigraph.base.clock import iso_from_us
from omnigraph.cli.output import Grid, Text, TextColumn

if TYPE_CHECKING:  # the result classes live beside code that imports Lance
    from omnigraph.documents.recovery import Recoveries
    from omnigraph.writes.pending import PendingOperation
    from omnigraph.writes.recovery.sweep import SweepResult


def sweep_text(swept: "SweepResult") -> Text:
    """Say what a recovery did, one operation per line."""
    lines = [
        f"{settled.operation_id} {settled.kind} on {settled.branch}: {settled.outcome.replace('_', ' ')}"
        for settled in swept.recovered
    ]
    lines += [f"{operation_id}: still in use" for operation_id in swept.in_use]
    lines += [f"{blocked.operation_id}: blocked" for blocked in swept.blocked]
    return lines or ["nothing to recover"]


def recoveries_text(history: "Recoveries") -> Text:
    """List past recoveries and pending operations."""
    if not history.past and not history.pending:
        return ["no recoveries, and nothing is pending"]
    rows = [
        (
            record.operation_id,
            record.writer_kind,
            record.graph_branch,
            record.recovery_kind.replace("_", " "),
            iso_from_us(record.created_at_us),
        )
        for record in history.past
    ]
    rows += [
        (
            operation.operation_id,
            operation.sidecar.kind.value if operation.sidecar else "unknown",
            operation.sidecar.branch_name if operation.sidecar else "",
            f"pending: {operation.problem}" if operation.problem else "pending",
            iso_from_us(operation.sidecar.started_at_us) if operation.sidecar else "",
        )
        for operation in history.pending
    ]
    titles = ("operation", "kind", "branch", "outcome", "at (UTC)")
    return [
        Grid(
            columns=tuple(TextColumn(title=title, is_whole=title in {"operation", "at (UTC)"}) for title in titles),
            rows=tuple(rows),
        )
    ]


def pending_text(operation: "PendingOperation") -> Text:
    """Show a sidecar as it is stored."""
    problem = [f"problem: {operation.problem}"] if operation.problem else []
    return [*problem, operation.content.decode(errors="replace").rstrip()]
