"""What a page costs does not depend on how long the history is, and however a page is read, it says the same."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import omnigraph
from omnigraph.base import clock, ids
from omnigraph.changes import additions, found
from omnigraph.changes.entities import EntityChange
from omnigraph.changes.kept import KeptDiffs
from omnigraph.changes.paging import PageLimits
from omnigraph.graph import Graph
from omnigraph.manifest.commits import Commit, CommitId, CommitKind
from omnigraph.manifest.line import BranchLine, snapshots_along
from omnigraph.manifest.publish import ManifestChanges, Preconditions
from omnigraph.storage.table_store import TableStore
from omnigraph.storage.tables import Table
from support import harbor

PAGE = PageLimits(changes=10)
SHORT, LONG = 24, 72
"""Two lengths of history, of which a page is a small part."""


def put(graph: Graph, *names: str, branch: str = "main", **values: Any) -> str:
    with graph.write(branch=branch) as batch:
        batch.upsert("Sailor", [{"name": name, "rank": "mate", **values} for name in names])
    assert batch.result.commit is not None
    return str(batch.result.commit.graph_commit_id)


class Accesses:
    """How often storage was asked: states opened, scans begun, control objects and manifests read or written."""

    def __init__(self) -> None:
        self.count = 0

    def counting(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **options: Any) -> Any:
            self.count += 1
            return function(*arguments, **options)

        return counted


@contextmanager
def counted(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> Iterator[Accesses]:
    accesses = Accesses()
    objects = type(graph._context.store.objects)
    doors = [(TableStore, "_dataset"), (Table, "_reader")]
    doors += [(objects, name) for name in ("read", "read_range", "read_end", "create", "put", "delete", "list")]
    with monkeypatch.context() as patch:
        for owner, name in doors:
            patch.setattr(owner, name, accesses.counting(getattr(owner, name)))
        yield accesses


def grown(uri: str, commits: int) -> Graph:
    graph = harbor.new_graph(uri)
    for number in range(commits):
        put(graph, f"s{number:04d}")
    return omnigraph.open(uri)


def accesses_of_polling(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Do what consumers do and return how often each of it asked storage."""
    taken: dict[str, int] = {}

    def measure(what: str, work: Callable[[], Any]) -> Any:
        with counted(graph, monkeypatch) as accesses:
            answer = work()
        taken[what] = accesses.count
        return answer

    graph.changes.poll()
    page = measure("the first page", lambda: graph.changes.poll(start="beginning", limits=PAGE))
    graph.changes.poll(cursor=page.cursor, limits=PAGE)
    again = measure("a page that was read before", lambda: graph.changes.poll(cursor=page.cursor, limits=PAGE))
    end = graph.changes.poll().cursor
    measure("nothing new", lambda: graph.changes.poll(cursor=end))
    put(graph, "new")
    newest = measure("one new commit", lambda: graph.changes.poll(cursor=end))
    measure("a commit", lambda: graph.commit(again.blocks[0].cause.graph_commit_id))
    measure("the newest commits", lambda: graph.commits(limit=3))
    cause = newest.blocks[0].cause.graph_commit_id
    measure("what a commit changed", lambda: graph.changes.of_commit(cause).page())
    assert [len(block.changes) for block in newest.blocks] == [1]
    return taken


def test_a_page_asks_storage_as_often_after_a_long_history_as_after_a_short_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    short, long = (
        accesses_of_polling(grown(str(tmp_path / f"{commits}.omni"), commits), monkeypatch) for commits in (SHORT, LONG)
    )

    assert long == short
    # A page asks each of its versions what made it. A lease is put and taken back, and a cleanup looked for.
    assert long["a page that was read before"] <= PAGE.changes + 4
    assert long["one new commit"] <= 7
    assert (long["nothing new"], long["a commit"], long["the newest commits"]) == (0, 0, 0)


def story(graph: Graph) -> None:
    """Change sailors in every way, alone and together with others, on one version of a table and on several."""
    put(graph, "Di")
    put(graph, "Eli", "Flo")
    put(graph, "Di", age=3)
    with graph.write() as batch:
        batch.insert("Sailor", [{"name": "Gus", "rank": "mate"}])
        batch.insert("Ship", [{"hull": "S9", "title": "New"}])
    with graph.write() as batch:
        batch.upsert("Sailor", [{"name": "Eli", "rank": "mate", "age": 9}, {"name": "Hal", "rank": "mate"}])
        batch.delete("Sailor", ids=["Flo"])
    put(graph, "Ida")
    graph.optimize()
    put(graph, "Jo")
    with graph.write() as batch:
        batch.delete("Sailor", ids=["Jo"])
    put(graph, "Jo", age=1)
    put(graph, "Kim")


def told(changes: Iterator[EntityChange] | tuple[EntityChange, ...]) -> list[tuple[Any, ...]]:
    return [(change.type.name, change.id, change.op.value, change.before, change.after) for change in changes]


def followed(graph: Graph, limit: int) -> dict[str, list[tuple[Any, ...]]]:
    """Follow the branch from its beginning; what each commit changed, put together over pages."""
    found: dict[str, list[tuple[Any, ...]]] = {}
    page = graph.changes.poll(start="beginning", limits=PageLimits(changes=limit))
    while True:
        for block in page.blocks:
            found.setdefault(block.cause.graph_commit_id, []).extend(told(block.changes))
        if page.caught_up:
            return found
        on = {"page_token": page.next_page_token} if page.next_page_token else {"cursor": page.cursor}
        page = graph.changes.poll(limits=PageLimits(changes=limit), **on)


@pytest.mark.parametrize("limit", [1, 3, 1_000])
def test_every_way_to_find_changes_tells_the_same(limit: int, local_root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = harbor.new_graph(local_root)
    story(graph)
    together = followed(graph, limit)
    alone = {commit_id: told(graph.changes.of_commit(commit_id)) for commit_id in together}
    monkeypatch.setattr(additions, "_BYTES_MAX", -1)
    monkeypatch.setattr(found, "_FEW_BYTES", -1)
    compared = {commit_id: told(graph.changes.of_commit(commit_id)) for commit_id in together}

    assert together == alone == compared == followed(graph, limit)
    assert len(together) == graph.commits()[0].graph_version - 1


def test_rows_of_many_commits_are_read_in_one_scan(local_root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = grown(local_root, SHORT)
    scans: list[str] = []
    reader = Table._reader

    def count(table: Table, options: Any) -> Any:
        scans.append(table.address.location)
        return reader(table, options)

    graph.changes.poll(start="beginning", limits=PAGE)
    monkeypatch.setattr(Table, "_reader", count)
    page = graph.changes.poll(start=f"after:{graph.commits()[10].graph_commit_id}", limits=PAGE)

    assert [len(block.changes) for block in page.blocks] == [1] * 10
    assert len(scans) == 1


def publish_nothing(graph: Graph) -> Commit:
    """Publish a commit without rows of its own."""
    snapshot = graph._context.manifest.load("main").snapshot
    draft = Commit(
        graph_commit_id=CommitId(ids.new_ulid()),
        parent_commit_id=None,
        graph_branch="main",
        graph_version=0,
        kind=CommitKind.MUTATION,
        actor_id=None,
        created_at_us=clock.now_us(),
    )
    expected = Preconditions(incarnation="main", exact_head=snapshot.commit_id, ir_hash=None)
    return graph._context.publisher.publish("main", ManifestChanges(), draft, expected)


def test_a_line_is_found_from_any_place_also_through_commits_that_left_no_row(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    graph.branches.create("review")
    put(graph, "Di")
    put(graph, "elsewhere", branch="review")
    empty = [publish_nothing(graph), publish_nothing(graph)]
    put(graph, "Eli")
    fresh = omnigraph.open(local_root)
    context = fresh._context
    state = context.manifest.load("main")
    expected = graph.commits()[::-1]

    for first in range(1, len(expected) + 1):
        for last in range(first, len(expected) + 2):
            assert BranchLine(context.log, state).stretch(first, last) == expected[first - 1 : last]
    assert BranchLine(omnigraph.open(local_root)._context.log, state).at(4) == empty[0]
    assert BranchLine(context.log, state).first() == expected[0]
    assert [*snapshots_along(state, expected[1:])] == [
        state.snapshot_at(commit.graph_version, commit.graph_commit_id) for commit in expected[1:]
    ]
    page = fresh.changes.poll(start=f"after:{expected[2].graph_commit_id}")
    assert [len(block.changes) for block in page.blocks] == [0, 0, 1]


def test_a_large_commit_is_compared_once_for_all_of_its_pages(local_root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = harbor.new_graph(local_root)
    put(graph, *(f"s{number:04d}" for number in range(600)))
    put(graph, *(f"s{number:04d}" for number in range(600)), age=7)
    compared: list[object] = []
    find = found.changed_entities
    monkeypatch.setattr(found, "changed_entities", lambda *states: compared.append(states) or find(*states))

    pages = [graph.changes.poll(start=f"after:{graph.commits()[1].graph_commit_id}", limits=PageLimits(changes=250))]
    while pages[-1].next_page_token is not None:
        pages.append(graph.changes.poll(page_token=pages[-1].next_page_token, limits=PageLimits(changes=250)))

    assert [sum(len(block.changes) for block in page.blocks) for page in pages] == [250, 250, 100]
    assert len(compared) == 1
    assert graph.changes._kept._diffs == {}


def test_what_is_kept_of_large_commits_is_bounded(local_root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = harbor.new_graph(local_root)
    for age in range(4):
        put(graph, *(f"s{number:04d}" for number in range(300)), age=age)
    monkeypatch.setattr("omnigraph.changes.kept._DIFFS_MAX", 2)
    commits = graph.commits()[:3]

    for commit in commits:
        graph.changes.of_commit(commit.graph_commit_id).page(limits=PAGE)
    kept = graph.changes._kept
    newest = [diff.after.commit_id for diff, _ in kept._diffs.values()]
    monkeypatch.setattr("omnigraph.changes.kept._BYTES_MAX", 10)
    small = KeptDiffs()
    for diff, _ in kept._diffs.values():
        small.settle(diff, is_done=False)

    assert newest == [commit.graph_commit_id for commit in commits[1:]]
    assert small._diffs == {}
