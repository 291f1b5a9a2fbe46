"""Locks between processes that share nothing but an object store."""

from omnigraph.base import clock, ids
from omnigraph.storage.locks.holder import Holder
from omnigraph.storage.locks.keeper import LeaseKeeper
from omnigraph.storage.locks.lease import Lease, LeaseTerms
from omnigraph.storage.locks.paths import lock_path
from omnigraph.storage.locks.store_clock import StoreClock
from omnigraph.storage.objects import ControlStore, ObjectChanged, ObjectExists, StoredObject

_PAUSE_SECONDS_MIN = 0.1
_PAUSE_SECONDS_MAX = 1.0
_RENEWALS_LATE = 1.5
"""How many times the usual pause between renewals may pass before a holder counts as dead."""
_GRACE_SECONDS = 2.0
"""Time for the takeover itself, among others who wait for it."""


class LeaseGrip:
    """A lock held by a lease."""

    def __init__(self, keeper: LeaseKeeper, *, expired_seconds_ago: float | None) -> None:
        self._keeper = keeper
        self.expired_seconds_ago = expired_seconds_ago

    def seconds_left(self) -> float:
        """Tell for how long nobody else can hold the lock."""
        return self._keeper.seconds_left()

    def release(self) -> None:
        """Give the lock back if it is still ours."""
        self._keeper.release()


class LeaseLocks:
    """Cross-process locks as lease objects: created, renewed and taken over by conditional puts."""

    def __init__(self, objects: ControlStore, terms: LeaseTerms) -> None:
        self._objects = objects
        self._terms = terms

    def take(self, name: str, *, operation: str, wait_seconds: float) -> LeaseGrip | None:
        """Wait until the lease is free or has expired; None when the time is up."""
        path = lock_path(name)
        grip = self._create(path, operation)
        return grip if grip is not None else self._wait(path, operation, wait_seconds)

    def holder(self, name: str, *, store_clock: StoreClock | None) -> Holder | None:
        """Name the holder; with a clock, one whose lease has expired is no holder."""
        stored = self._objects.read(lock_path(name))
        if stored is None:
            return None
        lease = self._lease(lock_path(name), stored)
        if store_clock is not None and _seconds_past_expiry(lease, stored, store_clock) >= 0:
            return None
        return lease.holder

    def seconds_to_outlive(self, name: str) -> float | None:
        """Tell when a lease ends that has missed a renewal; None while its holder keeps it alive, or it is gone."""
        stored = self._objects.read(lock_path(name))
        if stored is None:
            return None
        lease = self._lease(lock_path(name), stored)
        left = -_seconds_past_expiry(lease, stored, StoreClock.observe(self._objects))
        missed_a_renewal = lease.ttl_s - left > self._terms.renew_seconds * _RENEWALS_LATE
        return max(0.0, left) + _GRACE_SECONDS if missed_a_renewal else None

    def _wait(self, path: str, operation: str, wait_seconds: float) -> LeaseGrip | None:
        deadline = clock.monotonic_seconds() + wait_seconds
        store_clock = StoreClock.observe(self._objects)
        pause = _PAUSE_SECONDS_MIN
        while True:
            stored = self._objects.read(path)
            if stored is None:
                grip = self._create(path, operation)
            else:
                grip = self._take_over(path, operation, stored, store_clock)
            left = deadline - clock.monotonic_seconds()
            if grip is not None or left <= 0:
                return grip
            clock.sleep_seconds(min(pause * ids.jitter(), left))
            pause = min(pause * 2, _PAUSE_SECONDS_MAX)

    def _create(self, path: str, operation: str) -> LeaseGrip | None:
        lease = Lease.new(operation, self._terms)
        sent_at = clock.monotonic_seconds()
        try:
            self._objects.create(path, lease.to_bytes())
        except ObjectExists:
            return None
        return self._grip(path, lease, sent_at=sent_at, expired_seconds_ago=None)

    def _take_over(self, path: str, operation: str, stored: StoredObject, store_clock: StoreClock) -> LeaseGrip | None:
        """Replace the lease if it has expired; of several who try one wins, and a renewal beats them all."""
        expired = self._lease(path, stored)
        expired_seconds_ago = _seconds_past_expiry(expired, stored, store_clock)
        if expired_seconds_ago < 0:
            return None
        lease = Lease.new(operation, self._terms, token=expired.token + 1)
        sent_at = clock.monotonic_seconds()
        try:
            self._objects.replace(path, lease.to_bytes(), stored.token)
        except ObjectChanged:
            return None
        return self._grip(path, lease, sent_at=sent_at, expired_seconds_ago=expired_seconds_ago)

    def _grip(self, path: str, lease: Lease, *, sent_at: float, expired_seconds_ago: float | None) -> LeaseGrip:
        keeper = LeaseKeeper(self._objects, path, lease, terms=self._terms, sent_at=sent_at)
        return LeaseGrip(keeper, expired_seconds_ago=expired_seconds_ago)

    def _lease(self, path: str, stored: StoredObject) -> Lease:
        return Lease.from_bytes(stored.content, uri=f"{self._objects.root.uri}/{path}")


def _seconds_past_expiry(lease: Lease, stored: StoredObject, store_clock: StoreClock) -> float:
    return store_clock.seconds_past_expiry(last_modified=stored.last_modified, ttl_seconds=lease.ttl_s)
