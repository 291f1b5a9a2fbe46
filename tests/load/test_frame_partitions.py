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
from omnigraph.base.events import ignore_events
from omnigraph.connectors.spark.options import WRITE, Options
from omnigraph.connectors.spark.writing import WriteOptions
from omnigraph.engine.local import LocalEngine
from omnigraph.errors import ConstraintViolation, OmniError, Usage
from omnigraph.graph import Graph
from omnigraph.graphs.context import GraphContext
from omnigraph.manifest.commits import Commit
from omnigraph.pipeline.load import frames
from omnigraph.pipeline.load.bulk import held, lookups, partitions
from omnigraph.pipeline.load.bulk.partitions import PARTITIONS_MAX, PartitionOutcome, keep_partition
from omnigraph.pipeline.load.frames import FrameLoad
from omnigraph.pipeline.load.once import StreamBatch
from omnigraph.pipeline.load.request import FrameLoadRequest
from omnigraph.storage.store import GraphStore
from omnigraph.storage.tables import Table
from support import batch_child
from support.bulk_story import row_ids

SCHEMA = "node Port { code: String @key  depth: I32? }"


@pytest.fixture
def graph(local_root: str) -> Graph:
    return omnigraph.init(local_root, SCHEMA)


def context_of(graph: Graph) -> GraphContext:
    return GraphContext.over(GraphStore.open(graph.uri), LocalEngine())


def begin(graph: Graph, mode: str = "append") -> FrameLoad:
    return FrameLoad.begin(context_of(graph), FrameLoadRequest(type="Port", mode=mode), ["code", "depth"])


def batches(*codes: str, size: int = 1) -> list[pa.RecordBatch]:
    rows = pa.table({"code": list(codes), "depth": pa.array([len(code) for code in codes], pa.int32())})
    return rows.to_batches(max_chunksize=size)


def commit(load: FrameLoad, graph: Graph, *kept: PartitionOutcome, batch: StreamBatch | None = None) -> Commit | None:
    return load.commit(context_of(graph), kept, ignore_events, batch=batch)


def codes(graph: Graph) -> list[str]:
    return sorted(graph.snapshot().table("Port").to_arrow()["id"].to_pylist())


@pytest.fixture(params=["few", "together", "apart"])
def way(request, monkeypatch) -> str:
    """How partitions become a commit: as a small load, as pieces made of several of them, or each by itself."""
    if request.param == "together":
        monkeypatch.setattr(frames, "are_few", lambda _: False)
    if request.param == "apart":
        monkeypatch.setattr(partitions, "may_wait", lambda _, __: False)
    return str(request.param)


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


NETWORK = """
node Port { code: String @key  depth: I32? @unique }
edge Leg: Port -> Port { miles: I32? }
edge Berth: Port -> Port @card(0..2) { miles: I32? }
"""


@pytest.fixture
def network(local_root: str) -> Graph:
    graph = omnigraph.init(local_root, NETWORK)
    lines = (b'{"type":"Port","data":{"code":"p%d","depth":%d}}\n' % (number, number) for number in range(50))
    graph.load(BytesIO(b"".join(lines)), mode="append")
    return graph


def begin_rows(graph: Graph, type_name: str, rows: pa.Table, mode: str = "append") -> FrameLoad:
    return FrameLoad.begin(context_of(graph), FrameLoadRequest(type=type_name, mode=mode), rows.column_names)


@pytest.fixture
def whole_scans(monkeypatch) -> list[str]:
    """Tables that were looked through without any filter."""
    found: list[str] = []
    scan = Table.scan

    def watched(table, columns=None, **options):
        if options.get("where") is None and not table.address.path.startswith("__"):
            found.append(table.address.path)
        return scan(table, columns, **options)

    monkeypatch.setattr(Table, "scan", watched)
    return found


PORTS = pa.table({"code": ["x", "y"], "depth": pa.array([100, 101], pa.int32())})
LEGS = pa.table({"from": ["x", "p7"], "to": ["p3", "y"]})


@pytest.mark.parametrize("mode", ["append", "merge"])
def test_few_rows_are_checked_without_looking_through_what_is_stored(network, mode, whole_scans):
    for type_name, rows in (("Port", PORTS), ("Leg", LEGS), ("Berth", LEGS)):
        load = begin_rows(network, type_name, rows, mode)
        kept = keep_partition(load.task, 0, rows.to_batches())
        assert len([path for path in Path(network.uri, "__staging").rglob("*") if path.is_file()]) == 1
        assert commit(load, network, kept) is not None

    assert whole_scans == []
    assert [network.snapshot().table(name).count_rows() for name in ("Port", "Leg", "Berth")] == [52, 2, 2]


def test_workers_of_an_append_ask_what_is_stored_and_the_commit_does_not(network, whole_scans, monkeypatch):
    monkeypatch.setattr(partitions, "may_wait", lambda _, __: False)
    for type_name, rows in (("Port", PORTS), ("Leg", LEGS)):
        load = begin_rows(network, type_name, rows)
        kept = [keep_partition(load.task, 3, rows.slice(1).to_batches())]
        kept.append(keep_partition(load.task, 0, rows.slice(0, 1).to_batches()))
        assert {table.suspects for part in kept for outcome in part.outcomes for table in outcome.tables} == {0}
        assert commit(load, network, *kept) is not None

    assert whole_scans == []
    assert [network.snapshot().table(name).count_rows() for name in ("Port", "Leg")] == [52, 2]


def legs(*pairs: tuple[str, str], ids: tuple[str, ...] = ()) -> pa.Table:
    """Spell edges as rows of a frame."""
    named = {"id": list(ids)} if ids else {}
    return pa.table(named | {"from": [source for source, _ in pairs], "to": [target for _, target in pairs]})


def keep_each(load: FrameLoad, rows: pa.Table) -> list[PartitionOutcome]:
    """Keep every row as a partition of its own."""
    parts = enumerate(rows.to_batches(max_chunksize=1))
    return [keep_partition(load.task, number, [part]) for number, part in parts]


@pytest.mark.parametrize(
    ("type_name", "mode", "rows"),
    [
        ("Berth", "append", legs(("p1", "p3"), ("p2", "p3"), ("p2", "p4"))),
        ("Berth", "merge", legs(("p1", "p4"), ("p1", "p3"), ids=("b1", "b2"))),
        ("Berth", "overwrite", legs(("p1", "p3"), ("p1", "p4"))),
        ("Leg", "overwrite", legs(("p1", "p3"), ("p1", "p4"))),
        ("Port", "merge", pa.table({"code": ["p1", "x"], "depth": pa.array([300, 301], pa.int32())})),
    ],
)
def test_a_commit_asks_nothing_that_workers_could_ask(network, whole_scans, monkeypatch, type_name, mode, rows):
    commit_rows(network, "Berth", legs(("p1", "p2"), ids=("b1",)))
    monkeypatch.setattr(partitions, "may_wait", lambda _, __: False)
    load = begin_rows(network, type_name, rows, mode)
    kept = keep_each(load, rows)
    whole_scans.clear()

    assert commit(load, network, *kept) is not None

    assert whole_scans == []
    stored = {"Berth": 1, "Leg": 0, "Port": 50}[type_name]
    known = 0 if mode == "append" else 1
    expected = len(rows) if mode == "overwrite" else stored + len(rows) - known
    assert network.snapshot().table(type_name).count_rows() == expected


def test_workers_ask_tables_that_are_small_or_indexed(network, monkeypatch):
    monkeypatch.setattr(lookups, "LOOK_UP_ROWS_MAX", 50)
    commit_rows(network, "Leg", legs(("p1", "p2")))

    def asked() -> dict[str, bool]:
        frames_by_type = {"Leg": LEGS, "Berth": LEGS, "Port": PORTS}
        return {name: begin_rows(network, name, rows).task.load.looks_up for name, rows in frames_by_type.items()}

    assert asked() == {"Leg": False, "Berth": True, "Port": True}, "the ports and the leg are 51 rows"
    monkeypatch.setattr(lookups, "LOOK_UP_ROWS_MAX", 2)
    assert set(asked().values()) == {False}
    network.optimize()
    assert set(asked().values()) == {True}
    commit_rows(network, "Port", pa.table({"code": ["x", "y"], "depth": pa.array([300, 301], pa.int32())}))
    assert asked() == {"Leg": True, "Berth": True, "Port": False}, "two ports, to be looked for by code and by depth"


def commit_rows(graph: Graph, type_name: str, rows: pa.Table, mode: str = "append") -> Commit | None:
    load = begin_rows(graph, type_name, rows, mode)
    return commit(load, graph, *keep_each(load, rows))


def test_edges_of_a_source_are_counted_over_all_partitions_and_what_is_stored(network, way):
    commit_rows(network, "Berth", legs(("p1", "p2"), ("p5", "p6"), ("p5", "p7"), ids=("b1", "b2", "b3")))

    for mode, rows in (
        ("append", legs(("p1", "p3"), ("p1", "p4"))),
        ("append", legs(("p5", "p3"))),
        ("merge", legs(("p1", "p3"), ("p1", "p4"), ids=("n1", "n2"))),
        ("merge", legs(("p5", "p6"), ("p5", "p8"), ids=("b2", "n1"))),
        ("overwrite", legs(("p1", "p3"), ("p1", "p4"), ("p1", "p5"))),
    ):
        with pytest.raises(
            ConstraintViolation, match=r"@card violation on edge Berth: source 'p[15]' has 3 edges, max 2"
        ):
            commit_rows(network, "Berth", rows, mode)
    # The same edges again, one that leaves a full source for another, and one that comes to where it left.
    assert commit_rows(network, "Berth", legs(("p5", "p6"), ("p5", "p7"), ids=("b2", "b3")), "merge") is None
    assert commit_rows(network, "Berth", legs(("p1", "p9"), ids=("b2",)), "merge") is not None
    assert commit_rows(network, "Berth", legs(("p5", "p1")), "append") is not None

    berths = network.snapshot().table("Berth").to_arrow(["src"])["src"].to_pylist()
    assert sorted(berths) == ["p1", "p1", "p5", "p5"]


@pytest.mark.parametrize(
    ("type_name", "rows", "message"),
    [
        ("Leg", legs(("p1", "p2"), ("p2", "gone")), "Leg to 'gone': node Port not found"),
        ("Port", pa.table({"code": ["p1", "x"]}), "orphan"),
    ],
)
def test_an_overwrite_leaves_no_edge_without_its_ends(network, way, type_name, rows, message):
    commit_rows(network, "Leg", legs(("p1", "p2")))

    with pytest.raises(ConstraintViolation) as refused:
        commit_rows(network, type_name, rows, "overwrite")

    assert message in str(refused.value.details["errors"]) + str(refused.value.details)
    assert commit_rows(network, "Port", pa.table({"code": ["p2", "p1"]}), "overwrite") is not None
    assert codes(network) == ["p1", "p2"]


@pytest.mark.parametrize(
    ("type_name", "rows", "message"),
    [
        ("Port", pa.table({"code": ["x", "p7"]}), "Port 'p7' exists already"),
        ("Port", pa.table({"code": ["x", "x"]}), "Port 'x' occurs at <frame>:1 and again at <frame>:2"),
        (
            "Port",
            pa.table({"code": ["x", "y"], "depth": pa.array([100, 7], pa.int32())}),
            "@unique violation on Port.depth: '7' is held by both 'p7' and 'y'",
        ),
        (
            "Port",
            pa.table({"code": ["x", "y"], "depth": pa.array([100, 100], pa.int32())}),
            "@unique violation on Port.depth: '100' is held by both 'x' and 'y'",
        ),
        ("Leg", pa.table({"from": ["p1", "p2"], "to": ["p2", "gone"]}), "Leg to 'gone': node Port not found"),
        (
            "Berth",
            pa.table({"from": ["p1"] * 3, "to": ["p2"] * 3}),
            "@card violation on edge Berth: source 'p1' has 3 edges, max 2",
        ),
    ],
)
def test_every_way_refuses_the_same(network, way, type_name, rows, message):
    load = begin_rows(network, type_name, rows)
    parts = rows.to_batches(max_chunksize=1)
    kept = [keep_partition(load.task, number, [part]) for number, part in enumerate(parts)]

    with pytest.raises(OmniError) as refused:
        commit(load, network, *kept)

    assert [entry["message"] for entry in refused.value.details["errors"]] == [message]


def test_a_merge_rewrites_what_changed_and_nothing_else_whichever_way_partitions_go(network, way):
    rows = pa.table({"code": ["p1", "p2", "new"], "depth": pa.array([1, 200, 201], pa.int32())})
    before = row_ids(network, "node:Port")
    for expected in (True, False):
        load = begin_rows(network, "Port", rows, "merge")
        parts = enumerate(rows.to_batches(max_chunksize=2))
        kept = [keep_partition(load.task, number, [part]) for number, part in parts]
        assert (commit(load, network, *kept) is not None) is expected

    ports = {row["code"]: row["depth"] for row in network.snapshot().table("Port").to_arrow().to_pylist()}
    assert ports == {f"p{number}": number for number in range(50)} | {"p2": 200, "new": 201}
    after = row_ids(network, "node:Port")
    assert {code: after[code] for code in before} == before


def test_what_workers_found_counts_only_for_the_state_that_they_asked(network, way):
    rows = pa.table({"from": ["p1"], "to": ["p3"]})
    load = begin_rows(network, "Leg", rows)
    kept = keep_partition(load.task, 0, rows.to_batches())
    with network.write() as batch:
        batch.delete("Port", ids=["p3"])

    with pytest.raises(ConstraintViolation, match="Leg to 'p3': node Port not found"):
        commit(load, network, kept)


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
