"""Spark sessions: the one that is already there, a configured one, or one on this machine made for a quick start.

Order: the caller's active session, a remote, a master, `local[*]`. Only a session that is started here is tuned.
"""

import os
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from omnigraph.base.hidden_modules import reveal_module
from omnigraph.engine.choice import EngineChoice, EngineName
from omnigraph.engine.spark.class_archive import archive_options
from omnigraph.engine.spark.java import missing_java
from omnigraph.engine.spark.reach import await_endpoint, unreachable
from omnigraph.errors import EngineUnavailable

_LOCAL = "local[*]"
_ANSWER_SECONDS = 10.0
"""How long a Connect endpoint that accepts connections may take to say that it is one."""
_QUICK_START = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "-Xlog:disable", "-Xlog:all=off")
"""Short jobs never repay the second compiler or a concurrent collector, and their start-up costs cores."""

_JAVA_OPTIONS = "spark.driver.extraJavaOptions"


def open_session(choice: EngineChoice, environ: Mapping[str, str], worker_environment: Mapping[str, str]) -> Any:
    """Return a session, started if need be; raise `EngineUnavailable` that says what is missing."""
    reveal_module("pandas")  # PySpark refuses to run Python functions without it
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None:
        session = active
    elif choice.session is not None and choice.session.is_remote:
        session = _connect(choice)
    else:
        session = _start(choice, environ)
    prepare_workers(session, environ, worker_environment)
    return session


def _connect(choice: EngineChoice) -> Any:
    from pyspark.sql import SparkSession

    assert choice.session is not None
    _expect_somebody(choice)
    builder = SparkSession.builder.remote(choice.session.url)
    for key, value in choice.conf.items():
        builder = builder.config(key, value)
    try:
        await_endpoint(choice.session.url, seconds=_ANSWER_SECONDS)
        return builder.getOrCreate()
    except Exception as failure:
        raise _unavailable(choice, f"the Spark Connect endpoint {_shown(choice.session.url)}", failure) from failure


def _start(choice: EngineChoice, environ: Mapping[str, str]) -> Any:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    missing = missing_java(environ)
    if missing is not None:
        raise EngineUnavailable(
            f"{_asked_for(choice)} needs {missing}. Install it and point JAVA_HOME at it, or use --engine local.",
            engine=EngineName.SPARK.value,
            missing=missing,
        )
    # A session that pyspark made before this one, and that is active in no thread, still owns the process's context.
    if SparkContext._active_spark_context is not None:  # noqa: SLF001  # there is no public question
        return SparkSession.builder.getOrCreate()
    _expect_somebody(choice)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    conf = _conf(choice, environ)
    try:
        context = SparkContext(conf=conf, gateway=_launch(conf, choice))
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
    for key, value in choice.conf.items():
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


def prepare_workers(session: Any, environ: Mapping[str, str], worker_environment: Mapping[str, str]) -> None:
    """Give Python workers their environment.

    It travels beside the tasks, in no plan and no setting that Spark shows. A Connect server has its own executors,
    whose environment is its operator's business.
    """
    context = _classic_context(session)
    if context is None:
        return
    environment: dict[str, str] = context.environment
    environment.update(worker_environment)
    if context.master.startswith("local"):
        # The package may be on the path of this process only.
        package_root = str(Path(__file__).parents[3])
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, (package_root, environ.get("PYTHONPATH"))))
        # Every worker is one of `cores` processes: its Lance must not start as many threads again.
        environment.setdefault("LANCE_CPU_THREADS", "1")
        environment.setdefault("LANCE_IO_THREADS", "4")


def _classic_context(session: Any) -> Any:
    """Return the context of a session in this process; None for Spark Connect, which has none."""
    from pyspark.sql import SparkSession

    return session.sparkContext if type(session) is SparkSession else None


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
