"""Keeping versions from cleanup while somebody needs them who pins nothing: a long read, a branch made from the past.

The lease is put first and cleanup is looked for afterwards; cleanup takes its lock first and lists leases afterwards.
So one of the two always sees the other.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager

from omnigraph.base import clock, waits
from omnigraph.errors import MaintenanceLocked, StorageError
from omnigraph.graphs.context import GraphContext
from omnigraph.manifest.snapshot import TablePin
from omnigraph.storage.locks import StoreClock, put_reader_lease

MAINTENANCE_LOCK = "maintenance"
CLEANUP_OPERATION = "cleanup"
_PAUSE_SECONDS = 0.2


@contextmanager
def hold_versions(context: GraphContext, pins: Iterable[TablePin], *, operation: str) -> Iterator[None]:
    """Protect the pinned versions until the block ends, waiting for a cleanup that may not have seen this yet.

    Open the tables inside the block: what a cleanup removed before it began is gone.
    """
    with put_reader_lease(context.store.objects, [pin.state for pin in pins], operation=operation):
        if is_cleanup_running(context):
            _wait_for_cleanup(context, operation)
        yield


@contextmanager
def hold_if_possible(
    context: GraphContext, pins: Iterable[TablePin], *, operation: str, warn: Callable[[str], None]
) -> Iterator[None]:
    """Do the same for a read that goes on without: a graph that one may only read can still be read."""
    with ExitStack() as stack:
        try:
            stack.enter_context(hold_versions(context, pins, operation=operation))
        except (MaintenanceLocked, StorageError) as error:
            warn(f"the {operation} is not protected from a cleanup that runs meanwhile: {error}")
        yield


def _wait_for_cleanup(context: GraphContext, operation: str) -> None:
    # Only now is the store's clock worth a write: without it a dead cleanup would count for as long as its lease.
    store_clock = StoreClock.observe(context.store.objects)
    if not clock.wait_until(
        lambda: not is_cleanup_running(context, store_clock),
        timeout_seconds=waits.CLEANUP_SECONDS,
        pause_seconds=_PAUSE_SECONDS,
    ):
        holder = context.store.locks.holder(MAINTENANCE_LOCK, store_clock=store_clock)
        raise MaintenanceLocked(
            f"`{operation}` needs versions that a running cleanup might remove, and {holder or 'it'} did not end "
            f"within {waits.CLEANUP_SECONDS:g} seconds. Nothing was changed; try again when it has finished.",
            holder=str(holder) if holder else None,
            since=holder.since if holder else None,
        )


def is_cleanup_running(context: GraphContext, store_clock: StoreClock | None = None) -> bool:
    """Whether a cleanup has the maintenance lock; with the store's clock, one that died with it does not count."""
    holder = context.store.locks.holder(MAINTENANCE_LOCK, store_clock=store_clock)
    return holder is not None and holder.operation == CLEANUP_OPERATION
