"""How far long work is, on stderr: a live display on a terminal, plain lines elsewhere on request."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from omnigraph.base import clock
from omnigraph.base.events import Advanced, Event, Events
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.notices import Notices

PLAIN_LINE_SECONDS = 5.0


@contextmanager
def follow_progress(invocation: Invocation) -> Iterator[Events]:
    """Yield a receiver for the events of one operation; warnings and notes become lines in every case."""
    wanted = invocation.flags.progress
    on_terminal = sys.stderr.isatty()
    if invocation.notices.is_quiet or wanted is False or (wanted is None and not on_terminal):
        yield invocation.notices.event
    elif on_terminal:
        with _live_display(invocation.notices) as events:
            yield events
    else:
        yield PlainProgress(invocation.notices)


class PlainProgress:
    """Prints the newest progress at most every five seconds."""

    def __init__(self, notices: Notices) -> None:
        self._notices = notices
        self._next_line_at = 0.0

    def __call__(self, event: Event) -> None:
        """Receive one event."""
        self._notices.event(event)
        if isinstance(event, Advanced) and (now := clock.monotonic_seconds()) >= self._next_line_at:
            self._next_line_at = now + PLAIN_LINE_SECONDS
            of_total = f" of {event.total:,}" if event.total is not None else ""
            self._notices.echo(f"progress: {event.phase}: {event.done:,}{of_total} {event.unit}")


@contextmanager
def _live_display(notices: Notices) -> Iterator[Events]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeRemainingColumn

    display = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,.0f} {task.fields[unit]}"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    task_by_phase: dict[str, TaskID] = {}

    def receive(event: Event) -> None:
        notices.event(event)
        if not isinstance(event, Advanced):
            return
        if event.phase not in task_by_phase:
            task_by_phase[event.phase] = display.add_task(event.phase, total=event.total, unit=event.unit)
        display.update(task_by_phase[event.phase], completed=event.done, total=event.total)

    with display:
        yield receive
