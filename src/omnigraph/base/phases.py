"""Telling of long work in phases: each starts, says how far it is, and finishes, whatever becomes of it.

A listener that fails has no say in the outcome: phases are told of in the middle of effects, too.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from omnigraph.base.endings import tell
from omnigraph.base.events import Advanced, Events, PhaseFinished, PhaseStarted


class Phase:
    """One phase under way; any thread may say how far it is, and it never goes back."""

    def __init__(self, events: Events, name: str, *, total: int | None, unit: str) -> None:
        self._events = events
        self._name = name
        self._total = total
        self._unit = unit
        self._done = 0
        self._lock = Lock()

    def advance(self, count: int = 1) -> None:
        """Say that so much more is done."""
        with self._lock:
            self._done += count
            self._tell()

    def reach(self, done: int) -> None:
        """Say how much is done since the beginning."""
        with self._lock:
            if done > self._done:
                self._done = done
                self._tell()

    def _tell(self) -> None:
        tell(self._events, Advanced(phase=self._name, done=self._done, total=self._total, unit=self._unit))


@contextmanager
def phase(events: Events, name: str, *, total: int | None = None, unit: str = "") -> Iterator[Phase]:
    """Tell `events` of one phase of long work; the block does the work and says how far it is."""
    tell(events, PhaseStarted(phase=name, total=total, unit=unit))
    try:
        yield Phase(events, name, total=total, unit=unit)
    finally:
        tell(events, PhaseFinished(phase=name))
