"""Giving up an operation that cannot be settled: the operator's way out, never taken by the program itself."""

from omnigraph.base import waits
from omnigraph.base.events import Events, Warned, ignore_events
from omnigraph.base.logs import about, logger_of
from omnigraph.base.plain_text import printable
from omnigraph.errors import EntityNotFound
from omnigraph.graphs.context import GraphContext
from omnigraph.manifest.commits import MAIN_BRANCH, check_name
from omnigraph.writes.pending import sidecars_of
from omnigraph.writes.recovery.act import Settled
from omnigraph.writes.recovery.audit import record_recovery, record_unreadable
from omnigraph.writes.sidecar import Sidecar
from omnigraph.writes.sidecar_format import UnreadableSidecar

_log = logger_of(__name__)


def abandon_operation(context: GraphContext, operation_id: str, events: Events = ignore_events) -> Settled:
    """Remove a sidecar and leave the tables as they are; what the operation committed is drift from then on.

    Works on a sidecar that nobody can read, too, and whatever the sidecar names: nothing of it is opened. The audit row
    is written before the sidecar goes; one that cannot be written is reported and holds nobody up, because this is the
    last way out.
    """
    check_name(operation_id, what="The operation id")
    if operation_id not in sidecars_of(context).pending():
        raise EntityNotFound(f"No pending operation {operation_id} is in {context.store.uri}.", selector=operation_id)
    sidecar = _readable(context, operation_id)
    branch = sidecar.branch_name if sidecar is not None else MAIN_BRANCH
    with context.store.locks.acquire(
        f"branch/{branch}", operation=f"abandon {operation_id}", wait_seconds=waits.GATE_SECONDS
    ):
        try:
            _audit(context, operation_id, sidecar)
        except Exception as error:  # noqa: BLE001  # whatever it is, it must not keep the sidecar
            reason = printable(str(error)) or type(error).__name__
            events(Warned(message=f"{operation_id} was given up, but the audit does not say so: {reason}"))
        sidecars_of(context).forget(operation_id)
        with about(graph=context.store.uri, operation_id=operation_id):
            _log.warning("operation %s on branch %s was given up by an operator", operation_id, branch)
    return Settled(
        operation_id=operation_id,
        kind=sidecar.kind.value if sidecar is not None else "unknown",
        branch=branch,
        outcome="abandoned",
        commit=None,
    )


def _audit(context: GraphContext, operation_id: str, sidecar: Sidecar | None) -> None:
    if sidecar is None:
        record_unreadable(context.store.tables, operation_id, recovery_kind="abandoned")
    else:
        record_recovery(context.store.tables, sidecar, recovery_kind="abandoned", graph_commit_id=None, outcomes={})


def _readable(context: GraphContext, operation_id: str) -> Sidecar | None:
    try:
        return sidecars_of(context).read(operation_id)
    except UnreadableSidecar:
        return None
