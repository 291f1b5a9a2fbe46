"""Ctrl-C while Spark works."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from typing import Any, TypeVar

from omnigraph.base import ids
from omnigraph.base.events import current_phase

Result = TypeVar("Result")

_POOL = "spark.scheduler.pool"
_PROPERTIES = ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel", _POOL)


class JobGroup:
    """Everything that one piece of work starts on Spark, so that it can be cancelled without touching other jobs."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self._context = getattr(session, "_sc", None)
        self.name = f"omnigraph-{ids.new_ulid()}"
        # What Spark's own pages call the jobs; phases are known to the thread that works them off.
        self._description = f"omnigraph: {current_phase() or 'at work'}"
        # Asked in the thread of the caller, whose pool of a fair scheduler the work belongs to.
        self._pool = self._context.getLocalProperty(_POOL) if self._context is not None else None

    def run(self, work: Callable[[], Result]) -> Result:
        """Do the work; the calling thread is its own and ends with it."""
        if self._context is not None:
            # A thread of Java serves several of Python where PySpark does not pin them to each other.
            before = {name: self._context.getLocalProperty(name) for name in _PROPERTIES}
            # Tags would not do: results are collected by another thread of the JVM, which inherits a group only. And
            # tasks must be interrupted, or a cancelled job would wait for them.
            self._context.setJobGroup(self.name, self._description, interruptOnCancel=True)
            self._context.setLocalProperty(_POOL, self._pool)
            try:
                return work()
            finally:
                for name, value in before.items():
                    self._context.setLocalProperty(name, value)
        self._session.addTag(self.name)
        try:
            return work()
        finally:
            self._session.removeTag(self.name)

    def cancel(self) -> None:
        """Stop what the work started."""
        if self._context is not None:
            self._context.cancelJobGroup(self.name)
        else:
            self._session.interruptTag(self.name)


@contextmanager
def plain_interrupts() -> Iterator[None]:
    """Let Ctrl-C raise `KeyboardInterrupt` and do nothing else.

    PySpark puts a handler in place that cancels all jobs of the process, other people's included, through a
    connection that may be in use.
    """
    if current_thread() is not main_thread():
        yield  # signals belong to the main thread
        return
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def same_interrupts() -> Iterator[None]:
    """Keep the handler of Ctrl-C as it is: a context puts one of its own in place when it starts."""
    if current_thread() is not main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
