"""Giving up an operation that cannot be settled: the operator's way out, never taken by the program itself."""

from omnigraph.errors import EntityNotFound
from omnigraph.manifest.commits import MAIN_BRANCH
from omnigraph.writes.context import GraphContext
from omnigraph.writes.recovery.act import Settled
from omnigraph.writes.recovery.audit import record_recovery, record_unreadable
from omnigraph.writes.sidecar import Sidecar, UnreadableSidecar

_GATE_WAIT_SECONDS = 30.0


def abandon_operation(context: GraphContext, operation_id: str) -> Settled:
    """Remove a sidecar and leave the tables as they are; what the operation committed is drift from then on.

    Works on a sidecar that nobody can read, too. The audit row is written before the sidecar goes.
    """
    if operation_id not in context.sidecars.pending():
        raise EntityNotFound(f"No pending operation {operation_id} is in {context.store.uri}.", selector=operation_id)
    sidecar = _readable(context, operation_id)
    branch = sidecar.branch_name if sidecar is not None else MAIN_BRANCH
    with context.store.locks.acquire(
        f"branch/{branch}", operation=f"abandon {operation_id}", wait_seconds=_GATE_WAIT_SECONDS
    ):
        if sidecar is None:
            record_unreadable(context.store.tables, operation_id, recovery_kind="abandoned")
        else:
            record_recovery(context.store.tables, sidecar, recovery_kind="abandoned", graph_commit_id=None, outcomes={})
        context.sidecars.forget(operation_id)
    return Settled(
        operation_id=operation_id,
        kind=sidecar.kind.value if sidecar is not None else "unknown",
        branch=branch,
        outcome="abandoned",
        commit=None,
    )


def _readable(context: GraphContext, operation_id: str) -> Sidecar | None:
    try:
        return context.sidecars.read(operation_id)
    except UnreadableSidecar:
        return None
