"""How far a task is, told by the code that does it to whoever started it, on this machine or another.

A task runs deep inside readers and writers that know nothing of progress lines, often on a worker. It says `did(…)`
in the unit that its job counts in; who runs the task decides what becomes of it, and without anybody nothing does.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Report = Callable[[int], None]
"""Told how much more is done."""


def _drop(amount: int) -> None:
    """Tell nobody."""


_report: ContextVar[Report] = ContextVar("report", default=_drop)


def did(amount: int) -> None:
    """Say that so much more of the task at hand is done."""
    if amount:
        _report.get()(amount)


def reporter() -> Report:
    """Return what `did` calls here, for threads that the task starts: they do not inherit it."""
    return _report.get()


@contextmanager
def reporting(report: Report) -> Iterator[None]:
    """Have `report` called with what the task in this block says of itself."""
    before = _report.set(report)
    try:
        yield
    finally:
        _report.reset(before)
