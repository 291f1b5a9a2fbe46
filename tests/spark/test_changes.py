"""Changes in Spark: the feed as a stream that goes on from its checkpoint, and as a frame between two commits."""

import json
import os
import pickle
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

import omnigraph
from omnigraph.base import clock
from omnigraph.base.events import ignore_events
from omnigraph.connectors.spark import OmniGraphSource, writing
from omnigraph.connectors.spark.options import WRITE, Options
from omnigraph.connectors.spark.writing import WriteOptions
from omnigraph.errors import OmniError
from omnigraph.graph import Graph
from omnigraph.storage.bucket import Bucket
from support import harbor
from support.changes_child import follow_changes
from support.s3_process import client_environment

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

CHILD = Path(__file__).parents[1] / "support" / "changes_child.py"


@pytest.fixture
def graph(local_root: str) -> Graph:
    return harbor.new_graph(local_root)


def put(graph: Graph, *names: str, **values: Any) -> str:
    with graph.write() as batch:
        batch.upsert("Sailor", [{"name": name, "rank": "mate", **values} for name in names])
    return str(graph.commits()[0].graph_commit_id)


def read(graph: Graph, **options: Any) -> list[dict[str, Any]]:
    """Do what Spark does with the source, in this process."""
    source = OmniGraphSource({"graph": graph.uri} | {name: str(value) for name, value in options.items()})
    reader = pickle.loads(pickle.dumps(source.reader(source.schema())))
    found = [list(reader.read(partition)) for partition in pickle.loads(pickle.dumps(reader.partitions()))]
    return [row for batches in found for batch in batches for row in batch.to_pylist()]


def stream(
    spark: Any, graph: Graph, directory: Path, into: list[tuple[int, Any]] | None = None, **options: Any
) -> list[tuple[int, Any]]:
    """Follow the changes up to the head, and return the rows that came now with the numbers of their batches."""
    came = into if into is not None else []

    def take(frame: Any, batch: int) -> None:
        came.extend((batch, row) for row in frame.collect())

    changes = spark.readStream.format("omnigraph").options(graph=graph.uri, **options).load()
    sink = changes.writeStream.foreachBatch(take).option("checkpointLocation", f"{directory}/checkpoint")
    sink.trigger(availableNow=True).start().awaitTermination()
    return came


def briefly(rows: list[Any]) -> list[tuple[Any, ...]]:
    return sorted((row["_graph_version"], row["_change_type"], row["id"]) for row in rows)


def fed(graph: Graph, **options: Any) -> list[tuple[Any, ...]]:
    """What the feed says, to compare with what Spark says."""
    page = graph.changes.poll(start="beginning", **options)
    assert page.caught_up
    return sorted(
        (block.cause.graph_version, change.op.value, change.id) for block in page.blocks for change in block.changes
    )


def test_a_stream_goes_on_from_its_checkpoint_and_brings_every_commit_once(
    spark: Any, graph: Graph, tmp_path: Path
) -> None:
    put(graph, "Di")
    put(graph, "Di", age=5)
    options = {"startingVersion": "earliest", "maxCommitsPerBatch": 2}

    first = stream(spark, graph, tmp_path, **options)
    with graph.write() as batch:
        batch.delete("Sailor", ids=["Cy"])
    graph.optimize()
    second = stream(spark, graph, tmp_path, **options)

    assert briefly([row for _, row in first + second]) == fed(graph)
    assert {(batch, row["_graph_version"]) for batch, row in first + second} == {(0, 2), (0, 3), (1, 4), (2, 5)}
    ana = next(row for _, row in first if row["id"] == "Ana")
    assert (ana["kind"], ana["type"], ana["before"]) == ("node", "Sailor", None)
    assert json.loads(ana["after"]) == {
        "type": "Sailor",
        "data": {"id": "Ana", "age": 50, "badge": "b1", "name": "Ana", "rank": "captain"},
    }
    commit = graph.commits()[-2]
    assert ana["_commit"] == commit.graph_commit_id
    assert round(ana["_commit_timestamp"].timestamp() * 1e6) == commit.created_at_us
    gone = next(row for _, row in second if row["id"] == "m2")
    assert (gone["type"], json.loads(gone["before"])["to"], gone["after"]) == ("Mentors", "Cy", None)
    assert stream(spark, graph, tmp_path, **options) == []


def test_one_type_comes_with_its_columns_and_both_images_of_an_update(spark: Any, graph: Graph, tmp_path: Path) -> None:
    put(graph, "Ana", age=51)
    with graph.write() as batch:
        batch.delete("Sailor", ids=["Cy"])
    options = {"readChangeFeed": "true", "type": "Sailor", "startingVersion": 3}

    rows = [row for _, row in stream(spark, graph, tmp_path, **options)]

    assert list(rows[0].asDict()) == [
        *("id", "age", "badge", "name", "rank"),
        *("_change_type", "_commit", "_graph_version", "_commit_timestamp"),
    ]
    assert sorted((row["_change_type"], row["id"], row["age"], row["rank"]) for row in rows) == [
        ("delete", "Cy", None, "deckhand"),
        ("update_postimage", "Ana", 51, "mate"),
        ("update_preimage", "Ana", 50, "captain"),
    ]
    with pytest.raises(Exception, match=r'A stream reads changes: say .option\("readChangeFeed", "true"\)'):
        stream(spark, graph, tmp_path / "other", type="Sailor")


def test_without_a_start_the_state_of_the_branch_comes_first(spark: Any, graph: Graph, tmp_path: Path) -> None:
    put(graph, "Cy", age=9)
    first = stream(spark, graph, tmp_path, excludeTypes="ServesOn, Ship")
    put(graph, "Di")
    second = stream(spark, graph, tmp_path, excludeTypes="ServesOn, Ship")

    assert briefly([row for _, row in first]) == [(3, "insert", id_) for id_ in ("Ana", "Bo", "Cy", "m1", "m2")]
    assert briefly([row for _, row in second]) == [(4, "insert", "Di")]


def test_the_first_batch_is_the_same_when_it_is_repeated_whatever_came_meanwhile(
    spark: Any, graph: Graph, tmp_path: Path
) -> None:
    before = stream(spark, graph, tmp_path)
    put(graph, "Di")
    (tmp_path / "checkpoint" / "commits" / "0").unlink()
    (tmp_path / "checkpoint" / "commits" / ".0.crc").unlink(missing_ok=True)

    again = stream(spark, graph, tmp_path)

    assert [row for batch, row in again if batch == 0] == [row for _, row in before]
    assert briefly([row for batch, row in again if batch == 1]) == [(3, "insert", "Di")]
    latest = tmp_path / "latest"
    assert stream(spark, graph, latest, startingVersion="latest") == []
    put(graph, "Eli")
    (latest / "checkpoint" / "commits" / "0").unlink()
    (latest / "checkpoint" / "commits" / ".0.crc").unlink(missing_ok=True)
    put(graph, "Flo")
    came = stream(spark, graph, latest, startingVersion="latest")
    assert briefly([row for _, row in came]) == [(4, "insert", "Eli"), (5, "insert", "Flo")]


def test_a_frame_reads_the_changes_between_two_commits(spark: Any, graph: Graph) -> None:
    di, eli = put(graph, "Di"), put(graph, "Eli")
    put(graph, "Flo")
    made = {commit.graph_version: commit for commit in graph.commits()}
    moment = datetime.fromtimestamp(0, UTC) + timedelta(microseconds=made[4].created_at_us)
    cursor = graph.changes.poll(start=f"after:{di}").cursor
    assert cursor is not None

    def ids(**options: Any) -> list[str]:
        return sorted(row["id"] for row in read(graph, types="Sailor", **options))

    assert ids(startingVersion=4) == ["Eli", "Flo"]
    assert ids(startingVersion=3, endingVersion=4) == ["Di", "Eli"]
    assert ids(startingCommit=eli) == ["Eli", "Flo"]
    assert ids(startingTimestamp=moment.isoformat(), endingTimestamp=moment.isoformat()) == ["Eli"]
    assert ids(startingTimestamp="2001-01-01") == ["Ana", "Bo", "Cy", "Di", "Eli", "Flo"]
    assert ids(startingVersion="latest") == []
    assert len(read(graph, startingVersion="earliest")) == len(harbor.CREW) + 3
    frame = spark.read.format("omnigraph").options(graph=graph.uri, startingVersion=5).load()
    put(graph, "Gil")
    assert [row["id"] for row in frame.collect()] == ["Flo"]
    assert frame.where("id = 'Gil'").count() == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, r'needs .option\("type", …\), or .option\("readChangeFeed"'),
        ({"startingVersion": "soon"}, "is 'soon'; it is a graph version, latest or earliest"),
        ({"startingVersion": "99"}, "has no graph version 99"),
        ({"startingVersion": "3", "endingVersion": "1"}, "begin with graph version 3 and end with 1"),
        ({"startingVersion": "2", "startingCommit": "x"}, '"startingVersion" and "startingCommit"'),
        ({"type": "Sailor", "types": "Ship", "startingVersion": "1"}, '"type" and "types"'),
        ({"types": "Sailr", "startingVersion": "1"}, "did you mean"),
        ({"readChangeFeed": "yes", "type": "Sailor"}, "is 'yes'; it is true or false"),
        ({"startngVersion": "1"}, 'did you mean "startingVersion"'),
        ({"startingTimestamp": "noon"}, "\"startingTimestamp\" is 'noon'; it is a time"),
    ],
)
def test_options_that_cannot_be_meant_are_refused(graph: Graph, options: dict[str, str], message: str) -> None:
    with pytest.raises(OmniError, match=message):
        read(graph, **options)


def test_a_change_of_the_schema_is_never_read_over(spark: Any, graph: Graph, tmp_path: Path) -> None:
    typed = {"readChangeFeed": "true", "type": "Sailor", "startingVersion": "latest"}
    changes = spark.readStream.format("omnigraph").options(graph=graph.uri, **typed).load()
    sink = changes.writeStream.format("noop").option("checkpointLocation", f"{tmp_path}/checkpoint")
    sink.trigger(availableNow=True).start().awaitTermination()
    put(graph, "Di")
    graph.apply_schema(harbor.SCHEMA.replace("age: I32?", "age: I32?  nick: String?"))
    put(graph, "Eli", nick="E")

    query = sink.trigger(availableNow=True).start()
    with pytest.raises(Exception, match=r"Sailor has the column nick since commit .* Start it again"):
        query.awaitTermination()
    again = stream(spark, graph, tmp_path, **typed)
    assert sorted((row["id"], row["nick"]) for _, row in again) == [("Eli", "E")]

    records = stream(spark, graph, tmp_path / "records", startingVersion=3)
    assert [json.loads(row["after"])["data"].get("nick", "none") for _, row in records] == ["none", "E"]
    put(graph, "Flo")
    graph.apply_schema(harbor.SCHEMA)
    put(graph, "Gil")
    came: list[tuple[int, Any]] = []
    with pytest.raises(Exception, match=r"The columns of Sailor changed with commit .* new checkpoint"):
        stream(spark, graph, tmp_path / "records", came, startingVersion=3)
    assert [row["id"] for _, row in came] == ["Flo"]
    others = stream(spark, graph, tmp_path / "without", startingVersion=3, excludeTypes="Sailor")
    assert others == []


def test_what_cleanup_took_and_a_checkpoint_of_another_stream_are_told(
    spark: Any, graph: Graph, tmp_path: Path
) -> None:
    stream(spark, graph, tmp_path, types="Sailor")
    put(graph, "Di")
    put(graph, "Eli")
    with pytest.raises(Exception, match=r"is not one of this stream: it belongs to another filter.*new checkpoint"):
        stream(spark, graph, tmp_path, types="Ship")
    pin = graph.snapshot(version=3).table("Sailor").pin
    lance.dataset(f"{graph.uri}/{pin.location}").cleanup_old_versions(versions=[pin.version])

    with pytest.raises(Exception, match=r"Gap: What commit \w+ changed can no longer be told.* a new checkpoint"):
        stream(spark, graph, tmp_path, types="Sailor")
    fresh = stream(spark, graph, tmp_path / "fresh", types="Sailor")
    assert sorted(row["id"] for _, row in fresh) == ["Ana", "Bo", "Cy", "Di", "Eli"]


@pytest.mark.s3
def test_credentials_are_options_of_changes_and_of_writes_too(
    s3_root: str, s3_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = {name.lower(): value for name, value in client_environment(s3_server).items()}
    for name in storage:
        monkeypatch.delenv(name.upper())
    monkeypatch.setattr(writing, "partition_number", lambda: 0)
    graph = omnigraph.init(s3_root, harbor.SCHEMA, storage_options=storage)
    given = {"graph": s3_root, "loadMode": "append", "badRecordsPath": f"{s3_root}-bad", **storage}
    options = WriteOptions.of(Options.of(given, WRITE), overwrite=False)
    load = options.begin(["value"])
    lines = pa.table({"value": [json.dumps(harbor.sailor("Ana")), "{"]})

    kept = options.keep(load.task, iter(lines.to_batches()))
    load.commit(options.context(), [kept], ignore_events, bad_records=options.bad_records("q"))

    assert [row["id"] for row in read(graph, startingVersion="earliest", **storage)] == ["Ana"]
    bad = f"{s3_root}-bad/q.jsonl"
    assert b"invalid_json" in Bucket(bad, storage).open(bad).read()
    assert storage["aws_secret_access_key"] not in repr(options) + repr(kept) + repr(load)


def test_a_hundred_commits_come_once_each_though_the_reader_is_killed_among_them(
    spark: Any, graph: Graph, tmp_path: Path
) -> None:
    """A process of its own follows the changes into files; it is killed while commits come, and followed by another."""
    out = tmp_path / "out"
    for number in range(30):
        put(graph, f"n{number}", age=number)

    def written() -> int:
        return len(list((out / "_spark_metadata").glob("[0-9]*"))) if out.exists() else 0

    child = subprocess.Popen([sys.executable, CHILD, graph.uri, "local[2]", tmp_path, "follow"], start_new_session=True)
    try:
        assert clock.wait_until(lambda: written() >= 3 or child.poll() is not None, timeout_seconds=300)
        for number in range(30, 60):
            put(graph, f"n{number % 40}", age=1000 + number)
        assert child.poll() is None
    finally:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    done_before = written()
    for number in range(60, 100):
        put(graph, f"n{number}", age=number)
    with graph.write() as batch:
        batch.delete("Sailor", ids=[f"n{number}" for number in range(10)])

    follow_changes(spark, graph.uri, str(tmp_path), until_head=True)

    assert 3 <= done_before < written()
    rows = spark.read.json(str(out)).collect()
    assert briefly(rows) == fed(graph)
    assert len({row["_commit"] for row in rows}) >= 102
