"""Frames of a snapshot in hand: always the same rows, kept from cleanup, divided among tasks."""

import gc
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import omnigraph
from omnigraph.base import clock
from omnigraph.errors import EntityNotFound, InvalidTarget
from omnigraph.graph import Graph
from omnigraph.storage.locks import list_reader_leases
from support import harbor

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "spark.md"

SCHEMA = """
node Person { name: String @key  age: I32?  note: String?  type: String?  since: Date? }
node City { name: String @key  since: I32? }
edge LivesIn: Person -> City { since: U32?  how: String? }
"""


def person(number: int, **data: Any) -> dict[str, Any]:
    return {"type": "Person", "data": {"name": f"p{number:02d}", "age": number, **data}}


@pytest.fixture
def graph(local_root: str) -> Graph:
    graph = omnigraph.init(local_root, SCHEMA)
    graph.load(harbor.lines(person(number, note=f"it's\n{number}") for number in range(10)), mode="append")
    graph.load(harbor.lines(person(number) for number in range(10, 12)), mode="append")
    others = [
        {"type": "City", "data": {"name": "Rome", "since": -753}},
        {"edge": "LivesIn", "from": "p01", "to": "Rome", "data": {"id": "e1", "since": 7, "how": "well"}},
    ]
    graph.load(harbor.lines(others), mode="append")
    return graph


def ids(frame: Any) -> list[str]:
    return sorted(row["id"] for row in frame.collect())


def read(spark: Any, graph: Graph, type_name: str, **options: Any) -> Any:
    return spark.read.format("omnigraph").options(graph=graph.uri, type=type_name, **options).load()


def leases(graph: Graph) -> int:
    found = list_reader_leases(graph._context.store.objects, store_clock=None)
    return sum(lease.holder.operation == "snapshot" for lease in found)


def clean_up_elsewhere(uri: str) -> None:
    command = [sys.executable, "-m", "omnigraph.cli.main", "cleanup", uri, "--keep", "1", "--confirm", "--yes"]
    subprocess.run(command, check=True, capture_output=True, timeout=120)


def test_a_frame_of_a_snapshot_has_the_rows_of_the_source(spark: Any, graph: Graph) -> None:
    snapshot = graph.snapshot()
    commit = snapshot.commit_id
    with graph.write() as batch:
        batch.delete("Person", ids=["p00"])

    for name in ("Person", "edge:LivesIn"):
        frame, source = snapshot.to_spark(spark, name), read(spark, graph, name, commit=commit)
        assert frame.schema == source.schema
        assert sorted(frame.collect()) == sorted(source.collect())
    assert len(ids(graph.snapshot("main~1").to_spark(spark, "Person"))) == 12
    assert len(ids(graph.snapshot().to_spark(spark, "Person"))) == 11


WHERE: dict[str, tuple[Any, list[str]]] = {
    "one comparison": ([("age", ">", 9)], ["p10", "p11"]),
    "all of several": ([("age", ">", 3), ("age", "<=", 5)], ["p04", "p05"]),
    "one of several": ([[("age", "=", 1)], [("id", "in", ["p02", "p03"])]], ["p01", "p02", "p03"]),
    "a text of several lines": ([("note", "=", "it's\n4")], ["p04"]),
    "nothing there": ([("note", "=", None)], ["p10", "p11"]),
    "SQL": ("age between 2 and 3 or name = 'p07'", ["p02", "p03", "p07"]),
    "SQL of several lines": ("age = 1\nor age = 2", ["p01", "p02"]),
    "many values": ([("id", "in", [f"p{number:02d}" for number in range(20_000)])], [f"p{n:02d}" for n in range(12)]),
}


@pytest.mark.parametrize("case", WHERE)
def test_a_typed_filter_means_what_it_means_on_the_table(spark: Any, graph: Graph, case: str) -> None:
    where, expected = WHERE[case]
    snapshot = graph.snapshot()

    frame = snapshot.to_spark(spark, "Person", columns=["id", "age"], where=where)

    assert frame.columns == ["id", "age"]
    assert ids(frame) == expected == sorted(snapshot.table("Person").to_arrow(where=where)["id"].to_pylist())


def test_what_cannot_be_meant_is_refused_before_spark_is_asked(spark: Any, graph: Graph) -> None:
    snapshot = graph.snapshot()

    with pytest.raises(EntityNotFound, match="did you mean age"):
        snapshot.to_spark(spark, "Person", columns=["agee"])
    with pytest.raises(EntityNotFound, match="did you mean"):
        snapshot.to_spark(spark, "Persn")
    with pytest.raises(InvalidTarget):
        snapshot.to_spark(spark, "Person", where=[("age", "~", 3)])
    with pytest.raises(InvalidTarget, match="above 0"):
        snapshot.to_spark(spark, "Person", partition_bytes=0)


def test_a_schema_chooses_columns_by_name_and_must_not_lie(spark: Any, graph: Graph) -> None:
    reader = spark.read.format("omnigraph").options(graph=graph.uri, type="Person")

    chosen = reader.schema("age int, id string").load()

    assert chosen.columns == ["age", "id"]
    assert sorted(tuple(row) for row in chosen.collect())[:2] == [(0, "p00"), (1, "p01")]
    with pytest.raises(Exception, match="is string, and it is int"):
        reader.schema("age string").load().collect()
    with pytest.raises(Exception, match="it is int and may be null"):
        reader.schema("age int not null").load().collect()


def move_on(graph: Graph) -> None:
    """Rewrite all rows, so that no file of the versions before is needed by a later one."""
    for age in range(2):
        with graph.write() as batch:
            batch.update("Person", {"age": age}, where=[])


def test_a_cleanup_elsewhere_spares_what_a_frame_reads_and_takes_it_when_no_frame_is_left(
    spark: Any, graph: Graph
) -> None:
    derived = graph.snapshot().to_spark(spark, "Person").where("age < 5")
    gc.collect()  # the snapshot and the frame that it gave are gone, the one made from it is not
    spark._jvm.System.gc()
    graph.snapshot().to_spark(spark, "City")
    move_on(graph)

    clean_up_elsewhere(graph.uri)

    assert ids(derived) == ["p00", "p01", "p02", "p03", "p04"]
    del derived

    def is_let_go() -> bool:
        gc.collect()
        spark._jvm.System.gc()
        graph.snapshot().to_spark(spark, "City")
        gc.collect()
        return not held_versions_of(graph, "Person")

    assert clock.wait_until(is_let_go, timeout_seconds=60)


def held_versions_of(graph: Graph, type_name: str) -> set[int]:
    """Return the versions of a table that leases name, but for the newest."""
    newest = graph._context.addresses.head("main").snapshot.pins[omnigraph_key(type_name)]
    found = list_reader_leases(graph._context.store.objects, store_clock=None)
    return {
        pinned.version
        for lease in found
        for pinned in lease.versions
        if pinned.address.location == newest.location and pinned.version != newest.version
    }


def omnigraph_key(type_name: str) -> Any:
    return f"node:{type_name}"


def test_a_plain_read_that_lost_its_version_says_so_in_one_sentence(spark: Any, graph: Graph) -> None:
    frame = read(spark, graph, "Person")
    move_on(graph)
    clean_up_elsewhere(graph.uri)

    with pytest.raises(Exception, match=r"Version \d+ of .* is gone: cleanup"):
        frame.collect()


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    """One large fragment with deleted rows, and small ones behind it."""
    graph = omnigraph.init(str(tmp_path_factory.mktemp("crowd") / "g.omni"), "node P { name: String @key  n: I32 }")

    def people(start: int, end: int) -> Any:
        return harbor.lines({"type": "P", "data": {"name": f"n{n:06d}", "n": n}} for n in range(start, end))

    graph.load(people(0, 20_000), mode="append")
    for start in (20_000, 20_010):
        graph.load(people(start, start + 10), mode="append")
    with graph.write() as batch:
        batch.delete("P", ids=[f"n{n:06d}" for n in range(0, 20_000, 7)])
    return graph


@pytest.mark.parametrize("size", [None, 40_000, 1 << 30])
def test_partitions_of_any_size_read_every_row_once(spark: Any, crowd: Graph, size: int | None) -> None:
    frame = crowd.snapshot().to_spark(spark, "P", columns=["n"], partition_bytes=size)

    assert sorted(row["n"] for row in frame.collect()) == [n for n in range(20_020) if n >= 20_000 or n % 7]
    assert (frame.rdd.getNumPartitions() > 1) is (size == 40_000)


def test_a_filter_reads_every_row_once_in_partitions_of_any_size(spark: Any, crowd: Graph) -> None:
    frame = read(spark, crowd, "P", partitionBytes="40KiB", where="n > 19990", columns="n")

    assert sorted(row["n"] for row in frame.collect()) == [n for n in range(19_991, 20_020) if n >= 20_000 or n % 7]


def test_a_frame_without_columns_counts_from_metadata(spark: Any, crowd: Graph) -> None:
    snapshot = crowd.snapshot()
    total = snapshot.table("P").count_rows()

    assert snapshot.to_spark(spark, "P", columns=[]).count() == total
    assert read(spark, crowd, "P", columns="").count() == total
    assert snapshot.to_spark(spark, "P", columns=[], where=[("n", "<", 10)]).count() == 8
    assert snapshot.to_spark(spark, "P", columns=["n"]).agg({"n": "sum"}).collect()[0][0] == sum(
        n for n in range(20_020) if n >= 20_000 or n % 7
    )


def test_page_rank_as_the_guide_shows_it_is_written_back(spark: Any, local_root: str) -> None:
    graph = omnigraph.init(
        local_root, "node Person { name: String @key  age: I32?  rank: F64? }\nedge Knows: Person -> Person"
    )
    pairs = [(0, 1), (1, 2), (2, 0), (3, 2), (3, 0)]
    knows = [{"edge": "Knows", "from": f"p{source:02d}", "to": f"p{target:02d}"} for source, target in pairs]
    graph.load(harbor.lines([*(person(number) for number in range(4)), *knows]), mode="append")
    (recipe,) = [text for text in re.findall(r"```py\n(.*?)```", GUIDE.read_text(), re.DOTALL) if "page rank" in text]

    exec(recipe, {"graph": graph, "spark": spark})

    expected = dict.fromkeys(range(4), 1.0)
    for _ in range(10):
        parts = [(target, expected[source] / sum(other == source for other, _ in pairs)) for source, target in pairs]
        expected = {
            number: 0.15 + 0.85 * sum(part for target, part in parts if target == number) for number in range(4)
        }
    rows = graph.snapshot().table("Person").to_arrow(["name", "age", "rank"]).to_pylist()
    assert {row["name"]: row["age"] for row in rows} == {f"p{number:02d}": number for number in range(4)}
    assert {row["name"]: row["rank"] for row in rows} == {
        f"p{number:02d}": pytest.approx(rank) for number, rank in expected.items()
    }
    assert graph.commits()[0].message == "page rank"
