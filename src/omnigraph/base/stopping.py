"""Whether this process was asked to stop, and how long work may go on.

A signal reaches a whole process, so the answer belongs to the process as well. Whoever works asks before it begins
something new: what is begun is finished, so that no half of anything is left behind.
"""

from threading import Event

from omnigraph.base import clock

_asked = Event()


def ask() -> None:
    """Ask this process to stop at the next good place; safe in a signal handler."""
    _asked.set()


def forget() -> None:
    """Begin anew: nobody has asked yet."""
    _asked.clear()


def is_asked() -> bool:
    """Whether somebody has asked."""
    return _asked.is_set()


def wait(seconds: float) -> bool:
    """Pause until that much time has passed or somebody asks; return whether somebody has."""
    return _asked.wait(seconds)


def is_over(not_after_us: int | None) -> bool:
    """Whether nothing new is to begin: the time is up, if it has an end, or somebody has asked to stop."""
    return _asked.is_set() or (not_after_us is not None and clock.now_us() > not_after_us)
