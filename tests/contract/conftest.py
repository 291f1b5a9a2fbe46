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
    from omnigraph.spark import register
    from support.spark_session import process_session

    session = process_session()
    register(session)
    return session
