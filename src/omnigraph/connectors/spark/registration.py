"""Making the data source known to a session, whose other Python functions keep the environment that they have."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from omnigraph.connectors.spark.source import OmniGraphSource
from omnigraph.engine.spark.baggage import Baggage

Session = TypeVar("Session")


def register(spark: Session) -> Session:
    """Make `format("omnigraph")` known to a session, and return the session.

    Spark keeps sources per session and hands none of them on, so that a new one is told too:
    `register(spark.newSession())`.
    """
    session: Any = spark
    context = getattr(session, "_sc", None)
    if context is None:
        session.dataSource.register(OmniGraphSource)
        return spark
    # The environment of a registered source is what its context has at this moment.
    seen = _Seen(session, sparkContext=_Seen(context, environment=_environment(session, context)))
    with _active(session):
        type(session.dataSource)(seen).register(OmniGraphSource)
    return spark


@contextmanager
def _active(session: Any) -> Iterator[None]:
    """Let Spark look for sources of the same name in this session, and not in the one that is active."""
    java = getattr(session._jvm, "org.apache.spark.sql.classic.SparkSession")  # noqa: SLF001
    before = java.getActiveSession()
    java.setActiveSession(session._jsparkSession)  # noqa: SLF001
    try:
        yield
    finally:
        if before.isDefined():
            java.setActiveSession(before.get())
        else:
            java.clearActiveSession()


def _environment(session: Any, context: Any) -> dict[str, str]:
    """Return what the workers of the source need, for no other function."""
    given: dict[str, str] = dict(context.environment)
    baggage = Baggage.of(session, {}, os.environ)
    path = os.pathsep.join(filter(None, (*baggage.path, given.get("PYTHONPATH"))))
    wanted = {name: value for name, value in baggage.defaults.items() if name not in os.environ}
    return wanted | given | ({"PYTHONPATH": path} if path else {})


class _Seen:
    """An object of PySpark, seen with some attributes of another value."""

    def __init__(self, real: Any, **attributes: Any) -> None:
        self._real = real
        self.__dict__.update(attributes)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)
