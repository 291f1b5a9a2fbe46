"""Which values a merge takes for equal: both sides write one property, and only different values conflict."""

import pytest

from omnigraph.errors import MergeConflicts
from omnigraph.graph import Graph
from support.merge_graphs import DIFFERENT, EQUAL, make_graph


@pytest.fixture
def graph(local_root: str) -> Graph:
    return make_graph(local_root)


def test_equal_values_merge_and_different_ones_conflict(graph: Graph) -> None:
    with pytest.raises(MergeConflicts) as refused:
        graph.branches.merge("review")

    found = refused.value.details["merge_conflicts"]
    assert {conflict["kind"] for conflict in found} == {"divergent_update"}
    assert {conflict["row_id"] for conflict in found} == {f"≠ {name}" for name in DIFFERENT}


def test_a_change_that_was_taken_back_is_none(graph: Graph) -> None:
    graph.branches.create("there-and-back")
    for number in (1.0, 9.0):
        with graph.write(branch="there-and-back") as batch:
            batch.update("Thing", {"number": number}, ids=["= lists"])
    with graph.write() as batch:
        batch.update("Thing", {"number": 5.0}, ids=["= lists"])

    result = graph.branches.merge("there-and-back")

    assert (result.outcome, result.tables) == ("merged", ())
    assert graph.snapshot().table("Thing").to_arrow(["number"], where=[("name", "=", "= lists")])[
        "number"
    ].to_pylist() == [5.0]


def test_an_entity_deleted_and_added_again_with_equal_values_was_not_touched(graph: Graph) -> None:
    graph.branches.create("again")
    with graph.write(branch="again") as batch:
        batch.delete("Thing", ids=["= lists"])
    stored = graph.snapshot().table("Thing").to_arrow(where=[("name", "=", "= lists")]).to_pylist()[0]
    with graph.write(branch="again") as batch:
        batch.insert("Thing", [{key: value for key, value in stored.items() if key != "id"}])
    with graph.write() as batch:
        batch.delete("Thing", ids=["= lists"])

    assert graph.branches.merge("again").tables == ()
    assert graph.snapshot().table("Thing").count_rows() == len(EQUAL) + len(DIFFERENT) - 1


def test_a_merge_keeps_blobs_and_vectors_bit_by_bit_and_row_ids_of_what_it_updates(graph: Graph) -> None:
    graph.branches.create("more", source="review")
    with graph.write(branch="more") as batch:
        batch.update("Thing", {"payload": b"\x00\xff" * 50_000, "vector": [0.1, 0.2]}, ids=["= bytes"])
    graph.branches.create("target", source="review")
    row_ids = graph.snapshot("target").table("Thing").scanner(columns=["name"], with_row_id=True).to_table()

    graph.branches.merge("more", into="target")

    assert graph.snapshot("target").table("Thing").to_arrow().sort_by("id") == graph.snapshot("more").table(
        "Thing"
    ).to_arrow().sort_by("id")
    after = graph.snapshot("target").table("Thing").scanner(columns=["name"], with_row_id=True).to_table()
    assert after.sort_by("name") == row_ids.sort_by("name")
