"""What a user of Spark reads when something fails: one sentence of ours first, the stack trace behind it."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import omnigraph
from omnigraph.graph import Graph
from support import harbor

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

TRACE = "Traceback (most recent call last)"


@pytest.fixture
def graph(local_root: str) -> Graph:
    graph = omnigraph.init(local_root, "node Port { code: String @key }")
    graph.load(harbor.lines([{"type": "Port", "data": {"code": "a"}}]), mode="append")
    return graph


def read(spark: Any, graph: Graph, **options: str) -> Any:
    return spark.read.format("omnigraph").options(graph=graph.uri, type="Port", **options).load()


def an_option_that_is_unknown(spark: Any, graph: Graph, _: Path) -> None:
    read(spark, graph, brnch="main")


def a_file_that_is_gone(spark: Any, graph: Graph, _: Path) -> None:
    frame = read(spark, graph)
    for data in Path(graph.uri, "nodes").rglob("data/*.lance"):
        data.unlink()
    frame.collect()


def a_row_that_exists(spark: Any, graph: Graph, _: Path) -> None:
    frame = spark.sql("SELECT 'a' AS code")
    frame.write.format("omnigraph").options(graph=graph.uri, type="Port", loadMode="append").mode("append").save()


def a_batch_that_is_refused(spark: Any, graph: Graph, directory: Path) -> None:
    (directory / "in").mkdir()
    (directory / "in" / "1.json").write_text('{"code": "a"}')
    rows = spark.readStream.schema("code string").json(str(directory / "in"))
    sink = rows.writeStream.format("omnigraph").options(graph=graph.uri, type="Port", loadMode="append")
    sink.option("checkpointLocation", str(directory / "c")).trigger(availableNow=True).start().awaitTermination()


CASES: dict[Callable[[Any, Graph, Path], None], str] = {
    a_batch_that_is_refused: "KeyConflict: load rejected: 1 error in 1 file; first: <frame>:1: Port 'a' exists already",
    an_option_that_is_unknown: 'Usage: The omnigraph source has no option "brnch"; did you mean "branch"?',
    a_file_that_is_gone: "StorageError: reading nodes/",
    a_row_that_exists: "KeyConflict: load rejected: 1 error in 1 file; first: <frame>:1: Port 'a' exists already",
}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_our_sentence_comes_before_the_trace(
    spark: Any, graph: Graph, tmp_path: Path, case: Callable[[Any, Graph, Path], None]
) -> None:
    from omnigraph.spark import register

    register(spark)

    with pytest.raises(Exception) as failed:
        case(spark, graph, tmp_path)

    before, found, _ = str(failed.value).partition(TRACE)
    assert found, "the trace is there"
    assert CASES[case] in before
    assert "\tat org.apache" not in before


def test_a_python_worker_that_dies_is_said_in_one_sentence(spark: Any, graph: Graph) -> None:
    def dying(batches: Iterator[Any]) -> Iterator[Any]:
        os.kill(os.getpid(), signal.SIGKILL)
        yield from batches

    with pytest.raises(omnigraph.errors.SparkJobFailed) as failed:
        graph.load_dataframe(spark.range(2).mapInArrow(dying, "id long"), type="Port", mode="merge", map={"id": "code"})

    assert str(failed.value).startswith("The Spark job failed: Python worker exited unexpectedly")
    assert "\n" not in str(failed.value)
    assert "PythonRunner" in str(failed.value.__cause__), "what Spark printed is behind it"
