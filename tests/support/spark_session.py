"""A session of this process as its owner would have it, started the quick way: one for all tests of a process."""

import os
from typing import Any

from omnigraph.engine.choice import EngineChoice, EngineName
from omnigraph.engine.spark.session import callers_session, start_session


def process_session() -> Any:
    """Return the session of this process, started if need be."""
    return callers_session() or start_session(EngineChoice(engine=EngineName.SPARK), os.environ)
