"""Who may maintain a graph now: one run at a time, and only a graph that has nothing to recover."""

from collections.abc import Iterator
from contextlib import contextmanager

from omnigraph.base import clock, waits
from omnigraph.base.events import Events, ignore_events
from omnigraph.base.units import counted
from omnigraph.errors import BranchBusy, MaintenanceLocked, RecoveryRequired
from omnigraph.graphs.context import GraphContext
from omnigraph.graphs.holding import MAINTENANCE_LOCK
from omnigraph.storage.locks import HeldLock
from omnigraph.writes.pending import PendingOperation, list_pending, sidecars_of
from omnigraph.writes.sidecar import sidecar_traits

_PAUSE_SECONDS = 0.1


@contextmanager
def sole_maintainer(
    context: GraphContext, verb: str, *, wait_seconds: float = 0.0, events: Events = ignore_events
) -> Iterator[HeldLock]:
    """Hold the graph's maintenance lock; it keeps other maintenance out and blocks no writer."""
    try:
        lock = context.store.locks.acquire(MAINTENANCE_LOCK, operation=verb, wait_seconds=wait_seconds, events=events)
    except BranchBusy as busy:
        holder, since = busy.details.get("holder"), busy.details.get("since")
        raise MaintenanceLocked(
            f"`{verb}` has to wait: {holder or 'another process'} maintains {context.store.uri} since "
            f"{since or 'an unknown time'}. Nothing was changed; try again later or pass --wait 10m.",
            holder=holder,
            since=since,
        ) from busy
    with lock:
        yield lock


def require_settled(context: GraphContext, verb: str) -> None:
    """Refuse a graph with interrupted writes.

    A live writer's sidecar is there for moments only, so one counts when nobody holds the lock of its branch and it
    is still there on a second look, or when it stays for long. Only those of the first look are watched: a busy server
    has another one at each look, and what it begins from now on is for whoever takes the gates to judge.
    """
    deadline = clock.monotonic_seconds() + waits.WRITER_SECONDS
    watched = list_pending(sidecars_of(context))
    abandoned: set[str] = set()
    while watched:
        interrupted = [operation for operation in watched if operation.operation_id in abandoned]
        if clock.monotonic_seconds() > deadline:
            interrupted = watched
        if interrupted:
            raise _must_recover_first(context, interrupted, verb)
        abandoned = {operation.operation_id for operation in watched if not _has_live_writer(context, operation)}
        clock.sleep_seconds(_PAUSE_SECONDS)
        ids = {operation.operation_id for operation in watched}
        watched = [operation for operation in list_pending(sidecars_of(context)) if operation.operation_id in ids]


def refuse_pending_on(context: GraphContext, branch: str, verb: str) -> None:
    """Refuse, under the gates of a branch, what a run could publish or bury by accident.

    Operations of other branches cannot touch what is gated here; a schema change can.
    """
    pending = [
        operation.operation_id
        for operation in list_pending(sidecars_of(context))
        if operation.sidecar is None
        or operation.sidecar.branch_name == branch
        or sidecar_traits(operation.sidecar.kind).concerns_all_branches
    ]
    if pending:
        raise RecoveryRequired(
            f"A write on branch '{branch}' was interrupted while `{verb}` was at work; nothing was committed. Run "
            f"`omnigraph recover {context.store.uri}`, then try again.",
            operation_ids=pending,
        )


def _has_live_writer(context: GraphContext, operation: PendingOperation) -> bool:
    if operation.sidecar is None:
        return False
    return context.store.locks.holder(f"branch/{operation.sidecar.branch_name}", store_clock=None) is not None


def _must_recover_first(context: GraphContext, pending: list[PendingOperation], verb: str) -> RecoveryRequired:
    now = clock.now_us()
    listed = ", ".join(_described(operation, now) for operation in pending)
    return RecoveryRequired(
        f"`{verb}` needs a graph without interrupted writes, and {counted(len(pending), 'operation')} "
        f"{'is' if len(pending) == 1 else 'are'} pending: {listed}. Nothing was changed. Open the graph read-write or "
        f"run `omnigraph recover {context.store.uri}`, then try again.",
        operation_ids=[operation.operation_id for operation in pending],
    )


def _described(operation: PendingOperation, now_us: int) -> str:
    if operation.sidecar is None:
        return f"{operation.operation_id} (unreadable)"
    seconds = max(0, (now_us - operation.sidecar.started_at_us) // 1_000_000)
    return f"{operation.operation_id} ({operation.sidecar.kind.value}, {seconds} s old)"
