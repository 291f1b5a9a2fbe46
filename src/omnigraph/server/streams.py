"""Streams that a thread makes and a client takes: the thread waits for a slow client, and stops when it is gone."""

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import BinaryIO, cast

from omnigraph.server.calls import Call, ClientGone

CHUNK_BYTES = 65_536
BUFFERED_BYTES_MAX = 262_144
_WATCH_SECONDS = 0.5


class StreamAbandoned(Exception):
    """Nobody takes the stream any more."""


class _Pipe:
    """What the thread writes to: a buffer of a few chunks between it and the event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._arrived = asyncio.Event()
        self._chunks: deque[bytes] = deque()
        self._buffered = 0
        self._room = threading.Condition()
        self._is_abandoned = False
        self._is_ended = False
        self._failure: BaseException | None = None

    def write(self, content: bytes | memoryview) -> int:
        """Hand over bytes, a chunk at a time, waiting for room; raises `StreamAbandoned` when nobody takes them."""
        view = memoryview(content)
        for start in range(0, len(view), CHUNK_BYTES):
            chunk = bytes(view[start : start + CHUNK_BYTES])
            with self._room:
                while self._buffered and self._buffered + len(chunk) > BUFFERED_BYTES_MAX and not self._is_abandoned:
                    self._room.wait(_WATCH_SECONDS)
                if self._is_abandoned:
                    raise StreamAbandoned
                self._chunks.append(chunk)
                self._buffered += len(chunk)
            self._loop.call_soon_threadsafe(self._arrived.set)
        return len(view)

    def flush(self) -> None:
        """Do nothing: what was written is on its way."""

    def end(self, failure: BaseException | None) -> None:
        """Say that nothing more comes."""
        self._failure = failure
        self._is_ended = True
        self._loop.call_soon_threadsafe(self._arrived.set)

    def abandon(self) -> None:
        """Say that nobody takes anything more."""
        with self._room:
            self._is_abandoned = True
            self._room.notify_all()
        self._arrived.set()

    async def next_chunk(self) -> bytes | None:
        """Wait for a chunk; None at the end. What the thread failed with is raised here."""
        while True:
            with self._room:
                if self._chunks:
                    chunk = self._chunks.popleft()
                    self._buffered -= len(chunk)
                    self._room.notify_all()
                    return chunk
                if self._is_abandoned:
                    raise ClientGone
                if self._is_ended:
                    if self._failure is not None:
                        raise self._failure
                    return None
                self._arrived.clear()
            await self._arrived.wait()


async def open_stream(call: Call, make: Callable[[BinaryIO], object]) -> AsyncIterator[bytes]:
    """Start what makes a stream and return its pieces; what fails before the first of them is raised here.

    A slot is held until the thread has ended, also when the client left before.
    """
    slots = call.service.streams
    await slots.take()
    pipe = _Pipe(asyncio.get_running_loop())

    def run() -> None:
        try:
            make(cast("BinaryIO", pipe))
        except StreamAbandoned:
            pipe.end(None)
        except BaseException as failure:  # noqa: BLE001 — told to whoever takes the stream
            pipe.end(failure)
        else:
            pipe.end(None)

    made = call.service.workers.stream(run)
    made.add_done_callback(lambda _: slots.give_back())
    watching = asyncio.ensure_future(_watch(call, pipe))
    try:
        first = await pipe.next_chunk()
    except BaseException:
        watching.cancel()
        pipe.abandon()
        raise
    return _pieces(pipe, first, watching)


async def _pieces(pipe: _Pipe, first: bytes | None, watching: "asyncio.Future[None]") -> AsyncIterator[bytes]:
    try:
        chunk = first
        while chunk is not None:
            yield chunk
            chunk = await pipe.next_chunk()
    finally:
        watching.cancel()
        pipe.abandon()


async def until_gone(call: Call, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Pass pieces on that are made when they are asked for; raises `ClientGone` when nobody takes them any more.

    A server that was told to send to somebody who has left does not say so, and would have all of them made.
    """
    watching = asyncio.ensure_future(_gone(call))
    try:
        async for piece in pieces:
            if watching.done():
                raise ClientGone
            yield piece
    finally:
        watching.cancel()


async def _watch(call: Call, pipe: _Pipe) -> None:
    """Stop the thread as soon as the client is gone, however little of the stream it has taken."""
    await _gone(call)
    pipe.abandon()


async def _gone(call: Call) -> None:
    """Wait until the client is gone."""
    while (await call.receive())["type"] != "http.disconnect":
        pass
