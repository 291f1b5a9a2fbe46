"""What recovery did, what it did in the past, and what is pending."""

import json
from typing import TYPE_CHECKING

from omnigraph.base.values import Json, dataclass

if TYPE_CHECKING:  # the result classes live beside code that imports Lance
    from omnigraph.writes.pending import PendingOperation
    from omnigraph.writes.recovery.audit import RecoveryRecord
    from omnigraph.writes.recovery.sweep import SweepResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Recoveries:
    """What was recovered in the past, and what is pending now."""

    past: "list[RecoveryRecord]"
    pending: "list[PendingOperation]"


def sweep_document(swept: "SweepResult", *, uri: str) -> Json:
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


def recoveries_document(history: Recoveries) -> Json:
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


def pending_document(operation: "PendingOperation") -> Json:
    """Show a sidecar as it is stored, or as text when it is not JSON."""
    try:
        content: Json = json.loads(operation.content)
    except ValueError:
        content = operation.content.decode(errors="replace")
    return {**_pending_facts(operation), "sidecar": content}


def _pending_facts(operation: "PendingOperation") -> dict[str, Json]:
    sidecar = operation.sidecar
    return {
        "operation_id": operation.operation_id,
        "kind": sidecar.kind.value if sidecar else None,
        "branch": sidecar.branch_name if sidecar else None,
        "started_at": sidecar.started_at_us if sidecar else None,
        "problem": operation.problem,
    }
