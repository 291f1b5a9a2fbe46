"""Spark sessions: the one that is already there, a configured one, or one on this machine made for a quick start.

Order: the caller's active session, a remote, a master, `local[*]`. Only a session that is started here is tuned, and
it is ours alone.
"""

import gc
import os
import sys
import warnings
from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from functools import partial
from threading import RLock
from typing import Any
from weakref import finalize

from omnigraph.base.hidden_modules import reveal_module
from omnigraph.engine.choice import EngineChoice, EngineName
from omnigraph.engine.spark.class_archive import archive_options
from omnigraph.engine.spark.interrupts import same_interrupts
from omnigraph.engine.spark.java import missing_java
from omnigraph.engine.spark.own_session import (
    SETTINGS,
    closed_at_exit,
    give_settings,
    let_go,
    same_active_session,
    session_beside,
)
from omnigraph.engine.spark.private import PrivateSession, callers_turn, known_to_pyspark
from omnigraph.engine.spark.reach import await_endpoint, unreachable
from omnigraph.errors import EngineUnavailable

_LOCAL = "local[*]"
_ANSWER_SECONDS = 10.0
"""How long a Connect endpoint that accepts connections may take to say that it is one."""
_QUICK_START = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "-Xlog:disable", "-Xlog:all=off")
"""Short jobs never repay the second compiler or a concurrent collector, and their start-up costs cores."""

_JAVA_OPTIONS = "spark.driver.extraJavaOptions"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, weakref_slot=True)
class OpenSession:
    """A session for our work: a private one, or one beside the caller's."""

    session: Any
    private: PrivateSession | None = None
    caller: Any = None

    @classmethod
    def beside(cls, caller: Any) -> "OpenSession":
        """Work beside the caller's session, and leave that as it is."""
        opened = cls(session=session_beside(caller), caller=caller)
        finalize(opened, let_go, opened.session).atexit = False
        return opened

    @classmethod
    def of_our_own(cls, private: PrivateSession) -> "OpenSession":
        """Work with a private session, which stays for as long as this is needed."""
        opened = cls(session=private.session, private=private)
        private.holders.add(opened)
        return opened

    def in_use(self) -> AbstractContextManager[None]:
        """Do something with the session: PySpark knows of it in this block only."""
        if self.private is not None:
            return self.private.in_use()
        return same_active_session(self.session, self.caller)


_private: dict[tuple[object, ...], PrivateSession] = {}
_remote: dict[tuple[object, ...], Any] = {}
_opening = RLock()


def open_session(choice: EngineChoice, environ: Mapping[str, str]) -> OpenSession:
    """Return a session beside the caller's, or a private one; raise `EngineUnavailable` if that cannot be started.

    A private one stays for the next verb, where nobody else finds it, until the caller has a session or asks for
    another one.
    """
    reveal_module("pandas")  # PySpark refuses to run Python functions without it
    with _opening:
        found = callers_session()
        if found is not None:
            _stop_all_but(None)
            return OpenSession.beside(found)
        key = (choice.session, *sorted(choice.conf.items()), choice.has_ui, choice.shows_log)
        if choice.session is not None and choice.session.is_remote:
            return OpenSession(session=_connected(key, choice))
        _stop_all_but(key)
        if key not in _private:
            _private[key] = PrivateSession.start(partial(start_session, choice, environ))
        return OpenSession.of_our_own(_private[key])


def callers_session() -> Any:
    """Return the session that the caller has, or that `spark-submit` has prepared; None without either."""
    from pyspark.sql import SparkSession, is_remote

    if is_remote():
        from pyspark.sql.connect.session import SparkSession as ConnectSession

        return ConnectSession.getActiveSession() or ConnectSession._get_default_session()  # noqa: SLF001
    context, session = known_to_pyspark()
    if context is not None or "PYSPARK_GATEWAY_PORT" in os.environ:
        # The Java of `spark-submit` is made for one application, the caller's.
        with callers_turn():
            return SparkSession.getActiveSession() or session or SparkSession.builder.getOrCreate()
    return None


def _stop_all_but(wanted: tuple[object, ...] | None) -> None:
    """End private sessions that nobody needs any more."""
    if any(key != wanted and private.holders for key, private in _private.items()):
        gc.collect()  # engines of verbs that are over may only wait for it
    for key, private in list(_private.items()):
        if not private.is_alive() or (key != wanted and not private.holders):
            del _private[key]
            private.stop()


def _connected(key: tuple[object, ...], choice: EngineChoice) -> Any:
    """Return the session that we have at a Connect server, which forgets one that nobody used for an hour."""
    session = _remote.pop(key, None)
    if session is not None:
        try:
            give_settings(session, SETTINGS)
        except Exception:  # noqa: BLE001  # whatever says so, it is gone
            session.client.close()
            session = None
    _remote[key] = session or _connect(choice)
    return _remote[key]


def _connect(choice: EngineChoice) -> Any:
    """Make a session without PySpark's builder, which would leave it to everybody in this process."""
    from pyspark.errors import PySparkException
    from pyspark.sql.connect.session import SparkSession

    assert choice.session is not None
    _expect_somebody(choice)
    try:
        await_endpoint(choice.session.url, seconds=_ANSWER_SECONDS)
        session = closed_at_exit(SparkSession(connection=choice.session.url))
        for key, value in choice.conf.items():
            with suppress(PySparkException):  # what a server takes when it starts only
                session.conf.set(key, value)
        give_settings(session, SETTINGS)
    except Exception as failure:
        raise _unavailable(choice, f"the Spark Connect endpoint {_shown(choice.session.url)}", failure) from failure
    return session


def start_session(choice: EngineChoice, environ: Mapping[str, str]) -> Any:
    """Start a session with a Java process of its own, as PySpark's session of this process."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    missing = missing_java(environ)
    if missing is not None:
        raise EngineUnavailable(
            f"{_asked_for(choice)} needs {missing}. Install it and point JAVA_HOME at it, or use --engine local.",
            engine=EngineName.SPARK.value,
            missing=missing,
        )
    _expect_somebody(choice)
    conf = _conf(choice, environ)
    try:
        with same_interrupts():
            context = SparkContext(conf=conf, gateway=_launch(conf, choice))
        # PySpark itself knows $PYSPARK_PYTHON only, and leaves the setting to spark-submit.
        named = context.getConf().get("spark.pyspark.python")
        context.pythonExec = named or environ.get("PYSPARK_PYTHON") or sys.executable
        return SparkSession(context)
    except Exception as failure:
        raise _unavailable(choice, f"a Spark session at {conf.get('spark.master')}", failure) from failure


def _expect_somebody(choice: EngineChoice) -> None:
    reason = unreachable(choice.session.url) if choice.session is not None else None
    if choice.session is not None and reason is not None:
        missing = f"{_shown(choice.session.url)}, where nobody answers ({reason})"
        raise EngineUnavailable(
            f"{_asked_for(choice)} needs {missing}. Check the address and that it is running, or use --engine local.",
            engine=EngineName.SPARK.value,
            missing=missing,
        )


def _conf(choice: EngineChoice, environ: Mapping[str, str]) -> Any:
    from pyspark import SparkConf

    master = choice.session.url if choice.session is not None else _LOCAL
    conf = SparkConf()
    conf.setAppName("omnigraph").setMaster(master)
    conf.set("spark.ui.enabled", str(choice.has_ui).lower()).set("spark.ui.showConsoleProgress", "false")
    conf.set("spark.log.level", "WARN" if choice.shows_log else "ERROR")
    if master.startswith("local"):
        conf.set("spark.driver.bindAddress", "127.0.0.1").set("spark.driver.host", "127.0.0.1")
        # Shuffles of one machine gain nothing from Spark's default of 200 tasks.
        conf.set("spark.sql.shuffle.partitions", str(len(os.sched_getaffinity(0))))
        # Python and Lance do the heavy work. Compiling our statements, and planning them anew after every stage, costs
        # a short job more than running them (measured: half the CPU time of a small merge).
        conf.set("spark.sql.codegen.wholeStage", "false").set("spark.sql.adaptive.enabled", "false")
    for key, value in (*choice.conf.items(), *SETTINGS.items()):
        conf.set(key, value)
    if master.startswith("local[") or master == "local":
        given = choice.conf.get(_JAVA_OPTIONS, "")
        conf.set(_JAVA_OPTIONS, " ".join((*_QUICK_START, *archive_options(environ), given)).strip())
    return conf


def _launch(conf: Any, choice: EngineChoice) -> Any:
    """Start the JVM, silent unless its log is wanted: what matters in it comes back as an error."""
    from subprocess import DEVNULL

    from pyspark import java_gateway

    launch: Any = java_gateway.launch_gateway
    with warnings.catch_warnings():
        # Lance warns of every fork. This one becomes Java at once.
        warnings.filterwarnings("ignore", message=".*fork-safe.*")
        return launch(conf, popen_kwargs=None if choice.shows_log else {"stderr": DEVNULL, "stdout": DEVNULL})


def _shown(url: str) -> str:
    """Leave out what follows the address of an endpoint: it may be a token."""
    return url.partition("/;")[0]


def _asked_for(choice: EngineChoice) -> str:
    return choice.session.setting if choice.session is not None else f"{choice.setting} {choice.engine}"


def _unavailable(choice: EngineChoice, what: str, failure: Exception) -> EngineUnavailable:
    reason = str(failure).strip().partition("\n")[0]
    missing = f"{what}, which did not start ({reason})"
    return EngineUnavailable(
        f"{_asked_for(choice)} needs {missing}. Check it, or use --engine local.",
        engine=EngineName.SPARK.value,
        missing=missing,
    )


def has_active_session() -> bool:
    """Whether there is one; makes none."""
    from pyspark.sql import is_remote

    return callers_session() is not None if is_remote() else known_to_pyspark()[0] is not None
