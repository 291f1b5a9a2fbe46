"""History is read from its newest end: what is far back costs only those who ask for it."""

import io
import json

import pytest

import omnigraph
from omnigraph.manifest import recent
from omnigraph.manifest.ancestry import merge_bases
from omnigraph.manifest.recent import RecentHistory

SCHEMA = "node Person { name: String @key  age: I32? }"


def commit(graph: omnigraph.Graph, name: str, branch: str = "main", actor: str | None = None) -> None:
    line = json.dumps({"type": "Person", "data": {"name": name}}).encode()
    graph.load(io.BytesIO(line), mode="append", branch=branch, actor=actor)


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> omnigraph.Graph:
    """A graph with a short line, merged branches, some actors, and a log that is partly compacted."""
    graph = omnigraph.init(str(tmp_path_factory.mktemp("recent") / "graph.omni"), SCHEMA)
    for turn in range(30):
        commit(graph, f"a{turn}", actor="ada" if turn % 3 == 0 else None)
    graph.branches.create("early")
    commit(graph, "e0", branch="early", actor="eve")
    graph.optimize()
    for turn in range(25):
        commit(graph, f"b{turn}")
    graph.branches.merge("early")
    graph.branches.create("late")
    commit(graph, "l0", branch="late")
    commit(graph, "main0")
    return graph


def read_so_far(history: RecentHistory) -> int:
    return len(history._commits)


@pytest.mark.parametrize("rows_max", [4_096, 3], ids=["fragments", "versions"])
def test_all_of_it_is_the_whole_log(graph: omnigraph.Graph, rows_max: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fragments that optimize made are read by graph version; with a small limit even a small one counts as such."""
    monkeypatch.setattr(recent, "_FRAGMENT_ROWS_MAX", rows_max)
    monkeypatch.setattr(recent, "_FIRST_VERSIONS", 4)
    context = graph._context
    head = context.manifest.load("main").head

    assert dict(context.log.recent(head)) == context.log.history(head)
    assert len(context.log.recent(head)) == len(context.log.history(head))


def test_a_commit_that_nobody_made_is_looked_for_everywhere(graph: omnigraph.Graph) -> None:
    history = graph._context.log.recent(graph._context.manifest.load("main").head)

    assert "01ARZ3NDEKTSV4RRFFQ69G5FAV" not in history
    with pytest.raises(KeyError):
        history["01ARZ3NDEKTSV4RRFFQ69G5FAV"]  # type: ignore[index]


def test_the_newest_commits_are_had_without_the_oldest(graph: omnigraph.Graph) -> None:
    log, head = graph._context.log, graph._context.manifest.load("main").head
    history = log.recent(head)

    assert [found.graph_commit_id for found in graph.commits(limit=3)] == [
        found.graph_commit_id for found in graph.commits()[:3]
    ]
    assert history[head.graph_commit_id] == head
    assert read_so_far(history) == 1, "the head stands in the manifest"
    assert history[head.parent_commit_id].graph_version == head.graph_version - 1  # type: ignore[index]
    assert read_so_far(history) < len(log.history(head)) / 2


def test_branches_that_parted_lately_are_compared_without_what_was_before(graph: omnigraph.Graph) -> None:
    manifest, log = graph._context.manifest, graph._context.log
    ours, theirs = manifest.load("main").head, manifest.load("late").head
    history = log.recent(ours, theirs)

    bases = merge_bases(history, ours.graph_commit_id, theirs.graph_commit_id)

    assert bases == (ours.parent_commit_id,)
    assert read_so_far(history) < len(log.history(ours)) / 2


def test_old_versions_and_commits_are_still_found(graph: omnigraph.Graph) -> None:
    line = graph.commits()

    assert [found.graph_version for found in line] == list(range(len(line), 0, -1))
    assert [found.actor_id for found in line].count("ada") == 10
    assert graph.commit("main@5") == line[-5]
    assert graph.commit(line[-5].graph_commit_id) == line[-5]
    assert graph.snapshot(commit=line[-5].graph_commit_id).graph_version == 5
    assert graph.snapshot("main~10").graph_version == line[10].graph_version
    merged = graph.commits(merged=True)
    assert {found.actor_id for found in merged} == {None, "ada", "eve", "omnigraph:maintenance"}
