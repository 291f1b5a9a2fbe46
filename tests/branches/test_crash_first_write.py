"""The first write of a branch stages files where no ref is yet: what happens to them when others come and go there."""

import pytest

from omnigraph.errors import DriftNeedsRepair
from omnigraph.graph import Graph
from omnigraph.maintenance.repair.drift import Classification
from support import harbor
from support.raw_tables import refs_of_tables
from support.writer_child import BRANCH_KINDS
from support.writers import paused_child, resume, run_child, sweep_until_free


@pytest.fixture
def graph(store_root: str) -> Graph:
    graph = harbor.new_graph(store_root)
    graph.branches.create("review")
    return graph


@pytest.mark.parametrize("died_at", ["fork.after_create", "fork.after_commit:kill:1"])
def test_a_write_whose_staged_files_went_with_a_dead_one_prepares_them_again(graph: Graph, died_at: str) -> None:
    with paused_child(graph.uri, "branch_load", "write.after_stage") as waiting:
        run_child(graph.uri, "branch_mutation", died_at if ":" in died_at else f"{died_at}:kill")
        sweep_until_free(harbor.open_with_short_leases(graph.uri))
        assert refs_of_tables(graph) == set()
        said = resume(waiting)

    assert said["ok"] is True, said
    reader = harbor.open_with_short_leases(graph.uri)
    assert "Di" in harbor.content(reader, branch="review")
    assert reader.snapshot("review").commit_id == said["commit"]


def test_a_strict_write_whose_staged_files_went_is_refused_and_can_be_repeated(graph: Graph) -> None:
    before = harbor.content(graph, branch="review")
    with paused_child(graph.uri, "branch_mutation", "write.after_stage") as waiting:
        run_child(graph.uri, "branch_load", "fork.after_create:kill")
        sweep_until_free(harbor.open_with_short_leases(graph.uri))
        said = resume(waiting)

    assert (said["ok"], said["error"]) == (False, "read_set_conflict")
    assert harbor.content(harbor.open_with_short_leases(graph.uri), branch="review") == before
    assert BRANCH_KINDS["branch_mutation"](harbor.open_with_short_leases(graph.uri)) is not None


def test_two_first_writes_at_once_both_land(graph: Graph) -> None:
    with paused_child(graph.uri, "branch_load", "write.after_stage") as waiting:
        first = BRANCH_KINDS["branch_mutation"](graph)
        said = resume(waiting)

    assert said["ok"] is True, said
    later = harbor.open_with_short_leases(graph.uri)
    assert [commit.graph_commit_id for commit in later.commits("review")][:2] == [said["commit"], first.graph_commit_id]


@pytest.mark.parametrize(
    ("died_at", "way_out", "action", "keeps_content"),
    [
        ("fork.after_create", {}, "healed", True),
        ("fork.after_create", {"discard": True}, "discarded", True),
        ("fork.after_commit", {"force": True}, "forced", False),
        ("fork.after_commit", {"discard": True}, "discarded", True),
    ],
)
def test_a_ref_that_was_abandoned_is_drift_until_repair_settles_it(
    graph: Graph, died_at: str, way_out: dict[str, bool], action: str, keeps_content: bool
) -> None:
    before = harbor.content(graph, branch="review")
    run_child(graph.uri, "branch_load", f"{died_at}:kill")
    (operation,) = harbor.pending(graph)
    graph.abandon(operation)

    with pytest.raises(DriftNeedsRepair, match="omnigraph repair"):
        BRANCH_KINDS["branch_load"](graph)
    assert harbor.content(graph, branch="review") == before

    (preview,) = [row for row in graph.repair().rows if row.classification is not Classification.NO_DRIFT]
    assert (preview.branch, preview.action) == ("review", "preview")
    repaired = graph.repair(confirm=True, **way_out)

    assert [row.action for row in repaired.rows if row.branch == "review" and row.action != "noop"] == [action]
    assert (harbor.content(graph, branch="review") == before) is keeps_content
    assert all(row.classification is Classification.NO_DRIFT for row in graph.repair().rows)
    assert BRANCH_KINDS["branch_load"](graph) is not None
