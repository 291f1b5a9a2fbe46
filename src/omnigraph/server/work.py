"""Where engine work runs: bounded pools of threads, so that the event loop stays free and writes starve no reads."""

import asyncio
import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from omnigraph.base.clock import monotonic_seconds
from omnigraph.server.settings import Limits

ResultT = TypeVar("ResultT")


class Workers:
    """Threads for reads, for writes and for streams; a write that has begun is counted until it ends."""

    def __init__(self, limits: Limits) -> None:
        self._names = tuple(f"{kind}-{id(self):x}" for kind in ("read", "write", "stream"))
        """How the threads are called, by which they are found in the end."""
        most = (limits.read_threads, limits.write_threads, limits.export_streams)
        pools = (
            ThreadPoolExecutor(each, thread_name_prefix=name) for each, name in zip(most, self._names, strict=True)
        )
        self._reads, self._writes, self._streams = pools
        self.writing = 0

    async def read(self, work: Callable[[], ResultT]) -> ResultT:
        """Run a read in a thread."""
        return await asyncio.get_running_loop().run_in_executor(self._reads, contextvars.copy_context().run, work)

    async def write(self, work: Callable[[], ResultT]) -> ResultT:
        """Run a write in a thread; it goes on to its end whatever becomes of who asked for it."""
        self.writing += 1
        loop = asyncio.get_running_loop()
        future = loop.run_in_executor(self._writes, contextvars.copy_context().run, work)
        future.add_done_callback(self._written)
        return await asyncio.shield(future)

    def stream(self, work: Callable[[], None]) -> "asyncio.Future[None]":
        """Start what makes a stream in a thread."""
        return asyncio.get_running_loop().run_in_executor(self._streams, contextvars.copy_context().run, work)

    def close(self) -> None:
        """Start nothing more; what runs is not waited for."""
        for pool in (self._reads, self._writes, self._streams):
            pool.shutdown(wait=False, cancel_futures=True)

    def have_ended(self, seconds: float) -> bool:
        """Return whether every thread ends within so many seconds; one that reads for long does not."""
        deadline = monotonic_seconds() + seconds
        for thread in threading.enumerate():
            if thread.name.startswith(self._names):
                thread.join(max(deadline - monotonic_seconds(), 0.0))
        return not any(thread.name.startswith(self._names) for thread in threading.enumerate())

    def _written(self, future: "asyncio.Future[ResultT]") -> None:
        self.writing -= 1
        if not future.cancelled():
            future.exception()  # looked at, so that nobody is told of a failure whose caller has gone
