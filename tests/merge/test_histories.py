"""Merges along longer histories: bases, criss-cross, deleted branches, several merges in a row, stacked branches."""

from dataclasses import replace
from pathlib import Path

import pytest

import omnigraph
from omnigraph.base.events import Warned
from omnigraph.branches.merge.run import _delete_source
from omnigraph.branches.merge.sides import _refuse_other_schemas, observe_sides
from omnigraph.errors import (
    InvalidTarget,
    MergeConflicts,
    NoCommonAncestor,
    SchemaDiverged,
)
from omnigraph.graph import Graph
from omnigraph.graphs.capture import capture_branch
from omnigraph.manifest.commits import CommitId
from support import harbor
from support.failpoints import armed
from support.merge_graphs import ages, criss_cross, set_age


@pytest.fixture
def graph(local_root: str) -> Graph:
    return harbor.new_graph(local_root)


def kinds(refused: pytest.ExceptionInfo[MergeConflicts]) -> list[tuple[str, str]]:
    return [(found["kind"], found["row_id"]) for found in refused.value.details["merge_conflicts"]]


def test_two_branches_that_merged_a_third_one_merge_without_false_conflicts_after_it_is_gone(graph: Graph) -> None:
    for name in ("one", "two", "third"):
        graph.branches.create(name)
    set_age(graph, "third", "Ana", 51)
    for name in ("one", "two"):
        assert graph.branches.merge("third", into=name).outcome == "fast_forward"
    graph.branches.delete("third")
    set_age(graph, "one", "Ana", 52)
    set_age(graph, "two", "Bo", 35)

    result = graph.branches.merge("one", into="two")

    assert result.outcome == "merged"
    assert ages(graph, "two") == {"Ana": 52, "Bo": 35, "Cy": None}


def test_they_do_so_too_when_both_had_moved_before(graph: Graph) -> None:
    for name in ("one", "two", "third"):
        graph.branches.create(name)
        set_age(graph, name, {"one": "Ana", "two": "Bo", "third": "Cy"}[name], 7)
    for name in ("one", "two"):
        assert graph.branches.merge("third", into=name).outcome == "merged"
    graph.branches.delete("third")
    set_age(graph, "one", "Cy", 8)

    result = graph.branches.merge("one", into="two")

    assert result.outcome == "merged"
    assert ages(graph, "two") == {"Ana": 7, "Bo": 7, "Cy": 8}


def test_crosswise_merged_branches_merge_what_their_bases_agree_on(graph: Graph) -> None:
    criss_cross(graph)
    set_age(graph, "one", "Cy", 20)
    with graph.write(branch="two") as batch:
        batch.insert("Sailor", [{"name": "Eve", "rank": "mate", "age": 1}])

    result = graph.branches.merge("one", into="two")

    assert result.outcome == "merged"
    assert ages(graph, "two") == {"Ana": 51, "Bo": 35, "Cy": 20, "Eve": 1}


def test_crosswise_merged_branches_conflict_where_their_bases_disagree(graph: Graph) -> None:
    criss_cross(graph)
    set_age(graph, "one", "Ana", 52)

    with pytest.raises(MergeConflicts) as refused:
        graph.branches.merge("one", into="two")

    assert kinds(refused) == [("divergent_update", "Ana")]
    assert ages(graph, "two")["Ana"] == 51


def test_a_branch_is_merged_again_and_again(graph: Graph) -> None:
    graph.branches.create("review")
    for age in (1, 2, 3):
        set_age(graph, "review", "Ana", age)
        set_age(graph, "main", "Bo", age)

        assert graph.branches.merge("review").outcome == "merged"
        assert ages(graph) == {"Ana": age, "Bo": age, "Cy": None}


def test_merges_back_and_forth_lose_nothing_although_versions_belong_to_refs(graph: Graph) -> None:
    graph.branches.create("long")
    for age in range(8):
        set_age(graph, "long", "Ana", age)
    set_age(graph, "main", "Bo", 35)

    assert graph.branches.merge("main", into="long").outcome == "merged"
    set_age(graph, "long", "Cy", 20)
    assert graph.branches.merge("long").outcome == "fast_forward"

    assert ages(graph) == ages(graph, "long") == {"Ana": 7, "Bo": 35, "Cy": 20}


def test_a_branch_of_a_branch_reads_on_while_merges_move_its_parent(graph: Graph) -> None:
    graph.branches.create("b0")
    set_age(graph, "b0", "Ana", 1)
    graph.branches.create("b1", source="b0")
    graph.branches.merge("b0")
    set_age(graph, "main", "Bo", 2)
    graph.branches.merge("main", into="b0")
    set_age(graph, "b0", "Cy", 3)

    assert ages(graph, "b1") == {"Ana": 1, "Bo": 34, "Cy": None}
    assert graph.branches.merge("b0", into="b1").outcome == "fast_forward"
    assert ages(graph, "b1") == {"Ana": 1, "Bo": 2, "Cy": 3}


def test_a_table_that_a_branch_has_never_written_follows_its_parent_without_a_copy(graph: Graph) -> None:
    graph.branches.create("b0")
    graph.branches.create("b1", source="b0")
    set_age(graph, "b0", "Ana", 1)

    graph.branches.merge("b0", into="b1")

    pins = {
        branch: next(p for p in graph.snapshot(branch).tables if p.type_name == "Sailor") for branch in ("b0", "b1")
    }
    assert pins["b0"] == pins["b1"]
    set_age(graph, "b1", "Ana", 2)
    assert (ages(graph, "b0")["Ana"], ages(graph, "b1")["Ana"]) == (1, 2)


def test_a_target_never_reads_the_tables_of_its_source(graph: Graph) -> None:
    graph.branches.create("review")
    graph.branches.create("trial")
    set_age(graph, "review", "Ana", 51)

    for target in ("main", "trial"):
        assert graph.branches.merge("review", into=target).outcome == "fast_forward"
    graph.branches.delete("review")

    assert ages(graph)["Ana"] == ages(graph, "trial")["Ana"] == 51


def test_a_branch_from_the_past_merges_into_the_present(graph: Graph) -> None:
    set_age(graph, "main", "Bo", 35)
    graph.branches.create("late", source="main@2")
    set_age(graph, "late", "Ana", 51)

    assert graph.branches.merge("late").outcome == "merged"
    assert ages(graph) == {"Ana": 51, "Bo": 35, "Cy": None}


def test_the_source_of_a_merge_is_logged_even_if_its_writer_could_not(graph: Graph) -> None:
    graph.branches.create("review")
    with armed("write.log_fails:error"):
        set_age(graph, "review", "Ana", 51)
    head = graph.snapshot("review").commit_id

    graph.branches.merge("review", delete_branch=True)

    assert graph.commit(head).graph_branch == "review"


def test_deleting_the_source_is_refused_when_it_moved_on_and_the_merge_stands(graph: Graph) -> None:
    graph.branches.create("review")
    set_age(graph, "review", "Ana", 51)
    captured = graph.snapshot("review").commit_id
    set_age(graph, "review", "Ana", 52)
    is_deleted, why_not = _delete_source(graph._context, "review", CommitId(captured), lambda event: None)

    assert is_deleted is False
    assert "newer commits" in why_not
    assert ages(graph, "review")["Ana"] == 52


def test_deleting_a_source_that_others_depend_on_is_a_warning(graph: Graph) -> None:
    graph.branches.create("review")
    graph.branches.create("child", source="review")
    set_age(graph, "review", "Ana", 51)
    warnings: list[object] = []

    result = graph.branches.merge("review", delete_branch=True, events=warnings.append)

    assert (result.branch_deleted, "child" in result.branch_delete_error) == (False, True)
    assert len([event for event in warnings if isinstance(event, Warned)]) == 1
    assert ages(graph)["Ana"] == 51


def test_an_up_to_date_source_is_deleted_too(graph: Graph) -> None:
    graph.branches.create("review")

    result = graph.branches.merge("review", delete_branch=True)

    assert (result.outcome, result.branch_deleted) == ("already_up_to_date", True)


def test_a_branch_is_not_merged_into_itself(graph: Graph) -> None:
    with pytest.raises(InvalidTarget):
        graph.branches.merge("main", into="main", delete_branch=True)


def test_histories_without_a_common_commit_are_refused(graph: Graph, tmp_path: Path) -> None:
    stranger = omnigraph.init(str(tmp_path / "stranger.omni"), harbor.SCHEMA)

    with pytest.raises(NoCommonAncestor):
        observe_sides(capture_branch(graph._context, "main"), stranger._context.manifest.load("main"))


def test_a_different_schema_of_the_source_or_of_a_base_is_refused(graph: Graph) -> None:
    ours = graph._context.manifest.load("main").snapshot
    other = replace(ours, branch="review", schema=replace(ours.schema, ir_hash="another"))

    _refuse_other_schemas(ours, ours, (ours,))
    with pytest.raises(SchemaDiverged, match="branch 'review'"):
        _refuse_other_schemas(ours, other, ())
    with pytest.raises(SchemaDiverged, match="merge base"):
        _refuse_other_schemas(ours, ours, (ours, other))


def test_a_dry_run_writes_nothing_and_says_what_the_run_does(store_root: str) -> None:
    graph = harbor.new_graph(store_root)
    graph.branches.create("review")
    set_age(graph, "review", "Ana", 51)
    with graph.write(branch="review") as batch:
        batch.delete("Ship", ids=["S1"])
    files = harbor.files_of(graph)

    preview = omnigraph.open(store_root, read_only=True).branches.merge("review", dry_run=True)

    assert harbor.files_of(graph) == files
    assert preview.commit is None
    result = graph.branches.merge("review")
    assert (result.outcome, result.tables) == (preview.outcome, preview.tables)
    assert {table.table_key: table.deleted for table in result.tables} == {
        "edge:ServesOn": 1,
        "node:Sailor": 0,
        "node:Ship": 1,
    }
