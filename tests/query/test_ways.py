"""Which way a query goes, why, and that every way leads to the same rows."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import omnigraph
from omnigraph.graph import Graph
from omnigraph.query.image import images as images_module
from omnigraph.query.image.disk import DISK_BYTES_VARIABLE
from omnigraph.query.image.shelf import Shelf
from omnigraph.query.lookups.reading import Allowance, TooMuchToLookUp
from omnigraph.query.opening import open_lookups

SCHEMA = """
node Person { name: String @key  age: I32  city: String }
edge Knows: Person -> Person { since: I32? }
"""
PEOPLE, EDGES = 3_000, 30_000
FRIENDS = """query q($name: String) {
    match { $p: Person { name: $name } $p knows $x } return { $x.name, $x.age } order { $x.name }
}"""
CITIES = "match { $p: Person $p knows $x $x.age > 80 } return { $p.city, count($x) as n } order { n desc, $p.city }"
OLD = 'match { $p: Person $p.age > 87 $p.city = "city-3" } return { $p.name } order { $p.name }'


def new_people(uri: str, *, edges: int = EDGES, people: int = PEOPLE) -> Graph:
    graph = omnigraph.init(uri, SCHEMA)
    chance = np.random.default_rng(7)
    names = pa.array([f"person-{number}" for number in range(people)])
    ages = pa.array(chance.integers(0, 90, people).tolist(), pa.int32())
    cities = pa.array([f"city-{number}" for number in chance.integers(0, 20, people)])
    graph.load_table(pa.table({"name": names, "age": ages, "city": cities}), type="Person", mode="append")
    ends = [names.take(pa.array(chance.integers(0, people, edges).tolist())) for _ in range(2)]
    since = pa.array([None if number % 7 else number for number in range(edges)], pa.int32())
    graph.load_table(pa.table({"from": ends[0], "to": ends[1], "since": since}), type="Knows", mode="append")
    graph.optimize()
    return graph


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> str:
    return new_people(str(tmp_path_factory.mktemp("people") / "people.omni")).uri


@pytest.fixture
def budget(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Images of this test alone, in as much memory as it says, and nothing on disk."""
    monkeypatch.setenv(DISK_BYTES_VARIABLE, "0")

    def allow(size_bytes: int) -> None:
        monkeypatch.setattr(images_module, "_images", {})
        monkeypatch.setattr(images_module, "_shelf", Shelf(size_bytes))

    allow(1 << 30)
    return allow


def test_small_questions_are_looked_up_until_an_image_would_have_cost_as_much(people: str, budget: Any) -> None:
    graph = omnigraph.open(people, read_only=True)

    plan = graph.explain(FRIENDS)
    ways = []
    for number in range(200):
        answer = graph.explain(FRIENDS, analyze=True, name=f"person-{number}")
        ways.append(answer.way.name)
        if answer.way.name == "image":
            break

    assert plan.way.name == "look-ups"
    assert "building the image would take" in plan.way.reason
    assert plan.reads == ("Person: id, age by id", "Knows: src, dst by src")
    assert ways[0] == "look-ups"
    assert ways[-1] == "image"
    assert graph.explain(FRIENDS).way.reason == "it is at hand"
    assert graph.explain(FRIENDS).reads == ()


def test_a_question_about_everything_builds_the_image_at_once(people: str, budget: Any) -> None:
    graph = omnigraph.open(people, read_only=True)

    plan = graph.explain(CITIES)

    assert plan.way.name == "image"
    assert plan.way.reason.startswith("building it takes about")


def test_a_query_that_reaches_more_than_was_expected_changes_its_way(
    people: str, budget: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = omnigraph.open(people, read_only=True)
    monkeypatch.setattr("omnigraph.query.ways.choice._rows_max", lambda _: 3)

    found = graph.explain(FRIENDS, analyze=True, name="person-1")

    assert (found.way.name, found.rows) == ("image", len(graph.query(FRIENDS, name="person-1")))
    assert found.way.reason == "it reaches too much to look up: more than 3 rows"
    assert all(step.did is not None and step.did.calls == 1 for step in found.steps)


def test_without_memory_for_an_image_answers_are_the_same(people: str, budget: Any) -> None:
    graph = omnigraph.open(people, read_only=True)
    reads: list[tuple[str, dict[str, Any]]] = [(FRIENDS, {"name": "person-5"}), (CITIES, {}), (OLD, {})]
    expected = [graph.query(text, **values).rows() for text, values in reads]

    budget(100_000)
    graph = omnigraph.open(people, read_only=True)
    plans = [graph.explain(text) for text, _ in reads]

    assert [graph.query(text, **values).rows() for text, values in reads] == expected
    assert [plan.way.name for plan in plans] == ["look-ups", "DuckDB", "look-ups"]
    assert {plan.way.reason for plan in plans} == {"the image would take more memory than allowed"}
    assert plans[1].reads == (
        "Person: id, city, all rows",
        "Person: id, age where $x.age > 80",
        "Knows: src, dst, all rows",
    )
    assert plans[2].reads == ('Person: id, age, city where $p.age > 87 and $p.city = "city-3"',)


def test_look_ups_read_no_more_than_they_may(people: str) -> None:
    graph = omnigraph.open(people, read_only=True)
    with graph.snapshot() as snapshot:
        read = graph._asking.planned(snapshot, FRIENDS, None).plan.read
        access = open_lookups(snapshot, read, Allowance(100))
        person = access.nodes(snapshot.catalog.node_by_name["Person"])

        assert person.find("person-0") == 0
        assert person.find("nobody") == -1
        assert (access.allowance.rows, access.allowance.asked) == (1, 2)
        with pytest.raises(TooMuchToLookUp):
            person.ordinals()


@pytest.mark.s3
def test_images_and_look_ups_read_the_same_on_s3(s3_root: str, budget: Any) -> None:
    graph = new_people(f"{s3_root}/people.omni", edges=12_000, people=500)
    asked = {"name": "person-3"}

    looked_up = graph.explain(FRIENDS, analyze=True, **asked)
    found = graph.query(FRIENDS, **asked).rows()
    graph.query(CITIES)
    with graph.write() as batch:
        batch.insert("Knows", [{"from": "person-3", "to": "person-4"}])
    after = graph.query(FRIENDS, **asked).rows()
    followed = graph.explain(FRIENDS)
    budget(1)
    without = omnigraph.open(graph.uri, read_only=True).query(FRIENDS, **asked).rows()

    assert followed.way.reason == "it is at hand"
    assert looked_up.rows == len(found)
    assert without == after
    assert {row["x.name"] for row in after} == {row["x.name"] for row in found} | {"person-4"}
