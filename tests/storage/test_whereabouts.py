"""What is at an address without a graph, on disk and in a bucket."""

import pytest

import omnigraph
from omnigraph import errors

SCHEMA = "node Sailor { name: String @key }"


def test_the_inside_of_a_graph_is_recognised_on_every_store(store_root: str) -> None:
    omnigraph.init(store_root, SCHEMA)

    with pytest.raises(errors.GraphNotFound, match=rf"lies inside the graph {store_root}; address that one\."):
        omnigraph.open(f"{store_root}/nodes/anything")
    with pytest.raises(errors.Addressing, match=f"lies inside the graph {store_root}, and graphs do not nest"):
        omnigraph.init(f"{store_root}/nodes/new.omni", SCHEMA)


def test_nothing_at_all_says_how_to_make_a_graph(store_root: str) -> None:
    with pytest.raises(errors.GraphNotFound, match=rf"There is no graph at {store_root}\. Create one with"):
        omnigraph.open(store_root)
