"""How much one actor, and everybody together, may have under way at once."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from threading import Lock

from omnigraph.errors import TooManyRequests
from omnigraph.server.settings import Limits

_SLOT_WAIT_SECONDS = 0.25
ADMISSION_RETRY_SECONDS = 60
STREAM_RETRY_SECONDS = 1
ANONYMOUS = "anonymous"
"""Whom open mode counts as, for this purpose only."""


class WriteAdmission:
    """Counts the writes and the bytes that every actor has under way; both limits are checked as one."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._lock = Lock()
        self._by_actor: dict[str, tuple[int, int]] = {}
        self.refused = 0

    @property
    def in_flight(self) -> int:
        """How many writes are under way."""
        with self._lock:
            return sum(count for count, _ in self._by_actor.values())

    @contextmanager
    def admitted(self, actor: str | None, size_bytes: int) -> Iterator[None]:
        """Let a write run while the block lasts, or raise `TooManyRequests`."""
        name = actor or ANONYMOUS
        limits = self._limits
        with self._lock:
            count, size = self._by_actor.get(name, (0, 0))
            if count + 1 > limits.writes_per_actor or (count and size + size_bytes > limits.write_bytes_per_actor):
                self.refused += 1
                raise TooManyRequests(
                    f"Actor '{name}' has {count} writes of {size} bytes under way, which is as much as one may have; "
                    "nothing was done. Try again later."
                )
            self._by_actor[name] = count + 1, size + size_bytes
        try:
            yield
        finally:
            with self._lock:
                count, size = self._by_actor[name]
                if count == 1:
                    del self._by_actor[name]
                else:
                    self._by_actor[name] = count - 1, size - size_bytes


class StreamSlots:
    """The slots of exports and baselines; whoever gets none in a quarter of a second is sent away."""

    def __init__(self, limits: Limits) -> None:
        self._most = limits.export_streams
        self._slots = asyncio.Semaphore(self._most)
        self.in_flight = 0
        self.refused = 0

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Hold a slot while the block lasts, or raise `TooManyRequests`."""
        await self.take()
        try:
            yield
        finally:
            self.give_back()

    async def take(self) -> None:
        """Take a slot, or raise `TooManyRequests`."""
        try:
            await asyncio.wait_for(self._slots.acquire(), _SLOT_WAIT_SECONDS)
        except TimeoutError:
            self.refused += 1
            raise TooManyRequests(
                f"All {self._most} export streams of this server are busy; nothing was done. Try again in a moment.",
                resource="export_streams",
                limit=self._most,
                actual=self._most,
            ) from None
        self.in_flight += 1

    def give_back(self) -> None:
        """Let somebody else have the slot."""
        self.in_flight -= 1
        self._slots.release()
