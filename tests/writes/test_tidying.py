"""Manifest and log stay small however many commits there are, and nobody can tell from what they say."""

from collections.abc import Iterator
from itertools import count

import pytest

import omnigraph
from omnigraph.manifest.log import ACTORS, COMMITS
from omnigraph.manifest.rows import MANIFEST
from omnigraph.storage import folding
from omnigraph.storage.folding import FOLDED_AT_ONCE, fragments_to_fold
from omnigraph.storage.tables import TableAddress
from support import harbor

INTERNAL = (MANIFEST, COMMITS, ACTORS)


@pytest.fixture
def few_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folding, "FOLDED_AT_ONCE", 4)


def test_a_hundred_thousand_commits_leave_few_fragments_and_each_row_is_written_again_a_few_times() -> None:
    numbers, fragments, rewritten, most = count(), dict[int, int](), 0, 0
    commits = 100_000
    for _ in range(commits):
        fragments[next(numbers)] = 1
        chosen = fragments_to_fold(fragments)
        if chosen:
            rows = sum(fragments.pop(number) for number in chosen)
            fragments[next(numbers)] = rows
            rewritten += rows
        most = max(most, len(fragments))

    assert sum(fragments.values()) == commits
    assert most < 3 * FOLDED_AT_ONCE
    assert rewritten <= 5 * commits


def test_small_fragments_are_left_alone_until_there_are_many_and_large_ones_always() -> None:
    assert fragments_to_fold(dict.fromkeys(range(FOLDED_AT_ONCE - 1), 1)) == ()
    assert fragments_to_fold({100: 1_000_000, **dict.fromkeys(range(FOLDED_AT_ONCE), 1)}) == (*range(FOLDED_AT_ONCE),)
    assert fragments_to_fold({}) == ()


@pytest.mark.usefixtures("few_at_once")
def test_many_commits_leave_few_fragments_and_every_state_can_still_be_read(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    reader = omnigraph.open(local_root, read_only=True)
    contents, commits = [harbor.content(graph)], [graph.commits()[0]]
    for hull in _hulls(10):
        commits.append(_add(graph, hull))
        contents.append(harbor.content(graph))
        assert harbor.content(reader) == contents[-1]

    assert max(_fragments(graph, address) for address in INTERNAL) < 8
    other = omnigraph.open(local_root)
    assert other.commits()[: len(commits)] == commits[::-1]
    assert {commit.actor_id for commit in other.commits()[: len(commits) - 1]} == {"act-test"}
    for commit, content in zip(commits, contents, strict=True):
        assert harbor.content(other, commit=commit.graph_commit_id) == content
    assert other.optimize().failure is None
    assert harbor.content(other) == contents[-1]
    assert other.verify().problems == ()


@pytest.mark.usefixtures("few_at_once")
def test_two_handles_on_two_branches_fold_what_they_share(local_root: str) -> None:
    graph, other = harbor.new_graph(local_root), omnigraph.open(local_root)
    graph.branches.create("review")
    for hull in _hulls(6):
        _add(graph, hull)
        _add(other, f"{hull}-r", branch="review")
        _add(other, f"{hull}-m")

    assert graph.commits() == omnigraph.open(local_root).commits()
    assert len({commit.graph_commit_id for commit in graph.commits()}) == graph.snapshot().graph_version
    assert _fragments(graph, COMMITS) < 11
    graph.branches.merge("review")
    assert harbor.content(graph) == harbor.content(omnigraph.open(local_root))


def _add(graph: omnigraph.Graph, hull: str, *, branch: str = "main") -> object:
    with graph.write(branch=branch, actor="act-test") as batch:
        batch.insert("Ship", [{"hull": hull, "title": "one more"}])
    return batch.result.commit


def _hulls(number: int) -> Iterator[str]:
    return (f"H{turn}" for turn in range(number))


def _fragments(graph: omnigraph.Graph, address: TableAddress) -> int:
    table = graph._context.store.tables.head(address)
    assert table is not None
    return len(table.rows_by_fragment())
