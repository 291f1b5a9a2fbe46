"""Keeping a lease alive and giving it back.

The holder counts its time from before it sent the last renewal, by the monotonic clock. The store wrote the renewal
down later than that, so the holder believes itself expired no later than everybody else does. (A machine that sleeps
stops that clock too; what such a holder still does is caught like any late effect, by the publish it is needed for.)
"""

from contextlib import suppress
from contextvars import copy_context
from dataclasses import replace
from threading import Event, Thread
from types import TracebackType
from typing import Self

from omnigraph.base import clock
from omnigraph.base.logs import logger_of
from omnigraph.errors import StorageError
from omnigraph.storage.locks.lease import Lease, LeaseTerms
from omnigraph.storage.objects import ControlStore, ObjectChanged

_logger = logger_of(__name__)


class LeaseKeeper:
    """A lease of this process, renewed by a thread of its own until it is released.

    `sent_at` is the monotonic time before the request that wrote `lease`. A process that dies stops renewing, and the
    lease expires.
    """

    def __init__(self, objects: ControlStore, path: str, lease: Lease, *, terms: LeaseTerms, sent_at: float) -> None:
        self._objects = objects
        self._path = path
        self._lease = lease
        self._terms = terms
        self._sent_at = sent_at
        self._is_lost = False
        self._released = Event()
        # In the context of whoever took the lease: what is logged of it belongs to that operation.
        Thread(target=copy_context().run, args=(self._keep_alive,), name=f"lease {path}", daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.release()

    def seconds_left(self) -> float:
        """Tell for how long nobody else can hold this lease; zero or less once it may have been taken over."""
        if self._is_lost:
            return 0.0
        return self._sent_at + self._lease.ttl_s - clock.monotonic_seconds()

    def release(self) -> None:
        """Delete the lease if it is still ours; otherwise, and if that fails, it expires by itself."""
        if self._released.is_set():
            return
        self._released.set()
        # Deleting is unconditional and may take a while. Within the time left nobody can have taken the lease over, so
        # there must be plenty of it; less than half means that renewals have been failing.
        if self.seconds_left() < self._lease.ttl_s / 2:
            _logger.warning("lease not released, it may not be ours", extra={"path": self._path})
            return
        try:
            self._objects.delete(self._path)
        except StorageError as exc:
            _logger.warning("lease not released, it will expire", extra={"path": self._path, "reason": str(exc)})

    def _keep_alive(self) -> None:
        pause = self._terms.renew_seconds
        while not self._released.wait(pause) and not self._is_lost:
            try:
                self._renew()
                pause = self._terms.renew_seconds
            except StorageError as exc:
                _logger.warning("lease not renewed, trying again", extra={"path": self._path, "reason": str(exc)})
                pause = self._terms.renew_seconds / 4

    def _renew(self) -> None:
        """Rewrite the lease, or learn that it is gone.

        It is read first because an earlier renewal whose answer was lost may have landed since.
        """
        sent_at = clock.monotonic_seconds()
        stored = self._objects.read(self._path)
        if stored is not None:
            current = Lease.from_bytes(stored.content, uri=f"{self._objects.root.uri}/{self._path}")
            if current.lease_id == self._lease.lease_id:
                renewed = replace(current, renewals=current.renewals + 1)
                with suppress(ObjectChanged):
                    self._objects.replace(self._path, renewed.to_bytes(), stored.token)
                    self._sent_at = sent_at
                    return
        self._is_lost = True
        _logger.warning("lease lost: somebody has taken it over or deleted it", extra={"path": self._path})
