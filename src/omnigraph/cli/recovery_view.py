"""Recoveries as documents and as text."""

import json
from typing import TYPE_CHECKING

from omnigraph.base.clock import iso_from_us
from omnigraph.base.values import dataclass
from omnigraph.cli.output import Grid, Json, Text, TextColumn

if TYPE_CHECKING:  # the result classes live beside code that imports Lance
    from omnigraph.writes.recovery.audit import RecoveryRecord
    from omnigraph.writes.recovery.sweep import SweepResult
    from omnigraph.writes.sidecar import PendingOperation


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """What was recovered in the past, and what is pending now."""

    past: "list[RecoveryRecord]"
    pending: "list[PendingOperation]"


def sweep_document(uri: str, swept: "SweepResult") -> Json:
    """Describe what a recovery did."""
    return {
        "uri": uri,
        "recovered": [
            {
                "operation_id": settled.operation_id,
                "kind": settled.kind,
                "branch": settled.branch,
                "outcome": settled.outcome,
                **({"graph_commit_id": settled.commit.graph_commit_id} if settled.commit else {}),
            }
            for settled in swept.recovered
        ],
        "in_use": swept.in_use,
        "blocked": [
            {
                "operation_id": blocked.operation_id,
                "kind": blocked.kind,
                "branch": blocked.branch,
                "reason": blocked.reason,
                "fix": f"omnigraph recover {uri} --show {blocked.operation_id}",
            }
            for blocked in swept.blocked
        ],
    }


def sweep_text(swept: "SweepResult") -> Text:
    """Say what a recovery did, one operation per line."""
    lines = [
        f"{settled.operation_id} {settled.kind} on {settled.branch}: {settled.outcome.replace('_', ' ')}"
        for settled in swept.recovered
    ]
    lines += [f"{operation_id}: still in use" for operation_id in swept.in_use]
    lines += [f"{blocked.operation_id}: blocked" for blocked in swept.blocked]
    return lines or ["nothing to recover"]


def history_document(history: History) -> Json:
    """Describe past recoveries and pending operations."""
    return {
        "recoveries": [
            {
                "operation_id": record.operation_id,
                "recovery_kind": record.recovery_kind,
                "graph_commit_id": record.graph_commit_id,
                "writer_kind": record.writer_kind,
                "branch": record.graph_branch,
                "recovery_for_actor": record.recovery_for_actor,
                "recovered_by": json.loads(record.recovered_by),
                "outcomes": json.loads(record.outcomes),
                "created_at": record.created_at_us,
            }
            for record in history.past
        ],
        "pending": [_pending_facts(operation) for operation in history.pending],
    }


def history_text(history: History) -> Text:
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


def pending_document(operation: "PendingOperation") -> Json:
    """Show a sidecar as it is stored, or as text when it is not JSON."""
    try:
        content: Json = json.loads(operation.content)
    except ValueError:
        content = operation.content.decode(errors="replace")
    return {**_pending_facts(operation), "sidecar": content}


def pending_text(operation: "PendingOperation") -> Text:
    """Show a sidecar as it is stored."""
    problem = [f"problem: {operation.problem}"] if operation.problem else []
    return [*problem, operation.content.decode(errors="replace").rstrip()]


def _pending_facts(operation: "PendingOperation") -> dict[str, Json]:
    sidecar = operation.sidecar
    return {
        "operation_id": operation.operation_id,
        "kind": sidecar.kind.value if sidecar else None,
        "branch": sidecar.branch_name if sidecar else None,
        "started_at": sidecar.started_at_us if sidecar else None,
        "problem": operation.problem,
    }
