"""Locks between the processes of one machine, or of one file system that carries `flock` between machines."""

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from omnigraph.errors import StorageError
from omnigraph.storage.flock import flock_within, try_flock
from omnigraph.storage.locks.holder import Holder
from omnigraph.storage.locks.paths import lock_path
from omnigraph.storage.locks.store_clock import StoreClock
from omnigraph.storage.uris import GraphRoot

# `holder` has the lock for an instant, so that one refusal does not prove that somebody keeps it.
_WAIT_SECONDS_MIN = 0.05


class FlockGrip:
    """A lock held by an open file; the kernel gives it back when the process dies."""

    expired_seconds_ago: float | None = None

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def seconds_left(self) -> float:
        """Return infinity: nobody can take this lock from a living process."""
        return math.inf

    def release(self) -> None:
        """Forget the holder and unlock by closing the file."""
        try:
            os.ftruncate(self._descriptor, 0)
        finally:
            os.close(self._descriptor)


class FlockLocks:
    """Cross-process locks as locked files.

    The files are never removed: somebody who still waits for a removed one would end up with a lock that the next
    arrival, who makes a new file, cannot see.
    """

    def __init__(self, root: GraphRoot) -> None:
        self._root = root

    def take(self, name: str, *, operation: str, wait_seconds: float) -> FlockGrip | None:
        """Wait until the file can be locked; None when the time is up."""
        file = self._file(name)
        with self._translated(file):
            file.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o666)
            try:
                if not flock_within(descriptor, wait_seconds=max(wait_seconds, _WAIT_SECONDS_MIN)):
                    os.close(descriptor)
                    return None
                os.ftruncate(descriptor, 0)
                os.pwrite(descriptor, Holder.here(operation).to_bytes(), 0)
            except BaseException:
                os.close(descriptor)
                raise
        return FlockGrip(descriptor)

    def holder(self, name: str, *, store_clock: StoreClock | None) -> Holder | None:  # noqa: ARG002 - locks here do not expire
        """Name the holder; None if nobody has the lock, or if whoever has it has not written its name yet."""
        file = self._file(name)
        with self._translated(file):
            try:
                descriptor = os.open(file, os.O_RDONLY)
            except FileNotFoundError:
                return None
            try:
                is_free = try_flock(descriptor, shared=True)
                return None if is_free else Holder.from_bytes(os.pread(descriptor, 4096, 0))
            finally:
                os.close(descriptor)

    def seconds_to_outlive(self, name: str) -> None:
        """Say that whoever has the lock lives: the kernel gives back the locks of the dead."""

    def _file(self, name: str) -> Path:
        return self._root.local_path / lock_path(name)

    @contextmanager
    def _translated(self, file: Path) -> Iterator[None]:
        try:
            yield
        except OSError as exc:
            raise StorageError(
                f"The lock file {file} cannot be used: {exc.strerror or exc}.",
                storage_kind="configuration",
                uri=self._root.uri,
            ) from exc
