"""A session beside the caller's: the same workers, packages and settings, except for what our statements need.

Our statements need settings that the owner of a session did not choose, and views that nobody else should see. Both
belong to a session, so they have one of theirs: the owner's stays as it is, also while a job of ours runs.
"""

import atexit
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from threading import Thread
from typing import Any
from weakref import WeakSet

from omnigraph.engine.spark.private import callers_turn

SETTINGS = {
    # Spark takes a relation for as small as the list of tasks that read it, and would send millions of rows to every
    # worker.
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    # What workers return has the types that are declared for it.
    "spark.sql.execution.arrow.useLargeVarTypes": "false",
}

_open: WeakSet[Any] = WeakSet()


def session_beside(session: Any) -> Any:
    """Make a session of ours beside the caller's."""
    own = _cloned_classic(session) if hasattr(session, "_jsparkSession") else _cloned_connect(session)
    give_settings(own, SETTINGS)
    return own


def _cloned_classic(session: Any) -> Any:
    # Python has no name for it. A new session would lack the packages that were added to this one.
    return type(session)(session._sc, session._jsparkSession.cloneSession())  # noqa: SLF001


def _cloned_connect(session: Any) -> Any:
    try:
        _ = session.version  # a server knows a session from its first question on
        own = session.cloneSession()
    except Exception:  # noqa: BLE001  # servers of other makers may not offer it
        own = session.newSession()
    return closed_at_exit(own)


def closed_at_exit(session: Any) -> Any:
    """Have the connection of a Connect session closed while Python still works: later, closing it waits forever."""
    if not _open:
        atexit.register(_close_all)
    _open.add(session)
    return session


def _close_all() -> None:
    for session in list(_open):
        with suppress(Exception):
            session.client.close()


def give_settings(session: Any, settings: Mapping[str, str]) -> None:
    """Set several settings of a session."""
    for name, value in settings.items():
        session.conf.set(name, value)


def let_go(session: Any) -> None:
    """Tell a Connect server that a session is not needed any more; classic ones go by themselves.

    Called when Python drops a session, which may be in the middle of anything.
    """

    def release() -> None:
        with suppress(Exception):  # it ends without being asked, later
            session.client.release_session()
            session.client.close()

    if not hasattr(session, "_jsparkSession"):
        Thread(target=release, name="omnigraph-release", daemon=True).start()


@contextmanager
def same_active_session(own: Any, caller: Any) -> Iterator[None]:
    """Keep what PySpark calls the active session: one that makes a frame of rows takes that place."""
    from pyspark.sql import SparkSession

    with callers_turn():
        before = SparkSession._activeSession  # noqa: SLF001  # there is no public way
        try:
            yield
        finally:
            if SparkSession._activeSession is own:  # noqa: SLF001
                SparkSession._activeSession = caller if before is own else before  # noqa: SLF001
