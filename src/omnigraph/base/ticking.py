"""Doing something again and again, on a thread of its own, while a block runs."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread


@contextmanager
def ticking(act: Callable[[], None], *, pause_seconds: float, name: str) -> Iterator[None]:
    """Call `act` after every pause until the block ends; no call is under way once it has."""
    ended = Event()

    def tick() -> None:
        while not ended.wait(pause_seconds):
            act()

    thread = Thread(target=tick, name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
