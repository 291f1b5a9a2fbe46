"""Turns: the writers of one process that want to change the same branch prepare one after the other.

Only one of those who prepare on the same head can publish; the others would have prepared for nothing, and would do it
again beside the next ones. Turns are a courtesy and guard nothing: the gates and the publish do that, against the
writers of other processes too. So nobody waits long for a writer that takes its time.
"""

import math
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final
from weakref import WeakValueDictionary

from omnigraph.base import clock, waits

TURN_SECONDS: Final = 2.0
"""How long others wait for a writer that prepares: a mutation takes moments, and a large load must not hold them up."""


class Turn:
    """One writer's place in the line, and its time at the head of it."""

    def __init__(self) -> None:
        self._thread = threading.get_ident()
        self._ends_at = math.inf

    def begin(self) -> None:
        """Come to the head of the line."""
        self._ends_at = clock.monotonic_seconds() + TURN_SECONDS

    def keep(self) -> None:
        """Keep the turn until the write has ended: its gates are held, so nobody else could publish before."""
        self._ends_at = clock.monotonic_seconds() + waits.GATE_SECONDS

    @property
    def seconds_left(self) -> float:
        """For how long the next one waits; none is left for what the same thread does on the way."""
        is_own = self._thread == threading.get_ident()
        return 0.0 if is_own else self._ends_at - clock.monotonic_seconds()


class _Line:
    """The writers of one branch in this process, in the order of their arrival."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: deque[Turn] = deque()
        self._current: Turn | None = None

    def enter(self, turn: Turn) -> None:
        with self._changed:
            self._waiting.append(turn)
            try:
                while (seconds := self._seconds_until(turn)) > 0:
                    self._changed.wait(None if seconds == math.inf else seconds)
                turn.begin()
                self._current = turn
            finally:
                # Also when a signal interrupts the wait: a turn left behind would hold up all others.
                self._waiting.remove(turn)
                self._changed.notify_all()

    def leave(self, turn: Turn) -> None:
        with self._changed:
            if self._current is turn:
                self._current = None
                self._changed.notify_all()

    def _seconds_until(self, turn: Turn) -> float:
        if self._waiting[0] is not turn:
            return math.inf
        return 0.0 if self._current is None else self._current.seconds_left


_lines: WeakValueDictionary[tuple[str, str], _Line] = WeakValueDictionary()
_lines_lock = threading.Lock()


@contextmanager
def turn_on(root_identity: str, branch: str) -> Iterator[Turn]:
    """Wait for the turn to write to a branch, and have it inside the block."""
    key = (root_identity, branch)
    with _lines_lock:
        line = _lines.get(key)
        if line is None:
            line = _lines[key] = _Line()
    turn = Turn()
    line.enter(turn)
    try:
        yield turn
    finally:
        line.leave(turn)
