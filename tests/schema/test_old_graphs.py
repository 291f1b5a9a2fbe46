"""Schema changes of graphs that were made by older programs: they migrate first, and their tables name no property."""

from pathlib import Path

import pytest

import omnigraph
from omnigraph.errors import HistoricalVersionReclaimed
from omnigraph.graph import Graph
from support import harbor, old_graphs

CHANGED = (
    harbor.SCHEMA.replace("node Sailor", 'node Mariner @rename_from("Sailor")')
    .replace("Sailor -> Sailor", "Mariner -> Mariner")
    .replace("Sailor -> Ship", "Mariner -> Ship")
    .replace("age: I32?", "paid: Bool @default(true)")
)


@pytest.fixture
def graph(local_root: str) -> Graph:
    """A graph of the first format, with the one branch that it needs to lose."""
    old_graphs.build(local_root, stamp=1)
    graph = omnigraph.open(local_root)
    graph.branches.delete("review")
    return graph


def test_a_plan_of_an_old_graph_leaves_it_as_it_is(local_root: str) -> None:
    old_graphs.build(local_root, stamp=1)
    before = old_graphs.contents_of(local_root)

    assert omnigraph.open(local_root, read_only=True).plan_schema(CHANGED).supported
    assert old_graphs.contents_of(local_root) == before


def test_an_old_graph_changes_like_any_other(graph: Graph) -> None:
    before = graph.snapshot().graph_version

    graph.apply_schema(CHANGED)

    now = graph.snapshot().table("Mariner").to_arrow().sort_by("id").to_pylist()
    assert [(row["id"], row["rank"], row["paid"]) for row in now] == [
        ("Ana", "captain", True),
        ("Bo", "mate", True),
        ("Cy", "deckhand", True),
    ]
    past = graph.snapshot(version=before).table("Sailor").to_arrow().sort_by("id")
    assert past["age"].to_pylist() == [50, 34, None]
    assert harbor.pins_equal_heads(graph)


def test_a_hard_drop_gives_up_versions_that_do_not_say_what_their_columns_are(graph: Graph) -> None:
    before = graph.snapshot().graph_version

    graph.apply_schema(CHANGED, allow_data_loss=True)

    with pytest.raises(HistoricalVersionReclaimed):
        graph.snapshot(version=before).table("Sailor").to_arrow()
    assert graph.snapshot(version=before).table("Ship").count_rows() == 2
    assert graph.snapshot().table("Mariner").count_rows() == 3
    assert not list(Path(graph.uri, "__recovery").glob("*.json"))
