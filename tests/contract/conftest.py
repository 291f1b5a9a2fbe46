import pytest

from contract.graphs import CREW_SCHEMA, graph_of
from omnigraph.graph import Graph


@pytest.fixture
def crew(local_root: str) -> Graph:
    """An empty graph of sailors and ships."""
    return graph_of(local_root, CREW_SCHEMA)
