"""A process that runs for long holds what it uses, however many branches and commits have come and gone."""

import gc
import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import lance
import pytest

import omnigraph
from omnigraph.errors import InvalidTarget
from omnigraph.graph import Graph
from omnigraph.manifest import known_branches
from omnigraph.query.image.states import State
from omnigraph.server import memory
from omnigraph.storage import known_heads, open_states, sessions
from omnigraph.storage.known_heads import KnownHeads
from omnigraph.storage.open_states import OpenStates

SCHEMA = "node Person { name: String @key }"
NAMES = "query q() { match { $p: Person } return { $p.name } }"


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return omnigraph.init(str(tmp_path / "g.omni"), SCHEMA)


def insert(graph: Graph, name: str, branch: str = "main") -> None:
    with graph.write(branch=branch) as batch:
        batch.insert("Person", [{"name": name}])


def states_in_memory() -> int:
    gc.collect()
    return sum(isinstance(held, State) for held in gc.get_objects())


def test_a_branch_that_was_deleted_is_forgotten(graph: Graph) -> None:
    known = graph._context.manifest._branches
    tables = graph._context.store.tables
    for number in range(3):
        name = f"side-{number}"
        graph.branches.create(name)
        insert(graph, "Ines", name)
        assert graph.query(NAMES, branch=name).rows() == [{"p.name": "Ines"}]
        assert known.find(name) is not None
        graph.branches.delete(name)
        assert known.find(name) is None
    graph.query(NAMES)

    assert len(known) == 1
    assert [*graph._heads._by_branch] == ["main"]
    assert not [place for place in tables._handles._places if place.ref is not None]
    assert not [place for place in tables._heads._by_directory if "/tree/" in place]


def test_of_branches_that_others_delete_some_are_known(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_branches, "_BRANCHES_MAX", 4)
    monkeypatch.setattr(known_branches, "_BRANCHES_MIN", 2)
    other = omnigraph.open(graph.uri)
    manifest = graph._context.manifest
    names = [f"side-{number}" for number in range(6)]
    for name in names:
        other.branches.create(name)
        graph.query(NAMES, branch=name)
        assert len(manifest._branches) <= 4
        assert len(graph._heads._by_branch) <= 4
    main = manifest.load("main")

    assert manifest.load("main") is main
    assert manifest._branches.names() == {"main", "side-3", "side-4", "side-5"}
    for name in names:
        other.branches.delete(name)
    assert manifest.branch_names() == []  # whoever looks which branches there are learns which are gone
    assert manifest._branches.names() == {"main"}


def test_large_branches_are_bounded_by_their_bytes(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_branches, "_BYTES_MAX", 1)
    monkeypatch.setattr(known_branches, "_BRANCHES_MIN", 2)
    manifest = graph._context.manifest
    main = manifest.load("main")
    for name in ("a", "b", "c"):
        graph.branches.create(name)
        manifest.load(name)

    assert len(manifest._branches) == 2
    assert manifest.load("main") is main
    assert manifest._branches.nbytes > main.rows.nbytes


def test_of_a_table_of_many_fragments_few_states_stay_in_memory(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_states, "_FRAGMENTS_PER_PLACE_MAX", 4)
    handles = graph._context.store.tables._handles
    before = states_in_memory()
    for number in range(6):
        insert(graph, f"p{number}")
        assert len(graph.query(NAMES)) == number + 1

    held = {place.location: len(states) for place, states in handles._places.items()}
    assert max(count for location, count in held.items() if location.startswith("nodes/")) == 2
    assert len(handles) == sum(held.values())
    assert handles.fragment_count == sum(
        len(state.dataset.get_fragments()) for states in handles._places.values() for state in states.values()
    )
    # Two of the table that was written to, and what they are based on; the rest is of other states that queries hold.
    assert states_in_memory() - before <= 6


def test_all_tables_share_one_session_also_those_that_were_just_made(graph: Graph) -> None:
    graph.branches.create("side")
    for branch in ("main", "side"):
        with graph.write(
            branch=branch, actor="act-ines"
        ) as batch:  # the log of actors is made by the first who says so
            batch.insert("Person", [{"name": branch}])
    tables = graph._context.store.tables

    held = [state for states in tables._handles._places.values() for state in states.values()]
    assert {state.address.location.partition("/")[0] for state in held} >= {
        "__manifest",
        "_graph_commits",
        "_graph_commit_actors",
        "nodes",
    }
    assert all(state.dataset.session().is_same_as(tables.session) for state in held)


def test_states_of_all_tables_are_bounded_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_states, "_FRAGMENTS_MAX", 100)
    states: OpenStates[str, SimpleNamespace] = OpenStates()
    for version in range(30):
        states.keep(f"table-{version % 5}", version, SimpleNamespace(fragment_count=40))
        assert states.fragment_count <= 100
    states.keep("huge", 1, SimpleNamespace(fragment_count=5_000))

    assert states.find("huge", 1) is not None
    assert len(states) == 2
    states.forget(lambda place: place == "huge")
    assert states.fragment_count == 40


def test_a_state_that_is_kept_twice_counts_once() -> None:
    states: OpenStates[str, SimpleNamespace] = OpenStates()
    for count in (3, 5):
        states.keep("table", 1, SimpleNamespace(fragment_count=count))

    assert (len(states), states.fragment_count) == (1, 5)


def test_newest_versions_of_deleted_branches_do_not_add_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_heads, "_DIRECTORIES_MAX", 3)
    monkeypatch.setattr(known_heads, "_manifest", lambda versions, _: versions)
    heads = KnownHeads()
    for number in range(10):
        directory = tmp_path / str(number)
        directory.mkdir()
        heads.remember(str(directory), 1, directory=known_heads.identity(str(directory)))
        assert len(heads._by_directory) <= 3
        assert str(directory) in heads._by_directory


def test_what_lance_keeps_of_indexes_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, int]] = []
    session = lance.Session
    monkeypatch.setattr(lance, "Session", lambda **options: asked.append(options) or session(**options))
    monkeypatch.setenv(sessions.INDEX_CACHE_BYTES_VARIABLE, "12345678")
    sessions.new_session()
    monkeypatch.delenv(sessions.INDEX_CACHE_BYTES_VARIABLE)
    sessions.new_session()

    assert [options["index_cache_size_bytes"] for options in asked] == [12345678, sessions.index_cache_bytes(None)]
    assert 0 < sessions.index_cache_bytes(" ") <= 1 << 30
    with pytest.raises(InvalidTarget, match="is a number of bytes, not '1G'"):
        sessions.index_cache_bytes("1G")


@pytest.fixture
def collecting() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*before)


@pytest.mark.usefixtures("collecting")
def test_a_server_looks_for_garbage_often() -> None:
    gc.set_threshold(50_000)

    memory.settle()

    assert gc.get_threshold()[0] < 1_000


def test_arrow_of_a_server_takes_memory_where_the_rest_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARROW_DEFAULT_MEMORY_POOL", "jemalloc")
    memory.choose_allocator()
    assert os.environ["ARROW_DEFAULT_MEMORY_POOL"] == "jemalloc"

    monkeypatch.delenv("ARROW_DEFAULT_MEMORY_POOL")
    memory.choose_allocator()
    assert os.environ["ARROW_DEFAULT_MEMORY_POOL"] == "system"
