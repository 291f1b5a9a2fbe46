"""Merges of branches that were optimized, indexed, cleaned up after and given other schemas in between."""

import pytest

from omnigraph.errors import HistoricalVersionReclaimed, SchemaDiverged
from omnigraph.graph import Graph
from omnigraph.maintenance.cleanup.policy import CleanupPolicy
from support import harbor


@pytest.fixture
def graph(local_root: str) -> Graph:
    graph = harbor.new_graph(local_root)
    graph.branches.create("review")
    return graph


def set_age(graph: Graph, branch: str, name: str, age: int) -> None:
    with graph.write(branch=branch) as batch:
        batch.update("Sailor", {"age": age}, ids=[name])


def ages(graph: Graph, branch: str = "main") -> dict[str, int | None]:
    rows = graph.snapshot(branch).table("Sailor").to_arrow(["name", "age"]).to_pylist()
    return {row["name"]: row["age"] for row in rows}


def test_branches_that_were_optimized_and_cleaned_up_merge_as_if_nothing_had_happened(graph: Graph) -> None:
    for age in (1, 2, 3):
        set_age(graph, "review", "Ana", age)
        set_age(graph, "main", "Bo", age)
    for branch in ("review", "main"):
        assert graph.optimize(branch=branch).failure is None
    set_age(graph, "review", "Cy", 4)
    graph.cleanup(CleanupPolicy(keep_versions=1), confirm=True)

    result = graph.branches.merge("review")

    assert result.outcome == "merged"
    assert {table.table_key: (table.inserted, table.updated) for table in result.tables} == {"node:Sailor": (0, 2)}
    assert ages(graph) == {"Ana": 3, "Bo": 3, "Cy": 4}
    assert graph.branches.merge("main", into="review").outcome == "fast_forward"
    assert ages(graph, "review") == ages(graph)


def test_a_source_that_was_only_optimized_brings_nothing(graph: Graph) -> None:
    set_age(graph, "review", "Ana", 1)
    graph.branches.merge("review")
    set_age(graph, "review", "Ana", 2)
    set_age(graph, "review", "Ana", 1)
    graph.optimize(branch="review")

    result = graph.branches.merge("review")

    assert (result.outcome, result.tables) == ("merged", ())


def test_a_branch_from_before_a_schema_change_is_refused(graph: Graph) -> None:
    graph.branches.delete("review")
    graph.apply_schema(harbor.SCHEMA.replace("age: I32?", "age: I32?\n    nick: String?"))
    graph.branches.create("past", source="main@2")
    set_age(graph, "past", "Ana", 1)

    with pytest.raises(SchemaDiverged, match="different schemas"):
        graph.branches.merge("past")
    with pytest.raises(SchemaDiverged):
        graph.branches.merge("main", into="past")

    assert ages(graph)["Ana"] == 50


def test_cleanup_spares_the_state_that_stands_in_for_a_base_whose_branch_is_gone(graph: Graph) -> None:
    set_age(graph, "review", "Cy", 1)
    graph.branches.create("hotfix")
    set_age(graph, "hotfix", "Ana", 51)
    assert graph.branches.merge("hotfix").outcome == "fast_forward"
    assert graph.branches.merge("hotfix", into="review", delete_branch=True).outcome == "merged"
    for age in (1, 2, 3):
        set_age(graph, "main", "Bo", age)
    graph.cleanup(CleanupPolicy(keep_versions=1), confirm=True)

    assert graph.branches.merge("review").outcome == "merged"
    assert ages(graph) == {"Ana": 51, "Bo": 3, "Cy": 1}


@pytest.mark.parametrize("target", ["main", "trial"])
def test_cleanup_keeps_the_tables_of_a_lost_base_for_merges_into_main_and_no_others(graph: Graph, target: str) -> None:
    graph.branches.create("trial")
    graph.branches.create("third")
    set_age(graph, "third", "Cy", 1)
    for name, age in (("review", 2), (target, 3)):
        set_age(graph, name, "Ana" if name == "review" else "Bo", age)
        assert graph.branches.merge("third", into=name).outcome == "merged"
    graph.branches.delete("third")
    graph.cleanup(CleanupPolicy(keep_versions=1), confirm=True)

    if target == "trial":
        with pytest.raises(HistoricalVersionReclaimed):
            graph.branches.merge("review", into=target)
        assert ages(graph, target) == {"Ana": 50, "Bo": 3, "Cy": 1}
        return
    assert graph.branches.merge("review", into=target).outcome == "merged"
    assert ages(graph, target) == {"Ana": 2, "Bo": 3, "Cy": 1}
    reclaimed = graph.cleanup(CleanupPolicy(keep_versions=1), confirm=True).rows
    assert [row.table_key for row in reclaimed if row.branches_reclaimed] == ["node:Sailor"]
