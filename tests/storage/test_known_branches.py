"""A branch that nobody touched is known by its file; one that was deleted, made again or written to is never missed."""

from pathlib import Path

import pytest

import omnigraph
from omnigraph.errors import BranchNotFound
from omnigraph.graph import Graph
from omnigraph.manifest import state

SCHEMA = "node Person { name: String @key }"


@pytest.fixture
def graphs(tmp_path: Path) -> tuple[Graph, Graph]:
    """The same graph, opened by two who know nothing of each other."""
    uri = str(tmp_path / "g.omni")
    omnigraph.init(uri, SCHEMA)
    return omnigraph.open(uri), omnigraph.open(uri)


def insert(graph: Graph, name: str, branch: str) -> None:
    with graph.write(branch=branch) as batch:
        batch.insert("Person", [{"name": name}])


def people(graph: Graph, branch: str) -> list[str]:
    return sorted(graph.snapshot(branch).table("Person").to_arrow()["name"].to_pylist())


@pytest.mark.parametrize("branch", ["main", "side", "deep/er"])
def test_a_branch_that_nobody_touched_is_not_looked_for_again(
    graphs: tuple[Graph, Graph], branch: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader, _ = graphs
    if branch != "main":
        reader.branches.create(branch)
    known = reader._context.manifest.load(branch)
    monkeypatch.setattr(state, "list_refs", lambda *_: pytest.fail("refs were listed"))
    monkeypatch.setattr(state, "refuse_moved", lambda *_: pytest.fail("the place was checked"))

    assert reader._context.manifest.load(branch) is known


@pytest.mark.parametrize("branch", ["main", "side", "deep/er"])
def test_every_commit_of_somebody_else_is_seen(graphs: tuple[Graph, Graph], branch: str) -> None:
    reader, writer = graphs
    if branch != "main":
        writer.branches.create(branch)
    for number in range(6):
        insert(writer, f"p{number}", branch)
        assert people(reader, branch) == [f"p{each}" for each in range(number + 1)]


def test_a_branch_that_somebody_made_again_is_another(graphs: tuple[Graph, Graph]) -> None:
    reader, writer = graphs
    writer.branches.create("side")
    insert(writer, "old", "side")
    assert people(reader, "side") == ["old"]

    writer.branches.delete("side")
    with pytest.raises(BranchNotFound):
        reader.snapshot("side")
    writer.branches.create("side")
    insert(writer, "new", "side")

    assert people(reader, "side") == ["new"]


def test_a_branch_that_somebody_made_again_meanwhile_is_another(graphs: tuple[Graph, Graph]) -> None:
    reader, writer = graphs
    writer.branches.create("side")
    before = reader._context.manifest.load("side")
    writer.branches.delete("side")
    writer.branches.create("side")

    after = reader._context.manifest.load("side")

    assert after.branch.incarnation != before.branch.incarnation
