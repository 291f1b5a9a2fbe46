"""Joins without broadcasts, while our statements run.

Spark takes a relation for as small as the list of tasks that read it, and would send millions of rows to every worker.
The setting belongs to the session, which may be the caller's, so it comes back when the last of our statements ends.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

_SETTING = "spark.sql.autoBroadcastJoinThreshold"
_OFF = "-1"

_running: dict[int, tuple[int, str]] = {}
_lock = Lock()


@contextmanager
def no_broadcasts(session: Any) -> Iterator[None]:
    """Turn broadcasts of a session off; several threads may do so at once."""
    key = id(session)
    with _lock:
        count, before = _running.get(key) or (0, str(session.conf.get(_SETTING)))
        if count == 0:
            session.conf.set(_SETTING, _OFF)
        _running[key] = (count + 1, before)
    try:
        yield
    finally:
        with _lock:
            count, before = _running.pop(key)
            if count > 1:
                _running[key] = (count - 1, before)
            else:
                session.conf.set(_SETTING, before)
