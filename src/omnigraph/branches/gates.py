"""The gates that branch operations take: the schema's, shared, then those of the branches by name."""

from collections.abc import Iterable

from omnigraph.base import waits
from omnigraph.base.events import Events, ignore_events
from omnigraph.graphs.context import GraphContext
from omnigraph.storage.locks import HeldLock, LockRequest, Reach


def hold_branches(
    context: GraphContext, names: Iterable[str], *, operation: str, events: Events = ignore_events
) -> HeldLock:
    """Take the gates of several branches in the one order that all writers keep."""
    claims = [LockRequest(name="schema", reach=Reach.IN_PROCESS_SHARED)]
    claims += [LockRequest(name=f"branch/{name}") for name in sorted(set(names))]
    return context.store.locks.acquire_all(claims, operation=operation, wait_seconds=waits.GATE_SECONDS, events=events)
