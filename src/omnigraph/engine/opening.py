"""From a decision to an engine that runs."""

import os
import sys
from collections.abc import Mapping
from typing import assert_never

from omnigraph.base.endings import attempt
from omnigraph.base.events import EngineChosen, Events, Noted, phase
from omnigraph.engine.choice import EngineChoice, EngineDecision, EngineName, Work
from omnigraph.engine.interface import Engine
from omnigraph.errors import EngineUnavailable, Internal


def decide(choice: EngineChoice, work: Work, size_bytes: int | None) -> EngineDecision:
    """Weigh a choice against planned work, and against a session that the caller has; starts nothing."""
    return choice.decide(work, size_bytes, has_session=_has_session())


def open_engine(
    choice: EngineChoice,
    work: Work,
    size_bytes: int | None,
    *,
    local: Engine,
    worker_environment: Mapping[str, str],
    events: Events,
) -> tuple[Engine, str]:
    """Return the engine for work of this size and why it was taken, and say so; starts a Spark session if need be.

    Spark that was asked for and cannot start is an error. Spark that only the size asked for is replaced by the local
    engine, with a note that says why. `worker_environment` reaches the workers and is never shown: it may hold keys.
    """
    engine, reason = _opened(choice, decide(choice, work, size_bytes), local, worker_environment, events)
    events(EngineChosen(engine=engine.name, reason=reason))
    return engine, reason


def close_at_end(engine: Engine, events: Events) -> None:
    """Let an engine go when the outcome is known: what it fails to let go of does not change it."""
    attempt(engine.close, events, otherwise=f"the {engine.name} engine did not let go of everything it kept")


def _opened(
    choice: EngineChoice,
    decision: EngineDecision,
    local: Engine,
    worker_environment: Mapping[str, str],
    events: Events,
) -> tuple[Engine, str]:
    match decision.engine:
        case EngineName.LOCAL:
            return local, decision.reason
        case EngineName.SPARK:
            return _spark_or_local(choice, decision, local, worker_environment, events)
        case EngineName.AUTO:
            raise Internal("an engine was decided on that is none: auto")
        case never:
            assert_never(never)


def _spark_or_local(
    choice: EngineChoice,
    decision: EngineDecision,
    local: Engine,
    worker_environment: Mapping[str, str],
    events: Events,
) -> tuple[Engine, str]:
    try:
        with phase(events, _starting(choice)):
            return _spark(choice, decision, worker_environment), decision.reason
    except EngineUnavailable as unavailable:
        if decision.is_forced:
            raise
        events(Noted(message=f"running locally; Spark is not available ({unavailable.details['missing']})"))
        return local, f"{decision.reason}, but Spark is not available"


def _has_session() -> bool:
    """Whether the caller has a session; a process that never imported PySpark has none, and need not import it now."""
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        return True  # `spark-submit` has started Java for whatever this process does
    if "pyspark.sql" not in sys.modules:
        return False
    from omnigraph.engine.spark.session import has_active_session

    return has_active_session()


def _starting(choice: EngineChoice) -> str:
    is_remote = choice.session is not None and choice.session.is_remote
    return "connecting to Spark" if is_remote else "starting Spark"


def require_pyspark(asked_for: str) -> None:
    """Raise `EngineUnavailable` where PySpark is not installed; `asked_for` says who needs it."""
    from importlib.util import find_spec

    if find_spec("pyspark") is None:
        missing = "PySpark, which is not installed"
        raise EngineUnavailable(
            f"{asked_for}: this needs {missing}. Install omnigraph[spark], or use --engine local.",
            engine=EngineName.SPARK.value,
            missing=missing,
        )


def _spark(choice: EngineChoice, decision: EngineDecision, worker_environment: Mapping[str, str]) -> Engine:
    require_pyspark(decision.reason)
    from omnigraph.engine.spark.engine import SparkEngine
    from omnigraph.engine.spark.session import open_session

    return SparkEngine(open_session(choice, os.environ), worker_environment)
