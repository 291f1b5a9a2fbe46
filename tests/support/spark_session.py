"""Sessions as their owners have them: one for all tests of a process, and those of programs that tests start."""

import os
import sys
from typing import Any

from omnigraph.engine.choice import EngineChoice, EngineName
from omnigraph.engine.spark.session import callers_session, start_session


def process_session() -> Any:
    """Return the session of this process, started the quick way if need be."""
    return callers_session() or start_session(EngineChoice(engine=EngineName.SPARK), os.environ)


def program_session(url: str) -> Any:
    """Start a session at a master or at a Connect server, as a program does."""
    from pyspark.sql import SparkSession

    if url.startswith("sc://"):
        return SparkSession.builder.remote(url).getOrCreate()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(url).config("spark.ui.enabled", "false")
    return builder.config("spark.driver.host", "127.0.0.1").getOrCreate()
