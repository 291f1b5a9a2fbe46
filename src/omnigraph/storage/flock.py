"""Advisory file locks: the only lock that dies with its process."""

import errno
import fcntl

from omnigraph.base import clock, ids

_PAUSE_SECONDS_MIN = 0.002
_PAUSE_SECONDS_MAX = 0.05


def try_flock(descriptor: int, *, shared: bool = False) -> bool:
    """Lock the open file if nobody else holds it; return whether it is ours now."""
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except OSError as exc:
        if exc.errno in {errno.EWOULDBLOCK, errno.EACCES}:
            return False
        raise
    return True


def flock_within(descriptor: int, *, wait_seconds: float) -> bool:
    """Wait for the exclusive lock, asking again and again because a blocking `flock` cannot be given a time limit."""
    deadline = clock.monotonic_seconds() + wait_seconds
    pause = _PAUSE_SECONDS_MIN
    while not try_flock(descriptor):
        left = deadline - clock.monotonic_seconds()
        if left <= 0:
            return False
        clock.sleep_seconds(min(pause * ids.jitter(), left))
        pause = min(pause * 2, _PAUSE_SECONDS_MAX)
    return True
