"""Images that follow commits: patched, rebuilt and plain reads say the same on every branch."""

import random
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnigraph
from omnigraph.graph import Graph
from omnigraph.graphs.snapshot import Snapshot
from omnigraph.query.access import MISSING, Direction, PropertyTest
from omnigraph.query.image import columns, images, known_states, rows, scanning, states
from omnigraph.query.image.graph_image import GraphImage
from omnigraph.query.image.images import Images
from omnigraph.query.image.shelf import DoesNotFit, Shelf
from support.plain_graph import hold_against

SCHEMA = """
node Person {
    name: String @key  age: I32?  nick: String?  born: Date?  seen: DateTime?  tags: [String]?  vec: Vector(2)?
}
node Port { code: String @key }
edge Knows: Person -> Person { since: Date?  note: String? }
edge Visits: Person -> Port { days: I64? }
"""
PEOPLE = [f"p{number}" for number in range(7)]
PORTS = ["kiel", "ny", "üb"]


def new_images(bytes_max: int = 1 << 28) -> Images:
    return Images(Shelf(bytes_max))


def image_of(snapshot: Snapshot, kept: Images) -> GraphImage:
    return GraphImage(snapshot._context, snapshot._pinned, snapshot.catalog, kept)


def person(name: str, chance: random.Random) -> dict[str, Any]:
    return {
        "name": name,
        "age": chance.choice([None, 1, 2, 3]),
        "nick": chance.choice([None, "", "a", "b", "longer than most"]),
        "born": chance.choice([None, "2020-02-29"]),
        "seen": chance.choice([None, "2021-01-01T00:00:00Z"]),
        "tags": chance.choice([None, [], ["x", "y"]]),
        "vec": chance.choice([None, [0.5, chance.choice([1.0, 2.0])]]),
    }


class Writer:
    """Commits at random, and knows what is there."""

    def __init__(self, graph: Graph, seed: int) -> None:
        self.graph = graph
        self.chance = random.Random(seed)
        self.people: dict[str, set[str]] = {"main": set()}
        self.edges: dict[str, dict[str, tuple[str, str, str]]] = {"main": {}}
        self.minted = 0

    def fork(self, branch: str) -> None:
        self.graph.branches.create(branch)
        self.people[branch] = {*self.people["main"]}
        self.edges[branch] = {**self.edges["main"]}

    def commit(self, branch: str = "main", statements: int = 4) -> None:
        with self.graph.write(branch=branch) as batch:
            batch.upsert("Port", [{"code": self.chance.choice(PORTS)}])
            for _ in range(self.chance.randint(1, statements)):
                self.state(batch, self.people[branch], self.edges[branch])

    def state(self, batch: Any, people: set[str], edges: dict[str, tuple[str, str, str]]) -> None:
        kind = self.chance.choice(["person", "person", "edge", "edge", "edge", "update", "delete", "unlink", "port"])
        if kind == "person":
            names = self.chance.sample(PEOPLE, self.chance.randint(1, 3))
            batch.upsert("Person", [person(name, self.chance) for name in names])
            people.update(names)
        elif kind == "port":
            batch.upsert("Port", [{"code": code} for code in PORTS])
            people.add("ports are there")
        elif kind == "edge" and len(people) > 1:
            self.link(batch, people, edges)
        elif kind == "update" and edges:
            edge = self.chance.choice(sorted(edges))
            values = {"note": f"turn {self.minted}"} if edges[edge][0] == "Knows" else {"days": self.minted}
            batch.update(edges[edge][0], values, ids=[edge])
        elif kind == "delete" and (gone := self.chance.choice(PEOPLE)) in people:
            batch.delete("Person", ids=[gone])
            people.discard(gone)
            for edge in [edge for edge, ends in edges.items() if gone in ends[1:]]:
                del edges[edge]
        elif kind == "unlink" and edges:
            edge = self.chance.choice(sorted(edges))
            batch.delete(edges.pop(edge)[0], ids=[edge])

    def link(self, batch: Any, people: set[str], edges: dict[str, tuple[str, str, str]]) -> None:
        self.minted += 1
        named = sorted(people & {*PEOPLE})
        # Few ids, so that some come back, and few people, so that edges lie beside each other.
        edge, source = f"e{self.chance.randint(0, 12)}", self.chance.choice(named or [""])
        if not named or edge in edges:
            return
        if "ports are there" in people and self.chance.random() < 0.4:
            edges[edge] = ("Visits", source, self.chance.choice(PORTS))
            batch.upsert("Visits", [{"id": edge, "from": source, "to": edges[edge][2], "days": None}])
        else:
            edges[edge] = ("Knows", source, self.chance.choice(named))
            batch.upsert("Knows", [{"id": edge, "from": source, "to": edges[edge][2], "since": "2020-01-01"}])


@pytest.mark.parametrize("seed", range(12))
def test_after_random_commits_images_say_what_the_tables_say(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = omnigraph.init(str(tmp_path / "g.omni"), SCHEMA)
    writer, kept = Writer(graph, seed), new_images()
    if seed % 2:  # folds early
        monkeypatch.setattr(rows, "_CHANGED_MIN", 3)
    for turn in range(5):
        writer.commit()
        if turn == 2:
            writer.fork("side")
        if turn >= 2:
            writer.commit("side")
        if turn == 3:
            graph.optimize()
        for branch in writer.people:
            hold_against(image_of(graph.snapshot(branch), kept), graph.snapshot(branch))
    hold_against(image_of(graph.snapshot("main~1"), kept), graph.snapshot("main~1"))
    hold_against(image_of(graph.snapshot(), new_images()), graph.snapshot())


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    graph = omnigraph.init(str(tmp_path / "g.omni"), SCHEMA)
    chance = random.Random(5)
    with graph.write() as batch:
        batch.insert("Person", [person(f"p{number}", chance) for number in range(40)])
        batch.insert("Port", [{"code": code} for code in PORTS])
        batch.insert(
            "Knows",
            [{"id": f"k{n}", "from": f"p{chance.randrange(40)}", "to": f"p{chance.randrange(40)}"} for n in range(200)],
        )
    return graph


def test_a_commit_is_followed_and_nothing_is_read_anew(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = new_images()
    hold_against(image_of(graph.snapshot(), kept), graph.snapshot())
    with graph.write() as batch:
        batch.insert("Person", [{"name": "new"}])
        batch.insert("Knows", [{"from": "new", "to": "p3"}, {"from": "p3", "to": "p3"}])
        batch.delete("Person", ids=["p7"])
        batch.update("Person", {"age": 77}, ids=["p8"])
    for module, name in (
        (known_states, "read_node_rows"),
        (known_states, "read_edge_rows"),
        (images, "read_ends"),
        (images, "read_column"),
    ):
        monkeypatch.setattr(module, name, lambda *_, **__: pytest.fail("was read as a whole"))

    hold_against(image_of(graph.snapshot(), kept), graph.snapshot())


def test_an_earlier_snapshot_stays_as_it_is(graph: Graph) -> None:
    kept = new_images()
    before = graph.snapshot()
    image = image_of(before, kept)
    hold_against(image, before)
    with graph.write() as batch:
        batch.delete("Person", where=[("name", "<", "p2")])
        batch.insert("Person", [{"name": "p1", "age": 5}])

    hold_against(image_of(graph.snapshot(), kept), graph.snapshot())

    hold_against(image, before)


def test_a_node_of_another_branch_is_not_there(graph: Graph) -> None:
    kept = new_images()
    graph.branches.create("side")
    with graph.write(branch="side") as batch:
        batch.insert("Person", [{"name": "only there"}])
    side, main = (image_of(graph.snapshot(branch), kept) for branch in ("side", "main"))
    entity: Any = graph.snapshot().catalog.type_by_table_key["node:Person"]

    assert side.nodes(entity).find("only there") == 40
    assert main.nodes(entity).find("only there") == MISSING
    assert main.nodes(entity).count == 40


def test_a_base_that_cleanup_took_is_not_needed(graph: Graph) -> None:
    kept = new_images()
    entity: Any = graph.snapshot().catalog.type_by_table_key["node:Person"]
    edge: Any = graph.snapshot().catalog.type_by_table_key["edge:Knows"]
    first = image_of(graph.snapshot(), kept)
    first.nodes(entity).ordinals()
    first.edges(edge).ordinals()
    with graph.write() as batch:
        batch.insert("Person", [{"name": "new"}])
        batch.insert("Knows", [{"from": "new", "to": "p3"}])
    image = image_of(graph.snapshot(), kept)
    image.edges(edge).ordinals()
    del first
    graph.cleanup(keep=1, confirm=True)

    hold_against(image, graph.snapshot())


def test_a_book_of_the_dead_is_begun_again(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(states, "_DEAD_MIN", 10)
    kept, before = new_images(), graph.snapshot()
    old = image_of(before, kept)
    hold_against(old, before)
    with graph.write() as batch:
        batch.delete("Person", ids=[f"p{number}" for number in range(37)])

    hold_against(image_of(graph.snapshot(), kept), graph.snapshot())

    entity: Any = before.catalog.type_by_table_key["node:Person"]
    assert image_of(graph.snapshot(), kept).nodes(entity).size == 3
    hold_against(old, before)
    hold_against(image_of(before, kept), before)


def test_long_texts_stay_in_their_table(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scanning, "_LONG_TEXTS_MIN", 1)
    monkeypatch.setattr(scanning, "_LONG_TEXT_BYTES", 0)
    snapshot, kept = graph.snapshot(), new_images()
    entity: Any = snapshot.catalog.type_by_table_key["node:Person"]

    people = image_of(snapshot, kept).nodes(entity)
    column = people.column("nick")
    found = people.select([PropertyTest(property="nick", operator="contains", value="o")])

    asked = np.array([5, 3, 5, 39], np.int32)
    expected = snapshot.table("Person").to_arrow(["nick"])["nick"].to_pylist()
    assert column.codes() is None
    assert column.take(asked).to_pylist() == [expected[place] for place in asked]
    assert column.one(3) == expected[3]
    assert found is not None
    assert found.tolist() == [place for place, nick in enumerate(expected) if nick and "o" in nick]


def test_too_many_words_get_no_codes(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "_WORDS_MIN", 2)
    monkeypatch.setattr(columns, "_WORDS_SHARE", 40)
    snapshot = graph.snapshot()
    entity: Any = snapshot.catalog.type_by_table_key["node:Person"]

    assert image_of(snapshot, new_images()).nodes(entity).column("nick").codes() is None


@pytest.mark.parametrize("bytes_max", [0, 500, 3_000])
def test_what_does_not_fit_is_said(graph: Graph, bytes_max: int) -> None:
    snapshot = graph.snapshot()
    image = image_of(snapshot, new_images(bytes_max))
    entity: Any = snapshot.catalog.type_by_table_key["edge:Knows"]

    with pytest.raises(DoesNotFit):
        image.edges(entity).neighbours(0, Direction.OUT)


def test_with_room_for_one_thing_at_a_time_everything_is_still_right(graph: Graph) -> None:
    kept = new_images(15_000)

    hold_against(image_of(graph.snapshot(), kept), graph.snapshot())

    assert kept._shelf.used_bytes <= 15_000


def test_threads_share_what_one_of_them_builds(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    kept, snapshot = new_images(), graph.snapshot()
    built, failures = [], []
    read_ends = images.read_ends

    def counting(*given: Any) -> Any:
        built.append(1)
        return read_ends(*given)

    monkeypatch.setattr(images, "read_ends", counting)

    def read() -> None:
        try:
            hold_against(image_of(snapshot, kept), snapshot)
        except BaseException as error:  # noqa: BLE001 — told below
            failures.append(error)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert not failures
    assert len(built) <= 4  # two edge types; both directions may have begun at once
