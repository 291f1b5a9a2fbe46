"""Running again and again in a steady rhythm, and ending in a good place when a signal asks for it."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from types import FrameType

from omnigraph.base import clock, stopping

_STOPPING = b"stopping: what is under way is finished first; a second signal ends at once\n"


class StopSignals:
    """Which signal asked this run to stop; None while none did."""

    def __init__(self) -> None:
        self.received: int | None = None

    @property
    def exit_code(self) -> int:
        """Return what a shell makes of a process that such a signal ended."""
        return 128 + (self.received or 0)


@contextmanager
def stop_signals() -> Iterator[StopSignals]:
    """Take SIGTERM and SIGINT for a wish to stop until the block ends; the second one interrupts at once."""
    asked = StopSignals()
    stopping.forget()

    def note(number: int, frame: FrameType | None) -> None:
        del frame
        if asked.received is not None:
            raise KeyboardInterrupt
        asked.received = number
        stopping.ask()
        # Not through a buffered stream: the signal may have come in the middle of writing to it.
        os.write(2, _STOPPING)

    if current_thread() is not main_thread():
        yield asked  # Only the main thread may ask for signals.
        return
    before = {number: signal.signal(number, note) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        stopping.forget()


@contextmanager
def termination_interrupts() -> Iterator[None]:
    """Let SIGTERM end the block as Ctrl-C does, so that whatever it holds is given back."""
    if current_thread() is not main_thread():
        yield  # Only the main thread may ask for signals.
        return

    def interrupt(number: int, frame: FrameType | None) -> None:
        del number, frame
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def repeat(act: Callable[[], None], *, every_seconds: float | None, announce: Callable[[float], None]) -> None:
    """Act once, or at the beginning of every interval until somebody asks to stop.

    Beginnings lie whole intervals apart, however long each round takes; one that took longer lets those pass that it
    missed. `announce` is told how long the pause is.
    """
    first = clock.monotonic_seconds()
    while True:
        act()
        if every_seconds is None or stopping.is_asked():
            return
        pause = pause_seconds(clock.monotonic_seconds() - first, every_seconds)
        announce(pause)
        if stopping.wait(pause):
            return


def pause_seconds(elapsed: float, every: float) -> float:
    """Return how long it is until the next whole interval since the beginning."""
    return every - elapsed % every
