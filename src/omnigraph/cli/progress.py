"""How far long work is, on stderr: one live line on a terminal, plain lines elsewhere on request.

Events only change what there is to say. A ticker thread says it: at most ten times a second when something changed,
and at least once a second when nothing did, so that a long call of a library is not silence.
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import RLock
from typing import Any, Protocol, TextIO

from omnigraph.base import clock
from omnigraph.base.events import Event, Events
from omnigraph.base.progress_line import ProgressLine, clip
from omnigraph.base.ticking import ticking
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.notices import Notices

PLAIN_LINE_SECONDS = 5.0
TICK_SECONDS = 0.1
REDRAW_SECONDS = 1.0
_ERASE = "\r\x1b[K"
_OPENING = "opening the graph"


class Display(Protocol):
    """Shows a progress line; `tick` is called ten times a second while the work runs."""

    def receive(self, event: Event) -> None:
        """Take one event in."""
        ...

    def tick(self) -> None:
        """Show what there is to say, if it is time to."""
        ...


@contextmanager
def follow_progress(
    invocation: Invocation, *, first_phase: str = _OPENING, shares_terminal: bool = False
) -> Iterator[Events]:
    """Yield a receiver for the events of one operation; warnings and notes become lines in every case.

    What is slow from its first import on belongs into the block: the line is there before the block begins.
    `shares_terminal` says that the result itself is printed meanwhile: a terminal then shows no live line.
    """
    wanted = invocation.flags.progress
    on_terminal = sys.stderr.isatty()
    if shares_terminal and wanted is None and sys.stdout.isatty():
        wanted = False
    if invocation.notices.is_quiet or wanted is False or (wanted is None and not on_terminal):
        yield invocation.notices.event
    elif on_terminal and not invocation.is_debug and invocation.environ.get("TERM") != "dumb":
        line = LiveLine(sys.stderr, invocation.notices, first_phase)
        with line.shown(), _ticking(line):
            yield line.receive
    else:
        plain = PlainLines(invocation.notices, first_phase)
        with _ticking(plain):
            yield plain.receive


@contextmanager
def _ticking(display: Display) -> Iterator[None]:
    display.tick()
    with ticking(display.tick, pause_seconds=TICK_SECONDS, name="omnigraph-ticker"):
        yield


class PlainLines:
    """Prints a whole line at most every five seconds: the newest of what there is to say, also when nothing is new."""

    def __init__(
        self, notices: Notices, first_phase: str, *, now: Callable[[], float] = clock.monotonic_seconds
    ) -> None:
        self._notices = notices
        self._now = now
        self._lock = RLock()
        self._line = ProgressLine(first_phase, now())
        self._next_line_at = 0.0

    def receive(self, event: Event) -> None:
        """Take one event in."""
        with self._lock:
            self._notices.event(event)
            self._line.receive(event, self._now())

    def tick(self) -> None:
        """Print a line if the last one is old enough."""
        with self._lock:
            now = self._now()
            if now >= self._next_line_at:
                self._next_line_at = now + PLAIN_LINE_SECONDS
                self._notices.echo(f"progress: {self._line.plain_text(now)}")


class LiveLine:
    """Redraws one line of a terminal, never wider than the terminal, and leaves nothing of it behind."""

    def __init__(
        self,
        terminal: TextIO,
        notices: Notices,
        first_phase: str,
        *,
        now: Callable[[], float] = clock.monotonic_seconds,
    ) -> None:
        self._terminal = terminal
        self._notices = notices
        self._now = now
        self._lock = RLock()
        self._line = ProgressLine(first_phase, now())
        self._is_new = True
        self._is_drawn = False
        self._is_between_lines = True
        self._drawn_at = -REDRAW_SECONDS

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Let everything else that goes to stderr pass above the line, and erase the line at the end."""
        before = sys.stderr
        sys.stderr = _Above(self)  # all that writers of lines need, and the rest by name
        try:
            yield
        finally:
            sys.stderr = before
            with self._lock:
                self._erase()

    def receive(self, event: Event) -> None:
        """Take one event in."""
        with self._lock:
            self._notices.event(event)
            self._is_new = self._line.receive(event, self._now()) or self._is_new

    def tick(self) -> None:
        """Redraw the line if it says something new, or if a second passed."""
        with self._lock:
            now = self._now()
            if self._is_between_lines and (self._is_new or now - self._drawn_at >= REDRAW_SECONDS):
                self._draw(_ERASE + clip(self._line.text(now), self._columns() - 1))
                self._is_drawn, self._is_new, self._drawn_at = True, False, now

    def write_above(self, text: str) -> int:
        """Write something else; the line comes back with the next tick, once a whole line was written."""
        with self._lock:
            self._erase()
            self._terminal.write(text)
            self._is_between_lines = text.endswith("\n") or (self._is_between_lines and not text)
            self._is_new = True
        return len(text)

    def _erase(self) -> None:
        if self._is_drawn:
            self._draw(_ERASE)
            self._is_drawn = False

    def _draw(self, text: str) -> None:
        # A terminal that went away takes the line with it, not the work.
        with suppress(OSError, ValueError):
            self._terminal.write(text)
            self._terminal.flush()

    def _columns(self) -> int:
        try:
            return os.get_terminal_size(self._terminal.fileno()).columns or 80
        except (OSError, ValueError):
            return 80


class _Above:
    """Stands in for stderr while a live line is there."""

    def __init__(self, line: LiveLine) -> None:
        self._line = line

    def write(self, text: str) -> int:
        """Write above the line."""
        return self._line.write_above(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._line._terminal, name)  # noqa: SLF001  # the two are one thing in two roles
