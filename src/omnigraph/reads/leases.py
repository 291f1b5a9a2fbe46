"""Keeping cleanup away from the versions that a long read needs."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from omnigraph.base import clock
from omnigraph.manifest.snapshot import TablePin
from omnigraph.storage.locks import PinnedVersion, StoreClock, put_reader_lease
from omnigraph.writes.context import GraphContext

_MAINTENANCE_LOCK = "maintenance"
_CLEANUP = "cleanup"
_WAIT_SECONDS = 30.0


@contextmanager
def reader_lease(context: GraphContext, pins: Iterable[TablePin], *, operation: str) -> Iterator[None]:
    """Protect these pins for as long as the block runs; open their tables inside it.

    A cleanup that began before cannot have seen the lease, so its end is awaited. If it takes too long the read goes
    on: at worst it meets a version that is gone, and says so.
    """
    pinned = [PinnedVersion(location=pin.location, ref=pin.ref, version=pin.version) for pin in pins]
    with put_reader_lease(context.store.objects, pinned, operation=operation):
        if _is_cleaning(context, store_clock=None):
            # Without the store's time a dead cleanup's lease counts as held; reading that time is a write.
            store_clock = StoreClock.observe(context.store.objects)
            clock.wait_until(
                lambda: not _is_cleaning(context, store_clock=store_clock),
                timeout_seconds=_WAIT_SECONDS,
                pause_seconds=0.2,
            )
        yield


def _is_cleaning(context: GraphContext, *, store_clock: StoreClock | None) -> bool:
    holder = context.store.locks.holder(_MAINTENANCE_LOCK, store_clock=store_clock)
    return holder is not None and holder.operation.startswith(_CLEANUP)
