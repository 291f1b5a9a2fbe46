"""Locks and leases: they keep two live processes apart; crashes and lost races are settled elsewhere."""

from omnigraph.storage.locks.flock_locks import FlockLocks
from omnigraph.storage.locks.held_versions import HeldVersions, settle_holds
from omnigraph.storage.locks.holder import Holder
from omnigraph.storage.locks.keeper import LeaseKeeper
from omnigraph.storage.locks.lease import Lease, LeaseTerms
from omnigraph.storage.locks.lease_locks import LeaseLocks
from omnigraph.storage.locks.readers import forget_dead_readers, list_reader_leases, put_reader_lease
from omnigraph.storage.locks.service import HeldLock, LeaseLost, LockRequest, LockService, Reach
from omnigraph.storage.locks.store_clock import StoreClock
from omnigraph.storage.objects import ControlStore
from omnigraph.storage.uris import GraphRoot

__all__ = [
    "HeldLock",
    "HeldVersions",
    "Holder",
    "Lease",
    "LeaseKeeper",
    "LeaseLost",
    "LeaseTerms",
    "LockRequest",
    "LockService",
    "Reach",
    "StoreClock",
    "forget_dead_readers",
    "list_reader_leases",
    "open_locks",
    "put_reader_lease",
    "settle_holds",
]


def open_locks(root: GraphRoot, objects: ControlStore, *, terms: LeaseTerms | None = None) -> LockService:
    """Return the locks of the graph at `root`; nothing is read or written yet."""
    terms = terms or LeaseTerms()
    locks = FlockLocks(root) if root.is_local else LeaseLocks(objects, terms)
    return LockService(root, locks, terms)
