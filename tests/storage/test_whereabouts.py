"""What is at an address without a graph, on disk and in a bucket."""

import pytest

import omnigraph
from omnigraph import errors
from support.faulty_s3 import Answer, FaultyS3

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


@pytest.mark.s3
def test_whoever_may_only_use_the_address_itself_can_make_and_open_a_graph_there(
    s3_root: str, s3_faults: FaultyS3
) -> None:
    above = s3_root.removeprefix("s3://").rpartition("/")[0]
    s3_faults.break_next(Answer(403), path_contains=f"{above}/_schema.pg", times=1_000)

    with pytest.raises(errors.GraphNotFound, match="There is no graph at"):
        omnigraph.open(s3_root)
    omnigraph.init(s3_root, SCHEMA)

    assert s3_faults.requests(path_contains=f"{above}/_schema.pg")
    assert omnigraph.open(s3_root).branches.list()[0].name == "main"
