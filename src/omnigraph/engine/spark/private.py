"""Sessions of our own in a process that is not: the owner's next `SparkSession.builder` must not get one of them.

PySpark keeps the process's Java, context and session in attributes of its classes, and looks there wherever it needs
them. Ours are there while a job of ours runs and taken away when it ends, so that nobody else finds them. The Java
process stays: the next verb need not start another.
"""

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Condition
from typing import Any
from weakref import WeakSet

_END_SECONDS = 20.0
_turn = Condition()
"""There is one place for sessions in PySpark, so that two of ours take turns."""


class _Kept:
    """What PySpark's classes hold, to be exchanged for something else."""

    def __init__(self) -> None:
        self.values: dict[tuple[Any, str], Any] = dict.fromkeys(_places())

    def exchange(self) -> None:
        """Put what is kept here into PySpark's classes, and keep what was there."""
        found = {(owner, name): getattr(owner, name) for owner, name in self.values}
        for (owner, name), value in self.values.items():
            setattr(owner, name, value)
        self.values = found


def _places() -> list[tuple[Any, str]]:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession, SQLContext

    return [
        *((SparkContext, name) for name in ("_gateway", "_jvm", "_active_spark_context")),
        *((SparkSession, name) for name in ("_instantiatedSession", "_activeSession")),
        (SQLContext, "_instantiatedContext"),
    ]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PrivateSession:
    """A session that PySpark knows of only while it is in use."""

    session: Any
    kept: _Kept
    gateway: Any
    holders: WeakSet[Any] = field(default_factory=WeakSet)
    """Who may still want to use it."""

    @classmethod
    def start(cls, make: Callable[[], Any]) -> "PrivateSession":
        """Make a session as if there had never been one in this process."""
        from pyspark import SparkContext

        kept = _Kept()
        with _turn:
            _turn.wait_for(lambda: not _in_use)
            kept.exchange()
            try:
                session = make()
                context: Any = session.sparkContext
                gateway: Any = SparkContext._gateway  # noqa: SLF001
                # What the context asks of itself it finds while PySpark's classes have forgotten it.
                context._gateway, context._jvm = gateway, gateway.jvm  # noqa: SLF001
                return cls(session=session, kept=kept, gateway=gateway)
            except BaseException:
                if SparkContext._gateway is not None:  # noqa: SLF001
                    _end(SparkContext._gateway.proc)  # noqa: SLF001
                raise
            finally:
                kept.exchange()

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Let PySpark know of the session; several threads may do so at once."""
        with _turn:
            _turn.wait_for(lambda: not _in_use or self in _in_use)
            if not _in_use:
                self.kept.exchange()
            _in_use.append(self)
        try:
            yield
        finally:
            with _turn:
                _in_use.remove(self)
                if not _in_use:
                    self.kept.exchange()
                    _turn.notify_all()

    def is_alive(self) -> bool:
        """Tell whether its Java process is there and its context runs."""
        try:
            return self.gateway.proc.poll() is None and not self.session.sparkContext._jsc.sc().isStopped()  # noqa: SLF001
        except Exception:  # noqa: BLE001  # whatever says so, it is gone
            return False

    def stop(self) -> None:
        """End the session and its Java process."""
        if self.is_alive():
            with self.in_use():
                self.session.stop()
        self.gateway.shutdown()
        _end(self.gateway.proc)


def _end(java: Any) -> None:
    """Java ends by itself when nobody can write to it any more."""
    java.stdin.close()
    try:
        java.wait(timeout=_END_SECONDS)
    except subprocess.TimeoutExpired:
        java.kill()
        java.wait()


_in_use: list[PrivateSession | None] = []
"""None is the caller's session."""


@contextmanager
def callers_turn() -> Iterator[None]:
    """Use what PySpark knows of itself, while nothing of ours is in its place."""
    with _turn:
        _turn.wait_for(lambda: not any(_in_use))
        _in_use.append(None)
    try:
        yield
    finally:
        with _turn:
            _in_use.remove(None)
            _turn.notify_all()


def known_to_pyspark() -> tuple[Any, Any]:
    """Return the context and the session that PySpark has without us."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    context, session = (SparkContext, "_active_spark_context"), (SparkSession, "_activeSession")
    with _turn:
        for private in _in_use:
            if private is not None:
                return private.kept.values[context], private.kept.values[session]
        return SparkContext._active_spark_context, SparkSession._activeSession  # noqa: SLF001
