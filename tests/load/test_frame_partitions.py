"""Partitions that workers keep: attempts that do not count, pieces of a partition, and batches that come twice."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterable
from io import BytesIO
from pathlib import Path

import pyarrow as pa
import pytest

import omnigraph
from omnigraph.connectors.spark.options import WRITE, Options
from omnigraph.connectors.spark.writing import WriteOptions
from omnigraph.errors import ConstraintViolation, OmniError, Usage
from omnigraph.graph import Graph
from omnigraph.pipeline.load.bulk import held, partitions
from omnigraph.pipeline.load.bulk.partitions import PARTITIONS_MAX, keep_partition
from omnigraph.pipeline.load.frames import FrameLoad
from omnigraph.pipeline.load.once import StreamBatch
from omnigraph.pipeline.load.request import FrameLoadRequest
from omnigraph.storage.store import GraphStore
from support import batch_child
from support.frame_loads import commit, context_of

SCHEMA = "node Port { code: String @key  depth: I32? }"


@pytest.fixture
def graph(local_root: str) -> Graph:
    return omnigraph.init(local_root, SCHEMA)


def begin(graph: Graph, mode: str = "append") -> FrameLoad:
    return FrameLoad.begin(context_of(graph), FrameLoadRequest(type="Port", mode=mode), ["code", "depth"])


def batches(*codes: str, size: int = 1) -> list[pa.RecordBatch]:
    rows = pa.table({"code": list(codes), "depth": pa.array([len(code) for code in codes], pa.int32())})
    return rows.to_batches(max_chunksize=size)


def codes(graph: Graph) -> list[str]:
    return sorted(graph.snapshot().table("Port").to_arrow()["id"].to_pylist())


@pytest.mark.parametrize("mode", ["append", "merge", "overwrite"])
def test_only_the_attempts_that_are_committed_count(graph, mode, way):
    load = begin(graph, mode)
    keep_partition(load.task, 0, batches("lost", "a"))
    keep_partition(load.task, 1, batches("b"))
    kept = [keep_partition(load.task, 1, batches("c")), keep_partition(load.task, 0, batches("a", "d"))]

    commit(load, graph, *kept)

    assert codes(graph) == ["a", "c", "d"]
    assert len(graph.commits()) == 2
    assert not Path(graph.uri, "__staging").exists()


def test_a_message_stands_on_the_commit(graph):
    options = WriteOptions.of(
        Options.of({"graph": graph.uri, "type": "Port", "loadMode": "append", "message": "from Spark"}, WRITE),
        overwrite=False,
    )
    load = options.begin(["code", "depth"])

    made = commit(load, graph, keep_partition(load.task, 0, batches("a")))

    assert made.message == "from Spark"


@pytest.mark.parametrize("mode", ["append", "merge"])
def test_a_large_partition_is_kept_in_several_pieces_with_rows_counted_over_all(graph, mode, monkeypatch):
    monkeypatch.setattr(partitions, "PIECE_BYTES", 5)
    load = begin(graph, mode)
    first = keep_partition(load.task, 0, batches("a", "b", "c"))
    second = keep_partition(load.task, 7, batches("d", "b"))

    assert [len(kept.outcomes) for kept in (first, second)] == [3, 2]
    with pytest.raises(ConstraintViolation, match=r"Port 'b' occurs at <frame>:2 and again at <frame>:5"):
        commit(load, graph, second, first)
    assert (codes(graph), Path(graph.uri, "__staging").exists()) == ([], False)


def test_places_are_those_of_the_frame_whichever_way_partitions_go(graph, way):
    graph.load(BytesIO(b'{"type":"Port","data":{"code":"old"}}'), mode="append")
    load = begin(graph)
    parts = [batches("a", "b"), [], batches("c"), batches("d", "a", "old")]
    kept = [keep_partition(load.task, number, part) for number, part in enumerate(parts)]

    with pytest.raises(ConstraintViolation) as rejected:
        commit(load, graph, *reversed(kept))

    assert [entry["message"] for entry in rejected.value.details["errors"]] == [
        "Port 'a' occurs at <frame>:1 and again at <frame>:5",
        "Port 'old' exists already",
    ]
    assert [(entry["file"], entry["line"]) for entry in rejected.value.details["errors"]] == [
        ("<frame>", 5),
        ("<frame>", 6),
    ]
    assert not Path(graph.uri, "__staging").exists()


def test_many_small_partitions_become_one_data_file(graph, monkeypatch):
    monkeypatch.setattr(held, "IN_MEMORY_BYTES_MAX", 100)
    load = begin(graph)
    kept = [keep_partition(load.task, number, batches(f"a{number}", f"b{number}")) for number in range(9)]

    commit(load, graph, *kept)

    assert codes(graph) == sorted(f"{letter}{number}" for letter in "ab" for number in range(9))
    assert len(list(Path(graph.uri).glob("nodes/*/data/*.lance"))) == 1


def test_a_partition_waits_with_its_share_of_what_fits_and_with_next_to_nothing_always():
    share = held.IN_MEMORY_BYTES_MAX

    assert [held.may_wait(size, 0) for size in (share, share + 1)] == [True, False]
    assert [held.may_wait(size, 3) for size in (share // 4, share // 4 + 1)] == [True, False]
    assert held.may_wait(1_000, PARTITIONS_MAX - 1)


def test_an_attempt_that_fails_leaves_nothing_behind(graph):
    load = begin(graph, "merge")

    def broken() -> Iterable[pa.RecordBatch]:
        yield from batches("a")
        raise OSError("the network is gone")

    with pytest.raises(OSError, match="the network is gone"):
        keep_partition(load.task, 0, broken())
    kept = keep_partition(load.task, 0, batches("a"))

    assert [path.name for path in Path(graph.uri, "__staging", load.task.load.operation_id).iterdir()] == [
        kept.outcomes[0].folder.rstrip("/")
    ]
    load.clear(GraphStore.open(graph.uri))
    assert not Path(graph.uri, "__staging").exists()


def test_a_frame_that_is_cut_too_fine_is_refused(graph, monkeypatch):
    load = begin(graph)
    with pytest.raises(Usage, match="coalesce"):
        keep_partition(load.task, PARTITIONS_MAX, batches("a"))
    monkeypatch.setattr(partitions, "PIECE_BYTES", 1)
    monkeypatch.setattr(partitions, "PIECES_PER_PARTITION", 2)
    with pytest.raises(Usage, match="repartition"):
        keep_partition(load.task, 0, batches("a", "b", "c"))


def test_a_schema_that_changed_meanwhile_refuses_the_commit(graph):
    load = begin(graph)
    kept = keep_partition(load.task, 0, batches("a"))
    graph.apply_schema(f"{SCHEMA}\nnode Buoy {{ name: String }}")

    with pytest.raises(OmniError, match="schema"):
        commit(load, graph, kept)

    assert codes(graph) == []


def test_a_batch_that_two_drivers_hold_is_committed_once(graph):
    batch = StreamBatch(query_id="q", batch_id=4)
    first, second = begin(graph), begin(graph)
    kept, repeated = (keep_partition(load.task, 0, batches("a")) for load in (first, second))

    done = commit(first, graph, kept, batch=batch)
    again = commit(second, graph, repeated, batch=batch)

    assert done is not None
    assert StreamBatch.of(done) == batch
    assert again is None
    assert len(graph.commits()) == 2
    following = begin(graph)
    assert commit(
        following, graph, keep_partition(following.task, 0, batches("b")), batch=StreamBatch(query_id="q", batch_id=5)
    )
    assert codes(graph) == ["a", "b"]


@pytest.mark.parametrize(
    "point",
    [
        *("write.after_stage", "write.after_arm", "write.after_effects"),
        *("write.after_publish", "write.after_log"),
    ],
)
def test_a_batch_is_there_once_wherever_its_process_died(graph, point, tmp_path):
    bad = tmp_path / "bad.jsonl"
    child = subprocess.run(
        [sys.executable, Path(batch_child.__file__), graph.uri, "4", bad, "a", "?", "b"],
        env=os.environ | {"OMNIGRAPH_FAILPOINT": f"{point}:kill"},
        capture_output=True,
        check=False,
    )
    assert child.returncode == -signal.SIGKILL

    batch_child.load_batch(graph.uri, 4, str(bad), ["a", "?", "b"])
    batch_child.load_batch(graph.uri, 5, str(tmp_path / "none.jsonl"), ["c"])

    assert codes(graph) == ["a", "b", "c"]
    found = [StreamBatch.of(commit) for commit in graph.commits()]
    assert [batch.batch_id for batch in found if batch is not None] == [5, 4]
    assert graph.pending_operations() == []
    assert (len(bad.read_text().splitlines()), (tmp_path / "none.jsonl").exists()) == (1, False)
