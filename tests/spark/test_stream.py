"""The streaming sink: a commit per micro-batch, each exactly once, whatever dies in between."""

import json
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import omnigraph
from omnigraph.base import clock, ids
from omnigraph.errors import StreamDiverged
from omnigraph.graph import Graph
from omnigraph.manifest.commits import Commit
from omnigraph.pipeline.load.once import StreamBatch
from support.spark_child import stream_events

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

SCHEMA = "node Event { name: String  n: I64? }"
CHILD = Path(__file__).parents[1] / "support" / "spark_child.py"


@pytest.fixture
def graph(local_root: str) -> Graph:
    return omnigraph.init(local_root, SCHEMA)


def put(directory: Path, name: str, *events: str | None) -> None:
    (directory / "in").mkdir(exist_ok=True)
    (directory / "in" / name).write_text("\n".join(json.dumps({"name": event, "n": 1}) for event in events))


def batches(graph: Graph) -> list[int]:
    found = [StreamBatch.of(commit) for commit in graph.commits()]
    return [batch.batch_id for batch in found if batch is not None][::-1]


def events(graph: Graph) -> list[str]:
    return sorted(graph.snapshot().table("Event").to_arrow()["name"].to_pylist())


def test_a_batch_is_there_once_after_the_driver_was_killed_behind_its_commit(
    spark: Any, graph: Graph, tmp_path: Path
) -> None:
    put(tmp_path, "0.json", "a", "b")
    put(tmp_path, "1.json", "c")
    child = subprocess.Popen(
        [sys.executable, CHILD, graph.uri, "local[2]", tmp_path, "stream"],
        env=os.environ | {"OMNIGRAPH_FAILPOINT": "write.after_publish:pause"},
        start_new_session=True,
    )
    try:
        is_published = clock.wait_until(
            lambda: bool(batches(graph)) or child.poll() is not None, timeout_seconds=300, pause_seconds=0.2
        )
    finally:
        os.killpg(child.pid, signal.SIGKILL)  # the driver, its JVM and the process that commits
        child.wait()
    assert is_published
    assert not (tmp_path / "checkpoint" / "commits" / "0").exists()

    stream_events(spark, graph.uri, str(tmp_path))

    assert (batches(graph), events(graph)) == ([0, 1], ["a", "b", "c"])
    assert (tmp_path / "checkpoint" / "commits" / "1").exists()


def test_a_batch_that_is_refused_stops_the_stream_and_leaves_nothing(spark: Any, graph: Graph, tmp_path: Path) -> None:
    put(tmp_path, "0.json", "a", None)

    with pytest.raises(Exception, match=r"load rejected: 1 error .*Event.name is required but null"):
        stream_events(spark, graph.uri, str(tmp_path))

    assert (batches(graph), events(graph)) == ([], [])
    assert not Path(graph.uri, "__staging").exists()


def test_a_stream_whose_checkpoint_is_gone_is_refused_instead_of_skipping_what_is_new(
    spark: Any, graph: Graph, tmp_path: Path
) -> None:
    put(tmp_path, "0.json", "a")
    put(tmp_path, "1.json", "b")
    stream_events(spark, graph.uri, str(tmp_path), queryId="visits")
    shutil.rmtree(tmp_path / "checkpoint")
    shutil.rmtree(tmp_path / "in")
    put(tmp_path, "2.json", "c")

    with pytest.raises(Exception, match=r"The stream visits brings other rows as batch 0 .* last batch here is 1"):
        stream_events(spark, graph.uri, str(tmp_path), queryId="visits")
    assert (batches(graph), events(graph)) == ([0, 1], ["a", "b"])

    shutil.rmtree(tmp_path / "checkpoint")
    stream_events(spark, graph.uri, str(tmp_path), queryId="visits again")
    assert (batches(graph), events(graph)) == ([0, 1, 0], ["a", "b", "c"])


def test_a_lost_checkpoint_with_the_same_input_writes_nothing_twice(spark: Any, graph: Graph, tmp_path: Path) -> None:
    put(tmp_path, "0.json", "a", "b")
    stream_events(spark, graph.uri, str(tmp_path), queryId="visits")
    shutil.rmtree(tmp_path / "checkpoint")
    put(tmp_path, "1.json", "c")

    stream_events(spark, graph.uri, str(tmp_path), queryId="visits")

    assert (batches(graph), events(graph)) == ([0, 1], ["a", "b", "c"])


class Log:
    """A log that says how far back it was read."""

    def __init__(self, commits: list[Commit]) -> None:
        self.commits = commits
        self.reads: list[int] = []

    def line_after(self, version: int, *, head: Commit) -> list[Commit]:
        self.reads.append(version)
        return [commit for commit in self.commits if version < commit.graph_version <= head.graph_version]


def test_the_search_for_a_batch_ends_at_the_last_one_of_its_stream(graph: Graph) -> None:
    genesis = graph.commits()[0]

    def commit(version: int, stream: str | None) -> Commit:
        batch = StreamBatch(query_id=stream, batch_id=version) if stream else None
        return replace(
            genesis,
            graph_commit_id=ids.new_ulid(),
            graph_version=version,
            metadata=batch.metadata() if batch else {},
        )

    log: Any = Log([commit(version, {3: "a", 900: "b", 990: "a"}.get(version)) for version in range(1, 1001)])
    head = log.commits[-1]

    def is_on(stream: str, batch: int) -> tuple[bool, list[int]]:
        log.reads.clear()
        return StreamBatch(query_id=stream, batch_id=batch).is_on(log, head), list(log.reads)

    assert is_on("a", 990) == (True, [936])
    assert is_on("a", 991) == (False, [936])
    assert is_on("a", 3) == (True, [936])
    assert is_on("b", 901) == (False, [936, 488])
    assert is_on("c", 0) == (False, [936, 488, 0])


def test_a_number_that_is_taken_proves_nothing_without_the_rows(graph: Graph) -> None:
    genesis = graph.commits()[0]
    contents = {1: (0, "x"), 2: (1, "y"), 3: (4, "z")}
    batches = {
        version: StreamBatch(query_id="s", batch_id=number, content=content)
        for version, (number, content) in contents.items()
    }
    log: Any = Log(
        [
            replace(genesis, graph_commit_id=ids.new_ulid(), graph_version=version, metadata=batch.metadata())
            for version, batch in batches.items()
        ]
    )

    def is_on(number: int, content: str | None) -> bool:
        return StreamBatch(query_id="s", batch_id=number, content=content).is_on(log, log.commits[-1])

    assert [is_on(5, "n"), is_on(4, "z"), is_on(1, "y"), is_on(0, "x"), is_on(0, None)] == [False, *[True] * 4]
    for number, content in ((4, "other"), (0, "other"), (3, "was empty then")):
        with pytest.raises(StreamDiverged):
            is_on(number, content)
