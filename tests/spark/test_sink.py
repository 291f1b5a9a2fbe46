"""What the streaming sink takes: records of all types, several versions of a key, bad records, updated aggregates."""

import json
from pathlib import Path
from typing import Any

import pytest

import omnigraph
from omnigraph.graph import Graph
from omnigraph.pipeline.load.once import StreamBatch
from omnigraph.spark import each_batch

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

SCHEMA = """
node Port { code: String @key  depth: I32?  seen: DateTime? }
node Visit { port: String @key  visits: I64 }
edge Route: Port -> Port
"""


@pytest.fixture
def graph(local_root: str) -> Graph:
    return omnigraph.init(local_root, SCHEMA)


def put(directory: Path, name: str, *records: Any) -> None:
    (directory / "in").mkdir(exist_ok=True)
    lines = [record if isinstance(record, str) else json.dumps(record) for record in records]
    (directory / "in" / name).write_text("\n".join(lines) + "\n")


def port(code: str, **data: Any) -> dict[str, Any]:
    return {"type": "Port", "data": {"code": code, **data}}


def batches(graph: Graph) -> list[int]:
    found = [StreamBatch.of(commit) for commit in graph.commits()]
    return [batch.batch_id for batch in found if batch is not None][::-1]


def stored(graph: Graph, type_name: str, *columns: str) -> list[tuple[Any, ...]]:
    rows = graph.snapshot().table(type_name).to_arrow(list(columns)).to_pylist()
    return sorted(tuple(row[name] for name in columns) for row in rows)


def test_a_stream_of_records_brings_nodes_and_edges_sets_bad_ones_aside_and_takes_the_newest(
    spark: Any, graph: Graph, tmp_path: Path
) -> None:
    bad = tmp_path / "bad"

    def run() -> None:
        lines = spark.readStream.option("maxFilesPerTrigger", 1).text(f"{tmp_path}/in")
        sink = lines.writeStream.format("omnigraph").options(
            graph=graph.uri, loadMode="merge", newestBy="seen", badRecordsPath=str(bad), queryId="ports"
        )
        checkpoint = sink.option("checkpointLocation", f"{tmp_path}/checkpoint")
        checkpoint.trigger(availableNow=True).start().awaitTermination()

    put(
        tmp_path,
        "0.json",
        {"edge": "Route", "from": "a", "to": "b", "data": {"id": "r"}},
        port("a", depth=2, seen="2021-01-01T00:00:00Z"),
        port("a", depth=1, seen="2020-01-01T00:00:00Z"),
        port("b"),
    )
    run()
    put(tmp_path, "1.json", port("c"), port("d", depth="deep"), "no record")
    run()
    written = (bad / "ports" / "batch-00000001.jsonl").read_bytes()
    (tmp_path / "checkpoint" / "commits" / "1").unlink()
    (tmp_path / "checkpoint" / "commits" / ".1.crc").unlink(missing_ok=True)
    run()

    assert batches(graph) == [0, 1]
    assert stored(graph, "Port", "id", "depth") == [("a", 2), ("b", None), ("c", None)]
    assert stored(graph, "Route", "id", "src", "dst") == [("r", "a", "b")]
    assert [path.name for path in (bad / "ports").iterdir()] == ["batch-00000001.jsonl"]
    assert (bad / "ports" / "batch-00000001.jsonl").read_bytes() == written
    assert [json.loads(line)["codes"] for line in written.splitlines()] == [["wrong_type"], ["invalid_json"]]


def test_updated_aggregates_merge_by_key_through_foreach_batch(spark: Any, graph: Graph, tmp_path: Path) -> None:
    def run() -> None:
        lines = spark.readStream.schema("port string").option("maxFilesPerTrigger", 1).json(f"{tmp_path}/in")
        visits = lines.groupBy("port").agg({"*": "count"}).withColumnRenamed("count(1)", "visits")
        sink = visits.writeStream.outputMode("update").foreachBatch(each_batch(graph.uri, type="Visit"))
        checkpoint = sink.option("checkpointLocation", f"{tmp_path}/checkpoint")
        checkpoint.trigger(availableNow=True).start().awaitTermination()

    put(tmp_path, "0.json", {"port": "a"}, {"port": "a"}, {"port": "b"})
    run()
    put(tmp_path, "1.json", {"port": "b"}, {"port": "c"})
    run()
    (tmp_path / "checkpoint" / "commits" / "1").unlink()
    (tmp_path / "checkpoint" / "commits" / ".1.crc").unlink(missing_ok=True)
    run()

    assert stored(graph, "Visit", "port", "visits") == [("a", 2), ("b", 2), ("c", 1)]
    assert batches(graph) == [0, 1]


def test_a_frame_is_written_once_under_the_number_of_its_batch(spark: Any, graph: Graph) -> None:
    frame = spark.sql("SELECT concat('p', id) AS code FROM range(3)")

    def save(**options: Any) -> None:
        named = {"graph": graph.uri, "type": "Port", "loadMode": "append"} | options
        frame.write.format("omnigraph").options(**named).mode("append").save()

    save(queryId="nightly", batchId=1)
    save(txnAppId="nightly", txnVersion=1)

    assert batches(graph) == [1]
    with pytest.raises(Exception, match=r'"queryId" is for batches of a stream; say which with "batchId"'):
        save(queryId="nightly")
    with pytest.raises(Exception, match="does not tell the sink which query it serves"):
        save(batchId=2)


def test_spark_lets_no_sink_written_in_python_take_updates(spark: Any, graph: Graph, tmp_path: Path) -> None:
    """When this fails, the sink itself may take `outputMode("update")`, and nobody needs `each_batch` for it."""
    put(tmp_path, "0.json", {"port": "a"})
    visits = spark.readStream.schema("port string").json(f"{tmp_path}/in").groupBy("port").count()
    sink = visits.writeStream.outputMode("update").format("omnigraph").options(graph=graph.uri, loadMode="merge")

    with pytest.raises(Exception, match=r"(?i)update"):
        sink.option("checkpointLocation", f"{tmp_path}/checkpoint").start().awaitTermination()
