"""Data frames as input: one commit each, the same checks as any load, and nothing left of what is refused."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import omnigraph
from omnigraph.base.events import Advanced
from omnigraph.graph import Graph
from support.graphs import codes, refusal

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

SCHEMA = """
node Person { name: String @key  age: I32?  mail: String? @unique  big: U64?  vec: Vector(2)?  tags: [String]? }
edge Knows: Person -> Person { since: Date? }
"""
PEOPLE = """
    SELECT concat('p', id) AS name, CAST(id % 90 AS INT) AS age, concat(id, '@x') AS mail,
           CAST('18446744073709551615' AS DECIMAL(20, 0)) AS big, array(1F, CAST(id AS FLOAT)) AS vec,
           array('a', NULL, 'b') AS tags
    FROM range(0, 60, 1, 3)
"""
KNOWS = """
    SELECT concat('p', id) AS `from`, concat('p', id + 1) AS `to`, DATE '2020-01-02' AS since
    FROM range(0, 40, 1, 2)
"""


@pytest.fixture
def graph(local_root: str) -> Graph:
    return omnigraph.init(local_root, SCHEMA)


def save(frame: Any, graph: Graph, type_name: str, mode: str, **options: str) -> None:
    writer = frame.write.format("omnigraph").option("graph", graph.uri).option("type", type_name)
    for name, value in {"loadMode": mode, **options}.items():
        writer = writer.option(name, value)
    writer.mode("append").save()


def stored(graph: Graph, type_name: str, *columns: str) -> list[tuple[Any, ...]]:
    rows = graph.snapshot().table(type_name).to_arrow().select(columns).to_pylist()
    return sorted(tuple(row.values()) for row in rows)


def assert_nothing_left(graph: Graph, commits: int) -> None:
    assert len(graph.commits()) == commits
    assert not Path(graph.uri, "__staging").exists()


def test_a_frame_loads_as_one_commit_and_again_as_none(spark: Any, graph: Graph) -> None:
    frame = spark.sql(PEOPLE.replace("array('a', NULL, 'b')", "array('a', 'b')"))

    told: list[Any] = []

    first = graph.load_dataframe(frame, type="Person", mode="append", actor="ann", events=told.append)
    again = graph.load_dataframe(frame, type="Person", mode="merge")
    renamed = frame.selectExpr("name", "age + 1 AS years", "'x' AS noise").where("name = 'p7'")
    changed = graph.load_dataframe(renamed, type="Person", mode="merge", map={"years": "age", "noise": None})

    assert (first.engine, first.engine_reason, first.total_rows) == ("spark", "the frame's session", 60)
    assert first.commit is not None
    assert first.commit.actor_id == "ann"
    computed = [event for event in told if isinstance(event, Advanced) and event.phase == "computing the frame"]
    assert (computed[-1].done, computed[-1].unit) == (60, "rows")
    assert again.commit is None
    assert changed.total_rows == 1
    people = {row["name"]: row for row in graph.snapshot().table("Person").to_arrow().to_pylist()}
    assert (people["p8"]["big"], people["p8"]["vec"], people["p8"]["tags"]) == (2**64 - 1, [1.0, 8.0], ["a", "b"])
    assert (people["p7"]["age"], people["p7"]["big"]) == (8, None)
    assert_nothing_left(graph, commits=3)


def test_a_frame_that_gives_other_rows_each_time_is_read_once(spark: Any, graph: Graph) -> None:
    frame = spark.sql("SELECT uuid() AS name, 'x' AS mail FROM range(1) UNION ALL SELECT uuid(), uuid() FROM range(50)")

    graph.load_dataframe(frame, type="Person", mode="merge")

    assert len(stored(graph, "Person", "id")) == 51


def test_other_frames_go_through_the_same_door(graph: Graph) -> None:
    result = graph.load_dataframe(pd.DataFrame({"name": ["Ann"], "age": [30]}), type="Person", mode="merge")

    assert (result.engine, stored(graph, "Person", "name", "age")) == ("local", [("Ann", 30)])


def test_a_frame_that_is_refused_leaves_nothing(spark: Any, graph: Graph) -> None:
    def load(statement: str, **options: Any) -> Any:
        return lambda: graph.load_dataframe(spark.sql(statement), **{"type": "Person", "mode": "append", **options})

    nulls = refusal(graph, load(PEOPLE))
    assert codes(nulls) == {"wrong_type": 60}
    unknown = refusal(graph, load("SELECT 'a' AS name, 1 AS height"))
    assert codes(unknown) == {"unknown_property": 1}
    twice = refusal(graph, load("SELECT 'a' AS name, 'm' AS mail UNION ALL SELECT 'b', 'm'"))
    assert codes(twice) == {"unique_violation": 1}
    orphan = refusal(graph, load("SELECT 'a' AS `from`, 'b' AS `to`", type="Knows"))
    assert codes(orphan) == {"orphan_edge": 2}
    assert_nothing_left(graph, commits=1)


def test_the_data_source_writes_each_frame_as_one_commit(spark: Any, graph: Graph) -> None:
    people = spark.sql(PEOPLE).drop("tags")
    save(people, graph, "Person", "append", actor="ann")
    save(spark.sql(KNOWS), graph, "Knows", "append")
    graph.branches.create("side")
    save(people.selectExpr("name", "-1 AS age").where("name < 'p2'"), graph, "Person", "merge", branch="side")
    loaded = spark.read.format("omnigraph").option("graph", graph.uri).option("type", "Person").load()
    save(loaded.drop("id"), graph, "Person", "merge")  # what is read goes back unchanged

    assert [(commit.kind.value, commit.actor_id) for commit in graph.commits()] == [
        ("load", None),
        ("load", "ann"),
        ("genesis", None),
    ]
    assert len(stored(graph, "Knows", "src", "dst")) == 40
    side = graph.snapshot("side").table("Person").to_arrow().to_pylist()
    assert {row["name"] for row in side if row["age"] == -1} == {"p0", *(f"p1{n}" for n in ("", *range(10)))}
    assert_nothing_left(graph, commits=3)


def test_an_overwrite_of_spark_replaces_the_type(spark: Any, graph: Graph) -> None:
    graph.load_dataframe(pd.DataFrame({"name": ["Bob"]}), type="Person", mode="append")
    ann = spark.sql("SELECT 'Ann' AS name").write.format("omnigraph").options(graph=graph.uri, type="Person")

    ann.mode("overwrite").save()
    with pytest.raises(Exception, match="loadMode says merge"):
        ann.option("loadMode", "merge").mode("overwrite").save()

    assert stored(graph, "Person", "name") == [("Ann",)]
    assert_nothing_left(graph, commits=3)


def test_a_write_that_is_refused_says_which_records_and_leaves_nothing(spark: Any, graph: Graph) -> None:
    with pytest.raises(Exception, match=r"Knows to 'p1': node Person not found") as orphans:
        save(spark.sql(KNOWS), graph, "Knows", "append")
    with pytest.raises(Exception, match=r'needs \.option\("loadMode"'):
        save(spark.sql(KNOWS), graph, "Knows", "")
    with pytest.raises(Exception, match=r"There is no type 'Ship' in this graph"):
        save(spark.sql(KNOWS), graph, "Ship", "append")
    with pytest.raises(Exception, match=r"on purpose"):
        save(
            spark.sql("SELECT if(id < 9, 'a', raise_error('on purpose')) AS name FROM range(10)"),
            graph,
            "Person",
            "append",
        )

    assert "load rejected: 80 errors" in str(orphans.value)
    sentence = str(orphans.value).partition("Traceback")[0]
    assert sentence.count("<frame>:") == 21
    assert_nothing_left(graph, commits=1)


LARGE = """
node Person { name: String @key  note: String? }
edge Knows: Person -> Person { note: String? }
edge Seat: Person -> Person @card(1..2) { note: String? }
"""
NOTE = "repeat('x', 20000) AS note"
"""Six hundred of them are more than a write of few rows."""


def test_workers_check_what_a_large_write_means_for_stored_rows(spark: Any, local_root: str) -> None:
    graph = omnigraph.init(local_root, LARGE)
    people = spark.sql(f"SELECT concat('p', id) AS name, {NOTE} FROM range(0, 600, 1, 3)")
    pairs = f"SELECT concat('p', id) AS `from`, concat('p', 599 - id) AS `to`, {NOTE} FROM range(0, 600, 1, 3)"
    save(people, graph, "Person", "append")
    save(spark.sql(pairs), graph, "Knows", "append")
    seats = spark.sql(pairs).selectExpr("concat('s', `from`) AS id", "*")
    save(seats, graph, "Seat", "append")

    save(people, graph, "Person", "overwrite")
    save(spark.sql(pairs), graph, "Knows", "merge")
    save(seats.selectExpr("id", "`to` AS `from`", "`from` AS `to`", "note"), graph, "Seat", "merge")

    assert len(graph.commits()) == 6, "genesis, three appends, the overwrite and the seats; all of Knows was there"
    assert [graph.snapshot().table(name).count_rows() for name in ("Person", "Knows", "Seat")] == [600, 600, 600]
    assert {(row[0], row[1]) for row in stored(graph, "Seat", "id", "src")} == {
        (f"sp{number}", f"p{599 - number}") for number in range(600)
    }
    with pytest.raises(Exception, match=r"stored edge Knows '.*' to 'p7': node Person not found after this write"):
        save(people.where("name <> 'p7'"), graph, "Person", "overwrite")
    with pytest.raises(Exception, match=r"@card violation on edge Seat: source 'p592' has 0 edges, min 1"):
        save(seats.selectExpr("id", "if(id = 'sp7', 'p0', `to`) AS `from`", "`to`", "note"), graph, "Seat", "merge")
    assert_nothing_left(graph, commits=6)
