"""The Spark data source: the rows of one snapshot, filters that Lance applies, frames for graph algorithms."""

from datetime import date
from typing import Any

import pytest

import omnigraph
from omnigraph.graph import Graph
from support import harbor

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

SCHEMA = """
node Person { name: String @key  age: I32?  born: Date?  big: U64?  vec: Vector(2)?  tags: [String]?  seen: DateTime? }
node City { name: String @key }
edge LivesIn: Person -> City { since: U32? }
"""
PEOPLE: list[dict[str, Any]] = [
    {
        "name": "Ann",
        "age": 30,
        "born": "1990-05-01",
        "big": 18446744073709551615,
        "vec": [1.0, 2.0],
        "tags": ["a", "b"],
    },
    {"name": "Bob", "age": 40, "seen": "2020-01-02T03:04:05.678Z"},
    {"name": "Cid", "tags": []},
]


@pytest.fixture
def graph(local_root: str) -> Graph:
    graph = omnigraph.init(local_root, SCHEMA)
    for person in PEOPLE:
        graph.load(harbor.lines([{"type": "Person", "data": person}]), mode="append")
    graph.load(
        harbor.lines(
            [
                {"type": "City", "data": {"name": "Ann"}},
                {"edge": "LivesIn", "from": "Bob", "to": "Ann", "data": {"id": "e1", "since": 4294967295}},
            ]
        ),
        mode="append",
    )
    return graph


def frame(spark: Any, graph: Graph, **options: Any) -> Any:
    from omnigraph.spark import register

    register(spark)
    reader = spark.read.format("omnigraph").option("graph", graph.uri)
    for name, value in options.items():
        reader = reader.option(name, value)
    return reader.load()


def test_a_type_reads_as_it_is_stored_and_stays_at_its_snapshot(spark: Any, graph: Graph) -> None:
    people = frame(spark, graph, type="Person")
    before = graph.snapshot().graph_version
    graph.load(harbor.lines([{"type": "Person", "data": {"name": "Dan", "age": 30}}]), mode="append")

    rows = {row["id"]: row for row in people.collect()}

    assert sorted(rows) == ["Ann", "Bob", "Cid"]
    ann = rows["Ann"]
    assert (ann["age"], ann["born"], int(ann["big"]), ann["vec"], ann["tags"]) == (
        30,
        date(1990, 5, 1),
        18446744073709551615,
        [1.0, 2.0],
        ["a", "b"],
    )
    assert rows["Bob"]["seen"].microsecond == 678_000
    assert rows["Cid"]["tags"] == []
    assert frame(spark, graph, type="Person").count() == 4
    assert frame(spark, graph, type="Person", version=before).count() == 3
    assert frame(spark, graph, type="edge:LivesIn").collect()[0]["since"] == 4294967295


def test_filters_mean_in_lance_what_they_mean_in_spark(spark: Any, graph: Graph) -> None:
    people = frame(spark, graph, type="Person", columns="id,age,born")

    found = {
        condition: sorted(row["id"] for row in people.where(condition).collect())
        for condition in (
            "age = 30",
            "age > 30",
            "age IS NULL",
            "age IS NOT NULL AND id < 'Bob'",
            "id IN ('Bob', 'Cid')",
            "born = DATE '1990-05-01'",
            "NOT (age = 30)",
            "id LIKE 'A%'",
        )
    }

    assert people.columns == ["id", "age", "born"]
    assert list(found.values()) == [
        ["Ann"],
        ["Bob"],
        ["Cid"],
        ["Ann"],
        ["Bob", "Cid"],
        ["Ann"],
        ["Bob"],
        ["Ann"],
    ]


def test_frames_name_vertices_by_type_so_that_equal_keys_stay_apart(spark: Any, graph: Graph) -> None:
    frames = graph.frames(spark)

    vertices = sorted((row["id"], row["type"], row["key"]) for row in frames.vertices.collect())
    (edge,) = frames.edges.collect()

    assert vertices == [
        ("City/Ann", "City", "Ann"),
        ("Person/Ann", "Person", "Ann"),
        ("Person/Bob", "Person", "Bob"),
        ("Person/Cid", "Person", "Cid"),
    ]
    assert (edge["src"], edge["dst"], edge["type"], edge["id"]) == ("Person/Bob", "City/Ann", "LivesIn", "e1")


def test_a_reader_without_a_type_is_told_what_is_missing(spark: Any, graph: Graph) -> None:
    with pytest.raises(Exception, match=r'needs \.option\("type"'):
        frame(spark, graph)
