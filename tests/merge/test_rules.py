"""The graph that a merge would make is checked as a whole: each side is valid alone, both together may not be."""

import pytest

import omnigraph
from omnigraph.errors import MergeConflicts
from omnigraph.graph import Graph
from support import harbor
from support.raw_tables import publish_unchecked_row

CREWED = """
node Ship { hull: String @key }
node Sailor { name: String @key }
edge Carries: Ship -> Sailor @card(1..2)
"""


@pytest.fixture
def graph(local_root: str) -> Graph:
    graph = harbor.new_graph(local_root)
    graph.branches.create("review")
    return graph


def conflicts(graph: Graph, source: str = "review", into: str = "main") -> list[tuple[str, str, str]]:
    before = harbor.content(graph, branch=into)
    with pytest.raises(MergeConflicts) as refused:
        graph.branches.merge(source, into=into)
    assert harbor.content(graph, branch=into) == before
    assert harbor.pending(graph) == []
    found = refused.value.details["merge_conflicts"]
    return [(conflict["kind"], conflict["table_key"], conflict["row_id"]) for conflict in found]


@pytest.mark.parametrize("into", ["main", "review"])
def test_a_value_that_both_sides_gave_to_somebody_is_a_conflict(graph: Graph, into: str) -> None:
    holders = {"review": "Bo", "main": "Cy"}
    for branch, name in holders.items():
        with graph.write(branch=branch) as batch:
            batch.update("Sailor", {"badge": "b9"}, ids=[name])
    source = "review" if into == "main" else "main"

    assert conflicts(graph, source, into) == [("unique_violation", "node:Sailor", holders[source])]


def test_a_value_that_the_source_frees_and_gives_away_is_no_conflict(graph: Graph) -> None:
    with graph.write(branch="review") as batch:
        batch.delete("Sailor", ids=["Ana"])
        batch.update("Sailor", {"badge": "b1"}, ids=["Bo"])
    with graph.write() as batch:
        batch.update("Sailor", {"age": 3}, ids=["Cy"])

    assert graph.branches.merge("review").outcome == "merged"
    assert graph.snapshot().table("Sailor").to_arrow(["name", "badge"], where=[("badge", "!=", None)]).to_pylist() == [
        {"name": "Bo", "badge": "b1"}
    ]


@pytest.mark.parametrize("into", ["main", "review"])
@pytest.mark.parametrize("adder", ["main", "review"])
def test_an_edge_added_on_one_side_to_a_node_deleted_on_the_other_is_a_conflict(
    graph: Graph, adder: str, into: str
) -> None:
    deleter = "main" if adder == "review" else "review"
    with graph.write(branch=adder) as batch:
        batch.insert("ServesOn", [{"id": "new", "from": "Bo", "to": "S2"}])
    with graph.write(branch=deleter) as batch:
        batch.delete("Ship", ids=["S2"])

    found = conflicts(graph, "review" if into == "main" else "main", into)

    assert found == [("orphan_edge", "edge:ServesOn", "new")]


@pytest.mark.parametrize("into", ["main", "review"])
def test_an_edge_changed_on_one_side_and_lost_with_its_node_on_the_other_is_a_conflict(graph: Graph, into: str) -> None:
    with graph.write(branch="review") as batch:
        batch.update("ServesOn", {"berth": 2}, ids=["s1"])
    with graph.write() as batch:
        batch.delete("Ship", ids=["S1"])

    found = conflicts(graph, "review" if into == "main" else "main", into)

    assert found == [("delete_vs_update", "edge:ServesOn", "s1"), ("orphan_edge", "edge:ServesOn", "s1")]


def test_edges_added_on_both_sides_may_be_too_many_together(graph: Graph) -> None:
    for branch, ship in (("review", "S1"), ("main", "S2")):
        with graph.write(branch=branch) as batch:
            batch.insert("ServesOn", [{"from": "Bo", "to": ship}])

    assert conflicts(graph) == [("cardinality_violation", "edge:ServesOn", "Bo")]


def test_the_same_edge_added_on_both_sides_counts_once(graph: Graph) -> None:
    for branch in ("review", "main"):
        with graph.write(branch=branch) as batch:
            batch.insert("ServesOn", [{"from": "Bo", "to": "S1", "berth": 4}])

    assert graph.branches.merge("review").outcome == "merged"
    assert graph.snapshot().table("ServesOn").count_rows() == 2


def test_equal_edges_are_matched_one_to_one(graph: Graph) -> None:
    for branch, count in (("review", 3), ("main", 1)):
        with graph.write(branch=branch) as batch:
            batch.insert("Mentors", [{"from": "Ana", "to": "Cy", "since": "2020-01-01"}] * count)

    graph.branches.merge("review")

    assert graph.snapshot().table("Mentors").count_rows() == 2 + 3


def test_edges_removed_on_both_sides_may_leave_too_few_together(local_root: str) -> None:
    graph = omnigraph.init(local_root, CREWED)
    records = [{"type": "Ship", "data": {"hull": "S"}}]
    records += [{"type": "Sailor", "data": {"name": name}} for name in ("Ana", "Bo")]
    records += [harbor.edge("Carries", "S", name, id=name) for name in ("Ana", "Bo")]
    graph.load(harbor.lines(records), mode="append")
    graph.branches.create("review")
    for branch, edge in (("review", "Ana"), ("main", "Bo")):
        with graph.write(branch=branch) as batch:
            batch.delete("Carries", ids=[edge])

    assert conflicts(graph) == [("cardinality_violation", "edge:Carries", "S")]


def test_a_node_in_conflict_counts_as_staying_so_that_only_the_conflict_is_reported(graph: Graph) -> None:
    with graph.write(branch="review") as batch:
        batch.update("Ship", {"tons": 5.0}, ids=["S2"])
        batch.insert("ServesOn", [{"from": "Bo", "to": "S2"}])
    with graph.write() as batch:
        batch.delete("Ship", ids=["S2"])

    assert conflicts(graph) == [("delete_vs_update", "node:Ship", "S2")]
    assert conflicts(graph, "main", "review") == [("delete_vs_update", "node:Ship", "S2")]


def test_the_message_names_three_conflicts_and_how_many_more(graph: Graph) -> None:
    for branch, age in (("review", 1), ("main", 2)):
        with graph.write(branch=branch) as batch:
            batch.update("Sailor", {"age": age}, ids=["Ana", "Bo", "Cy"])
    with graph.write(branch="review") as batch:
        batch.insert("ServesOn", [{"from": "Bo", "to": "S2"}])
    with graph.write() as batch:
        batch.delete("Ship", ids=["S2"])

    with pytest.raises(MergeConflicts) as refused:
        graph.branches.merge("review")

    assert refused.value.document()["merge_conflicts_total"] == len(refused.value.document()["merge_conflicts"]) == 4
    assert str(refused.value).endswith("; and 1 more")


def test_all_conflicts_are_counted_and_the_first_thousand_are_kept(graph: Graph) -> None:
    for branch, age in (("review", 1), ("main", 2)):
        crew = [harbor.sailor(f"new{number:04d}", age=age) for number in range(1_100)]
        graph.load(harbor.lines(crew), mode="append", branch=branch)

    with pytest.raises(MergeConflicts) as refused:
        graph.branches.merge("review", show_values=True)

    assert refused.value.details["merge_conflicts_total"] == 1_100
    kept = refused.value.details["merge_conflicts"]
    assert [found["row_id"] for found in kept] == [f"new{number:04d}" for number in range(1_000)]
    assert (kept[0]["base"], kept[0]["source"]["data"]["age"], kept[0]["target"]["data"]["age"]) == (None, 1, 2)


def test_a_row_that_nobody_checked_does_not_pass_a_merge(graph: Graph) -> None:
    publish_unchecked_row(graph, "review")

    assert conflicts(graph) == [("value_constraint_violation", "node:Sailor", "Raw")]
