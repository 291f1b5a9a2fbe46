"""Reads on Spark: the same rows as in process."""

from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st

import omnigraph
from omnigraph.connectors.spark.views import register_views
from omnigraph.errors import InvalidTarget, QueryFailed, QueryTypeError
from omnigraph.graph import Graph
from omnigraph.query.sql.answers import fitted
from omnigraph.query.sql.dialects import SPARK
from omnigraph.query.sql.statement import Asked, statement_of
from omnigraph.query.typed import CheckedRead
from support import query_worlds
from support.naive_answers import NOW_MS, insist_equal
from support.naive_query import Naive, NaiveGraph
from support.sailing import crew_graph
from support.sailors import check

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

READS = [
    "match { $s: Sailor } return { $s } order { $s.age desc }",
    "match { $s: Sailor  $s mentors{1,2} $x } return { $s.name, $x.name } order { $s.name, $x.name }",
    "match { $s: Sailor  $s <mentors>{2,2} $x } return { $s.name, $x.name } order { $s.name, $x.name }",
    "match { $s: Sailor  $s $p:shortest mentors{1,3} $x } return { $s.name, $x.name, $p.hops } order { $p.hops desc }",
    "match { $s: Sailor  $s $p:shortest <mentors>{2,3} $x } return { $p.hops as hops, count($x) as n } order { hops }",
    "match { $s: Sailor  $s $m:mentors $x } return { $s.name, $m.since } order { $m.since desc }",
    'match { $s: Sailor  not { $s servesOn $h  not { $h.title contains "Sea" } } } return { $s.name as n } order { n }',
    "match { $s: Sailor  $s mentors $x } return { $s.name, count($x) as n, avg($x.age) as a } order { n desc }",
    "match { $s: Sailor } return { count($s) as n, sum($s.age) as total, min($s.name) as first }",
    'match { $s: Sailor { tags: "nav" }  $s.age > 33.5 } return { $s.name, $s.tags } order { $s.name }',
    "match { $h: Ship  $h.tons >= 800 } return { $h.title, $h.tons } order { $h.tons } limit 1",
    'match { $s: Sailor  $s.name starts_with "A" } return { $s.name, now() as at }',
]


@pytest.fixture(scope="module")
def crew(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    return crew_graph(str(tmp_path_factory.mktemp("on_spark") / "crew.omni"))


def test_answers_are_those_of_this_process(crew: Graph, spark: Any) -> None:
    views = {view.name for view in spark.catalog.listTables()}
    for text in READS:
        read = crew._asking.asked(crew.snapshot(), text, None, {}).read
        frame = crew.query(text, engine="spark")

        found, expected = fitted(frame.toArrow(), read), crew.query(text).to_arrow()
        if "now()" in text:
            found, expected = found.drop_columns(["at"]), expected.drop_columns(["at"])
        assert found.to_pylist() == expected.to_pylist(), text
        del frame
    assert {view.name for view in spark.catalog.listTables()} == views


def test_a_frame_reads_the_state_that_was_asked_for(crew: Graph, spark: Any) -> None:
    frame = crew.query("match { $s: Sailor } return { $s.name }", engine="spark")
    with crew.write() as batch:
        batch.upsert("Sailor", [{"name": "Fi", "rank": "mate"}])

    assert frame.where("`s.name` <> 'Ana'").count() == 4
    assert crew.query("match { $s: Sailor } return { $s.name }", engine="spark").count() == 6


def test_searching_is_refused(crew: Graph, spark: Any) -> None:
    with pytest.raises(QueryFailed, match="search"):
        crew.query('match { $h: Ship  search($h.title, "sea") } return { $h.hull }', engine="spark")


def test_unknown_engines_are_refused(crew: Graph) -> None:
    with pytest.raises(InvalidTarget, match="flink"):
        crew.query("match { $s: Sailor } return { $s.name }", engine="flink")  # type: ignore[call-overload]


@given(
    state=query_worlds.graphs(),
    texts=st.lists(query_worlds.reads(), min_size=14, max_size=14, unique=True),
)
@settings(
    max_examples=4,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.generate],  # what fails is small enough, and each try is a job of Spark
    suppress_health_check=[*HealthCheck],
)
def test_generated_reads_are_answered_as_trying_everything_does(
    spark: Any, state: NaiveGraph, texts: list[str]
) -> None:
    with tables_of(spark, state) as (names, catalog):
        for text in texts:
            try:
                read = check(text, catalog)
            except QueryTypeError:
                continue
            assert isinstance(read, CheckedRead)
            asked = Asked(read=read, parameters={}, now_ms=NOW_MS)
            note(text)
            rows = spark.sql(statement_of(asked, SPARK, names)).toArrow()
            insist_equal(fitted(rows, read), Naive(state, read, {}, NOW_MS))


@contextmanager
def tables_of(spark: Any, state: NaiveGraph) -> Iterator[tuple[dict[str, str], Any]]:
    """Load a graph and give Spark its tables, which are read once for all questions."""
    with TemporaryDirectory() as folder:
        graph = omnigraph.init(f"{folder}/world.omni", query_worlds.SCHEMA)
        graph.load(query_worlds.records(state), mode="merge")
        snapshot = graph.snapshot()
        views = register_views(spark, graph._context.store, snapshot, prefix="world")
        names = {str(key): name for key, name in views.name_by_table.items()}
        before = spark.conf.get("spark.sql.shuffle.partitions")
        spark.conf.set("spark.sql.shuffle.partitions", "2")
        try:
            for name in names.values():
                spark.catalog.cacheTable(name)
            yield names, snapshot.catalog
        finally:
            spark.conf.set("spark.sql.shuffle.partitions", before)
            for name in names.values():
                spark.catalog.uncacheTable(name)
                spark.catalog.dropTempView(name)
