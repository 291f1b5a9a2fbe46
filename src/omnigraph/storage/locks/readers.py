"""Reader leases: versions that somebody is reading, for cleanup to spare.

Unlike locks they exclude nobody, so there is any number of them, one object each, on every kind of store.
"""

from collections.abc import Iterator, Sequence

from omnigraph.base import clock
from omnigraph.base.values import dataclass
from omnigraph.storage.locks.keeper import LeaseKeeper
from omnigraph.storage.locks.lease import Lease, LeaseTerms
from omnigraph.storage.locks.paths import READER_LEASES
from omnigraph.storage.locks.store_clock import StoreClock
from omnigraph.storage.objects import ControlStore
from omnigraph.storage.tables import StateAddress

_FORGET_SECONDS = 3_600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderLease:
    """Somebody's reader lease as it was found."""

    path: str
    lease: Lease
    last_modified: float

    def seconds_past_expiry(self, store_clock: StoreClock) -> float:
        """Tell how long ago the lease has expired; negative while it is alive."""
        return store_clock.seconds_past_expiry(last_modified=self.last_modified, ttl_seconds=self.lease.ttl_s)


def put_reader_lease(
    objects: ControlStore,
    versions: Sequence[StateAddress],
    *,
    operation: str,
    terms: LeaseTerms | None = None,
) -> LeaseKeeper:
    """Protect `versions` until the returned lease is released or this process ends.

    The lease is in the store when this returns; look for a running cleanup and open the tables only then.
    """
    terms = terms or LeaseTerms()
    lease = Lease.new(operation, terms, versions=tuple(versions))
    path = f"{READER_LEASES}/{lease.lease_id}.json"
    sent_at = clock.monotonic_seconds()
    objects.create(path, lease.to_bytes())
    return LeaseKeeper(objects, path, lease, terms=terms, sent_at=sent_at)


def list_reader_leases(objects: ControlStore, *, store_clock: StoreClock | None) -> tuple[Lease, ...]:
    """Return the leases that count: the unexpired ones, or all of them without a clock."""
    return tuple(
        found.lease for found in _find(objects) if store_clock is None or found.seconds_past_expiry(store_clock) < 0
    )


def forget_dead_readers(objects: ControlStore, *, store_clock: StoreClock) -> None:
    """Remove the leases of readers that died; those expired just now may still be renewed and stay."""
    for found in _find(objects):
        if found.seconds_past_expiry(store_clock) > _FORGET_SECONDS:
            objects.delete(found.path)


def _find(objects: ControlStore) -> Iterator[ReaderLease]:
    for path in objects.list(READER_LEASES):
        stored = objects.read(path)
        if stored is not None:  # else released since the listing
            lease = Lease.from_bytes(stored.content, uri=f"{objects.root.uri}/{path}")
            yield ReaderLease(path=path, lease=lease, last_modified=stored.last_modified)
