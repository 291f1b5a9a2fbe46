import os
from typing import Any

import pytest

from contract.graphs import CREW_SCHEMA, graph_of
from omnigraph.graph import Graph


@pytest.fixture
def crew(local_root: str) -> Graph:
    """An empty graph of sailors and ships."""
    return graph_of(local_root, CREW_SCHEMA)


@pytest.fixture(scope="module")
def spark() -> Any:
    """The session of this process, which knows the data source."""
    from omnigraph.engine.choice import EngineChoice, EngineName
    from omnigraph.engine.spark.session import open_session
    from omnigraph.spark import register

    session = open_session(EngineChoice(engine=EngineName.SPARK), os.environ, {})
    register(session)
    return session
