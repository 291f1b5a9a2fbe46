"""The only place that reads the time.

Commit times are microseconds since the Unix epoch in UTC. They are for people: nothing orders history by them,
because clocks differ between machines.
"""

import os
import time
from collections.abc import Callable
from datetime import datetime, timedelta

SHIFT_VARIABLE = "OMNIGRAPH_TEST_CLOCK_SHIFT_SECONDS"
"""For tests: how far this process believes to be ahead of the time; nothing in production sets it."""
_SHIFT_NS = int(os.environ.get(SHIFT_VARIABLE, "0")) * 1_000_000_000


def now_us() -> int:
    """Return the current time in microseconds since the Unix epoch."""
    return (time.time_ns() + _SHIFT_NS) // 1_000


def now_ms() -> int:
    """Return the current time in milliseconds since the Unix epoch."""
    return (time.time_ns() + _SHIFT_NS) // 1_000_000


# A plain monotonic clock stands still while a machine sleeps, and a lease would seem fresh after waking up.
_STEADY_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def monotonic_seconds() -> float:
    """Return seconds of a clock that never goes back and counts sleep, for measuring, deadlines and leases."""
    return time.clock_gettime(_STEADY_CLOCK)


def sleep_seconds(seconds: float) -> None:
    """Pause this thread."""
    time.sleep(seconds)


def iso_from_us(microseconds: int) -> str:
    """Spell a commit time for people, in UTC to the second."""
    return _moment(microseconds).isoformat(sep=" ", timespec="seconds")


def timestamp_from_us(microseconds: int) -> str:
    """Spell a moment for programs: ISO 8601 in UTC with its `Z`, to the second."""
    return f"{_moment(microseconds).isoformat(timespec='seconds')}Z"


_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  # everything here is UTC, and the zone is spelled by hand
_MICROSECOND = timedelta(microseconds=1)
_EARLIEST = (datetime(1, 1, 1) - _EPOCH) // _MICROSECOND  # noqa: DTZ001  # the same
_LATEST = (datetime(9999, 12, 31, 23, 59, 59) - _EPOCH) // _MICROSECOND  # noqa: DTZ001  # the same


def _moment(microseconds: int) -> datetime:
    """Return the moment in UTC; what a wild clock puts outside of years 1 to 9999 is the first or last there is."""
    return _EPOCH + min(max(microseconds, _EARLIEST), _LATEST) * _MICROSECOND


def wait_until(condition: Callable[[], bool], *, timeout_seconds: float, pause_seconds: float = 0.02) -> bool:
    """Poll `condition` until it holds; return whether it held before the timeout."""
    deadline = monotonic_seconds() + timeout_seconds
    while not condition():
        if monotonic_seconds() >= deadline:
            return False
        sleep_seconds(pause_seconds)
    return True
