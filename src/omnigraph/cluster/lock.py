"""The lock of a cluster: one object, made only where there is none, so that it holds across machines.

It never expires and nobody breaks it but a person who names it. It blocks neither serving nor maintenance.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Final

from omnigraph.base import clock, ids
from omnigraph.base.plain_text import printable
from omnigraph.base.values import Json, dataclass
from omnigraph.cluster.diagnostics import DiagnosticCode, Diagnostics, Refused
from omnigraph.cluster.site import ClusterSite
from omnigraph.errors import StorageError
from omnigraph.storage.objects import ObjectExists

LOCK_NAME: Final = "lock.json"
LOCK_PATH: Final = f"__cluster/{LOCK_NAME}"
_VERSION = 1
_KEYS = {"version", "lock_id", "operation", "created_at", "pid"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterLock:
    """Who holds the cluster."""

    lock_id: str
    operation: str
    created_at: str
    pid: int

    def document(self) -> dict[str, Json]:
        """Spell the lock as it is stored."""
        return {
            "version": _VERSION,
            "lock_id": self.lock_id,
            "operation": self.operation,
            "created_at": self.created_at,
            "pid": self.pid,
        }

    @property
    def age_seconds(self) -> int | None:
        """How long ago it was taken, by this machine's clock; None if it does not say."""
        try:
            taken = datetime.fromisoformat(self.created_at).timestamp()
        except ValueError:
            return None
        return max(0, clock.now_ms() // 1000 - int(taken))


class LockHeld(Refused):
    """Somebody else holds the cluster."""

    def __init__(self, lock: ClusterLock | None) -> None:
        self.lock = lock
        if lock is None:
            who = "by whom cannot be read"
            remedy = f"Wait for that command. If nobody works on the cluster, remove {LOCK_PATH} by hand"
        else:
            lock_id = printable(lock.lock_id)
            who = f"{lock_id}, {printable(lock.operation)} of process {lock.pid}"
            remedy = f"Wait for that command. If it is dead, run `omnigraph cluster force-unlock {lock_id}`"
        super().__init__(
            DiagnosticCode.STATE_LOCK_HELD, LOCK_PATH, f"The cluster is locked ({who}); nothing was done. {remedy}."
        )


def read_lock(site: ClusterSite) -> ClusterLock | None:
    """Return the lock that stands, if one does; raise `Refused` for one that cannot be read."""
    try:
        stored = site.objects.read(LOCK_NAME)
    except StorageError as error:
        raise Refused(
            DiagnosticCode.STATE_LOCK_READ_ERROR, LOCK_PATH, f"The lock cannot be read: {error.message}"
        ) from error
    return None if stored is None else _parsed(stored.content)


@contextmanager
def hold_lock(site: ClusterSite, operation: str, found: Diagnostics) -> Iterator[ClusterLock]:
    """Hold the cluster; raise `LockHeld` if somebody else does. The lock is gone when the block is, however it ends."""
    lock = ClusterLock(
        lock_id=ids.new_ulid(),
        operation=operation,
        created_at=clock.timestamp_from_us(clock.now_us()),
        pid=os.getpid(),
    )
    site.prove_conditional_writes()
    try:
        # Inside: an interrupt that comes while the object is being made must not leave it.
        _take(site, lock)
        yield lock
    finally:
        _give_back(site, lock, found)


def remove_lock(site: ClusterSite, lock_id: str) -> None:
    """Remove the lock with this id; raise `Refused` and leave everything as it is if there is no such."""
    lock = read_lock(site)
    if lock is None:
        raise Refused(
            DiagnosticCode.STATE_LOCK_MISSING, LOCK_PATH, "The cluster is not locked; there is nothing to remove."
        )
    if lock.lock_id != lock_id:
        raise Refused(
            DiagnosticCode.STATE_LOCK_ID_MISMATCH,
            LOCK_PATH,
            f"The cluster is locked by {printable(lock.lock_id)}, not by {printable(lock_id)}; the lock was left.",
        )
    try:
        site.objects.delete(LOCK_NAME)
    except StorageError as error:
        raise Refused(
            DiagnosticCode.STATE_LOCK_ERROR, LOCK_PATH, f"The lock could not be removed: {error.message}"
        ) from error


def _take(site: ClusterSite, lock: ClusterLock) -> None:
    try:
        site.objects.create(LOCK_NAME, (json.dumps(lock.document(), indent=2) + "\n").encode())
    except ObjectExists:
        raise LockHeld(_standing(site)) from None
    except StorageError as error:
        raise Refused(
            DiagnosticCode.STATE_LOCK_ERROR, LOCK_PATH, f"The lock could not be taken: {error.message}"
        ) from error


def _standing(site: ClusterSite) -> ClusterLock | None:
    try:
        return read_lock(site)
    except Refused:
        return None


def _give_back(site: ClusterSite, lock: ClusterLock, found: Diagnostics) -> None:
    interrupt: KeyboardInterrupt | None = None
    for _ in range(2):  # a second interrupt must not leave the lock to a person
        try:
            standing = _standing(site)
            if standing is not None and standing.lock_id == lock.lock_id:
                site.objects.delete(LOCK_NAME)
            break
        except KeyboardInterrupt as again:
            interrupt = again
        except StorageError as error:
            found.warn(
                DiagnosticCode.STATE_LOCK_ERROR,
                LOCK_PATH,
                f"The lock was not given back: {error.message} Run `omnigraph cluster force-unlock {lock.lock_id}`.",
            )
            break
    if interrupt is not None:
        raise interrupt


def _parsed(content: bytes) -> ClusterLock:
    try:
        document = json.loads(content)
        version = document["version"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise _invalid() from error
    if version != _VERSION or isinstance(version, bool):
        raise Refused(
            DiagnosticCode.UNSUPPORTED_STATE_LOCK_VERSION,
            LOCK_PATH,
            f"{LOCK_PATH} has version {version!r}; this omnigraph knows version {_VERSION}. It was left.",
        )
    texts = {name: document.get(name) for name in ("lock_id", "operation", "created_at")}
    pid = document.get("pid")
    is_whole = set(document) == _KEYS and all(isinstance(text, str) for text in texts.values())
    if not is_whole or isinstance(pid, bool) or not isinstance(pid, int):
        raise _invalid()
    return ClusterLock(**texts, pid=pid)


def _invalid() -> Refused:
    return Refused(
        DiagnosticCode.INVALID_STATE_LOCK,
        LOCK_PATH,
        f"{LOCK_PATH} is no lock that omnigraph wrote; it was left. Remove it by hand if nobody works on the cluster.",
    )
