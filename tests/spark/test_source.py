"""The Spark data source: the rows of one snapshot, its options, frames for graph algorithms."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

import omnigraph
from omnigraph.graph import Graph
from support import frame_shapes, harbor

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


CONDITIONS = {
    "age = 30": ["Ann"],
    "age > 30": ["Bob"],
    "AGE IS NULL": ["Cid"],
    "age IS NOT NULL AND id < 'Bob'": ["Ann"],
    "id IN ('Bob', 'Cid')": ["Bob", "Cid"],
    "born = DATE '1990-05-01'": ["Ann"],
    "NOT (age = 30)": ["Bob"],
    "id LIKE 'A%'": ["Ann"],
    "\"id\" = 'Bob' or `id` = 'Cid'": ["Bob", "Cid"],
    "name = 'id'": [],
}


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_filter_goes_down_into_lance_as_an_option(spark: Any, graph: Graph, condition: str) -> None:
    people = frame(spark, graph, type="Person", columns="id,age,born", where=condition)

    assert people.columns == ["id", "age", "born"]
    assert sorted(row["id"] for row in people.collect()) == CONDITIONS[condition]


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("agee > 3", "names agee, which Person does not have"),
        ('name = "Ann"', "names Ann, which Person does not have"),
        ("name = 'Ann", "does not close"),
        ("  ", "is empty"),
        ("age > > 3", "does not understand the filter"),
    ],
)
def test_a_filter_that_cannot_be_meant_is_refused(spark: Any, graph: Graph, condition: str, message: str) -> None:
    with pytest.raises(Exception, match=message):
        frame(spark, graph, type="Person", where=condition)


def test_no_answer_depends_on_what_was_asked_before(spark: Any, local_root: str) -> None:
    graph = omnigraph.init(local_root, "node Person { name: String @key  age: I32? }")
    graph.load(harbor.lines({"type": "Person", "data": person} for person in frame_shapes.PEOPLE), mode="append")

    assert frame_shapes.wrong_shapes(spark, frame_shapes.read_frame(spark, graph.uri)) == []


def test_the_past_is_read_by_the_names_that_other_formats_have(spark: Any, graph: Graph) -> None:
    second = graph.commits()[-2]
    later = datetime.fromtimestamp(second.created_at_us / 1e6, UTC) + timedelta(microseconds=1)
    states: list[dict[str, Any]] = [
        {"version": 2},
        {"versionAsOf": 2},
        {"VERSIONASOF": "2", "branch": "main"},
        {"commit": second.graph_commit_id},
        {"snapshot": "main@2"},
        {"snapshot-id": second.graph_commit_id},
        {"timestampAsOf": later.isoformat()},
        {"timestampAsOf": later.replace(tzinfo=None).isoformat(sep=" ")},
    ]

    for state in states:
        assert [row["id"] for row in frame(spark, graph, type="Person", **state).collect()] == ["Ann"], state


def test_a_path_is_the_graph(spark: Any, graph: Graph) -> None:
    assert spark.read.format("omnigraph").option("type", "City").load(graph.uri).count() == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"brnch": "main"}, r'has no option "brnch"; did you mean "branch"'),
        ({"verson": "1"}, r'did you mean "version"'),
        ({"zzz": "1"}, r'has no option "zzz"; it takes graph, type, branch'),
        ({"loadMode": "append"}, r'has no option "loadmode"'),
        ({"version": "one"}, "whole number"),
        ({"version": "1", "commit": "x"}, "name two states"),
        ({"commit": "x", "branch": "main"}, "name two states"),
        ({"timestampAsOf": "yesterday"}, "such as 2026-01-31T18:00:00Z"),
    ],
)
def test_an_option_that_is_unknown_or_unclear_is_refused(
    spark: Any, graph: Graph, options: dict[str, str], message: str
) -> None:
    with pytest.raises(Exception, match=f"(?i){message}"):
        frame(spark, graph, type="Person", **options)


def test_a_misspelled_branch_of_a_write_changes_nothing(spark: Any, graph: Graph) -> None:
    graph.branches.create("rev")
    rows = spark.createDataFrame([("Dan",)], "name string")
    head = graph.snapshot().commit_id

    options = {"graph": graph.uri, "type": "City", "loadMode": "append", "Branc": "rev"}

    with pytest.raises(Exception, match='did you mean "branch"'):
        rows.write.format("omnigraph").options(**options).mode("append").save()

    assert graph.snapshot().commit_id == head


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
        frame(spark, graph).collect()
