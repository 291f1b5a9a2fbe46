"""Views, tables and the vertices and edges of one snapshot on a Spark session, and frames written back together."""

from pathlib import Path
from typing import Any

import pytest

import omnigraph
from omnigraph.errors import InvalidTarget
from omnigraph.graph import Graph
from support import harbor
from support.graphs import refusal
from support.s3_process import client_environment

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

SCHEMA = """
node Person { name: String @key  age: I32?  type: String?  since: Date? }
node City { name: String @key  since: I32?  age: I32? }
edge LivesIn: Person -> City { since: U32?  how: String? }
"""


@pytest.fixture
def graph(local_root: str) -> Graph:
    graph = omnigraph.init(local_root, SCHEMA)
    records = [
        {"type": "Person", "data": {"name": "Ann", "age": 30, "type": "human", "since": "2020-01-02"}},
        {"type": "Person", "data": {"name": "Bob", "age": 40}},
        {"type": "City", "data": {"name": "Rome", "since": -753, "age": 9}},
        {"edge": "LivesIn", "from": "Ann", "to": "Rome", "data": {"id": "e1", "since": 7, "how": "well"}},
    ]
    graph.load(harbor.lines(records), mode="append")
    return graph


def add(graph: Graph, name: str, branch: str = "main") -> None:
    graph.load(harbor.lines([{"type": "Person", "data": {"name": name}}]), mode="append", branch=branch)


def value(spark: Any, statement: str) -> Any:
    return spark.sql(statement).collect()[0][0]


def test_views_read_one_snapshot_until_they_are_registered_again(spark: Any, graph: Graph) -> None:
    first = graph.commits()[0].graph_commit_id
    views = graph.register_views(spark, prefix="og")
    add(graph, "Cid")

    assert views.names == ("og_City", "og_Person", "og_LivesIn")
    assert views.name_by_table["node:Person"] == "og_Person"
    assert (views.commit_id, views.branch) == (first, "main")
    question = "select count(*) from og_Person p join og_LivesIn l on l.src = p.id join og_City c on c.id = l.dst"
    assert value(spark, question) == 1
    assert value(spark, "select count(*) from og_Person") == 2
    graph.register_views(spark)
    assert value(spark, "select count(*) from OG_PERSON") == 3
    graph.register_views(spark, prefix="", commit=first)
    assert value(spark, "select count(*) from Person") == 2
    for name in (*views.names, "Person", "City", "LivesIn"):
        assert spark.catalog.dropTempView(name)


def test_views_of_a_branch_and_of_an_address(spark: Any, graph: Graph) -> None:
    graph.branches.create("review")
    add(graph, "Cid", branch="review")

    graph.register_views(spark, prefix="rev", branch="review")
    graph.register_views(spark, prefix="old", snapshot="review~1")

    assert value(spark, "select count(*) from rev_Person") == 3
    assert value(spark, "select count(*) from old_Person") == 2
    with pytest.raises(InvalidTarget):
        graph.register_views(spark, prefix="no good")


def test_a_table_of_the_catalog_follows_its_branch(spark: Any, graph: Graph) -> None:
    options = f"graph '{graph.uri}', type 'Person'"
    spark.sql(f"CREATE TABLE people USING omnigraph OPTIONS ({options})")
    spark.sql(f"CREATE TABLE first_people USING omnigraph OPTIONS ({options}, versionAsOf '2')")
    try:
        assert value(spark, "select count(*) from people where age > 30") == 1
        assert sorted(spark.table("people").columns) == ["age", "id", "name", "since", "type"]
        add(graph, "Cid")
        assert value(spark, "select count(*) from people") == 3
        assert value(spark, "select count(*) from first_people") == 2
        assert value(spark, "select sum(a.age) from people a join people b on a.id = b.id") == 70
        spark.sql(f"CREATE TABLE listed (id string) USING omnigraph OPTIONS ({options})")
        with pytest.raises(Exception, match="without a list of columns"):
            spark.sql("select * from listed").collect()
        with pytest.raises(Exception, match="AWS_SECRET_ACCESS_KEY in the environment") as refused:
            spark.sql(f"CREATE TABLE open_secret USING omnigraph OPTIONS ({options}, aws_secret_access_key 'hidden')")
        assert "hidden" not in str(refused.value)
    finally:
        for name in ("people", "first_people", "listed"):
            spark.sql(f"DROP TABLE IF EXISTS {name}")


def test_a_view_of_the_source_reads_in_sql(spark: Any, graph: Graph) -> None:
    spark.sql(f"CREATE TEMPORARY VIEW cities USING omnigraph OPTIONS (path '{graph.uri}', type 'City')")

    assert value(spark, "select since from cities") == -753
    assert spark.catalog.dropTempView("cities")


def test_frames_with_properties_keep_each_type_of_a_property(spark: Any, graph: Graph) -> None:
    frames = graph.frames(spark, properties=True)

    assert sorted(frames.vertices.columns) == sorted(
        ["id", "type", "key", "name", "age", "Person_type", "Person_since", "City_since"]
    )
    people = {row["id"]: row for row in frames.vertices.collect()}
    assert people["Person/Ann"]["Person_type"] == "human"
    assert str(people["Person/Ann"]["Person_since"]) == "2020-01-02"
    assert (people["City/Rome"]["City_since"], people["City/Rome"]["Person_since"]) == (-753, None)
    assert (people["City/Rome"]["age"], people["Person/Bob"]["age"]) == (9, 40)
    (edge,) = frames.edges.collect()
    assert (edge["id"], edge["src"], edge["dst"], edge["since"], edge["how"]) == (
        "e1",
        "Person/Ann",
        "City/Rome",
        7,
        "well",
    )


def test_frames_of_several_types_become_one_commit(spark: Any, graph: Graph) -> None:
    before = len(graph.commits())
    people = spark.sql("SELECT concat('p', id) AS name, CAST(id AS INT) AS age FROM range(0, 30, 1, 3)")
    moves = spark.sql("SELECT concat('p', id) AS who, 'Rome' AS `to` FROM range(0, 20, 1, 2)")

    result = graph.load_dataframes(
        {"Person": people, "LivesIn": moves}, mode="append", maps={"LivesIn": {"who": "from"}}, message="moved"
    )

    assert {table.table_key: table.rows_loaded for table in result.tables} == {"node:Person": 30, "edge:LivesIn": 20}
    assert len(graph.commits()) == before + 1
    assert graph.commits()[0].message == "moved"
    again = graph.load_dataframes(
        {"node:Person": people, "LivesIn": moves.limit(0)}, mode="merge", maps={"LivesIn": {"who": "from"}}
    )
    assert again.commit is None
    assert graph.snapshot().table("LivesIn").count_rows() == 21


def test_one_bad_row_in_one_frame_keeps_all_frames_out(spark: Any, graph: Graph) -> None:
    head = graph.snapshot().commit_id
    people = spark.sql("SELECT concat('p', id) AS name FROM range(0, 30, 1, 3)")
    lost = spark.sql("SELECT concat('p', id) AS `from`, if(id = 7, 'Oz', 'Rome') AS `to` FROM range(0, 20, 1, 2)")

    error = refusal(graph, lambda: graph.load_dataframes({"Person": people, "LivesIn": lost}, mode="append"))

    assert [entry["file"] for entry in error.details["errors"]] == ["<frame of LivesIn>"]
    assert error.details["errors"][0]["line"] == 8
    assert graph.snapshot().commit_id == head
    assert not Path(graph.uri, "__staging").exists()
    with pytest.raises(InvalidTarget, match="no Spark data frame"):
        graph.load_dataframes({"Person": [1]}, mode="append")
    with pytest.raises(InvalidTarget, match="no frame"):
        graph.load_dataframes({}, mode="append")


@pytest.mark.s3
def test_credentials_are_options_and_nothing_shows_them(
    spark: Any, s3_root: str, s3_server: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    storage = {name.lower(): value for name, value in client_environment(s3_server).items()}
    secret, key = storage["aws_secret_access_key"], storage["aws_access_key_id"]
    for name in storage:
        monkeypatch.delenv(name.upper())
    graph = omnigraph.init(s3_root, SCHEMA, storage_options=storage)
    add(graph, "Ann")

    read = spark.read.format("omnigraph").options(graph=s3_root, type="Person")
    frames = [
        read.options(**storage).load(),
        read.options(**{f"storage.{name}": value for name, value in storage.items()}).load(),
        graph.snapshot().to_spark(spark, "Person"),
        graph.frames(spark).vertices,
    ]

    for frame in frames:
        assert frame.count() == 1
        frame.explain(extended=True)
        frame.explain(mode="formatted")
        shown = capsys.readouterr().out + frame._jdf.queryExecution().toString() + repr(frame)
        assert "omnigraph" in shown
        assert secret not in shown
        assert key not in shown
    with pytest.raises(Exception, match="aws_regoin") as refused:
        read.options(**storage, aws_regoin="x").load()
    assert secret not in str(refused.value)
