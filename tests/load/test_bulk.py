"""Bulk loads mean what small loads mean: on the threads of this process, on Spark, cut wherever they are cut."""

import gzip
import importlib
import json
import os
import signal
from functools import partial
from threading import Timer

import pytest

import omnigraph
from omnigraph.base import clock
from omnigraph.engine.interface import Produced
from omnigraph.errors import Io, SparkJobFailed
from omnigraph.pipeline.load import inputs, lines
from omnigraph.pipeline.load.bulk import buckets, pieces, reading
from omnigraph.pipeline.load.sources import LocalInputs, find_inputs
from omnigraph.writes.exchange import removing
from support.bulk_story import REFUSED, SCHEMA, tell
from support.graphs import edge, node


@pytest.fixture
def tiny_pieces(monkeypatch):
    """Cut input into many pieces, so that records of one check lie in different ones."""
    monkeypatch.setattr(pieces, "PIECE_BYTES_MIN", 150)
    monkeypatch.setattr(pieces, "PIECE_BYTES_MAX", 150)


def local_in_pieces(graph, data, *, mode):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inputs, "IN_MEMORY_BYTES_MAX", -1)
        return graph.load(data, mode=mode, engine="local")


def test_pieces_in_this_process_agree_with_a_small_load(tmp_path, tiny_pieces):
    tell(tmp_path, bulk=local_in_pieces, refusals=range(len(REFUSED)))


def test_checks_in_many_buckets_agree_with_a_small_load(tmp_path, tiny_pieces, monkeypatch):
    monkeypatch.setattr(buckets, "_BUCKET_INPUT_BYTES", 150)

    tell(tmp_path, bulk=local_in_pieces, refusals=range(len(REFUSED)))


def test_a_file_that_nobody_can_cut_is_kept_in_parts(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "_PART_BYTES", 0)
    monkeypatch.setattr(lines.read_chunks, "__kwdefaults__", lines.read_chunks.__kwdefaults__ | {"chunk_bytes": 64})
    graph = omnigraph.init(str(tmp_path / "g.omni"), SCHEMA)
    data = tmp_path / "ports.jsonl.gz"
    with gzip.open(data, "wt") as packed:
        packed.write("\n".join(json.dumps(node("Port", code=f"p{n}")) for n in range(20)))
        packed.write("\n" + "\n".join(json.dumps(edge("Route", f"p{n}", f"p{19 - n}")) for n in range(20)))

    loaded = local_in_pieces(graph, data, mode="append")

    snapshot = graph.snapshot()
    assert loaded.total_rows == 40
    assert sorted(snapshot.table("Port").to_arrow()["code"].to_pylist()) == sorted(f"p{n}" for n in range(20))
    assert snapshot.table("Route").to_arrow().num_rows == 20


def test_a_bulk_load_works_on_a_branch_and_leaves_main_alone(tmp_path, tiny_pieces):
    graph = omnigraph.init(str(tmp_path / "g.omni"), SCHEMA)
    first, second = ([node("Port", code=f"{letter}{n}") for n in range(9)] for letter in "ab")
    for name, records in (("a", first), ("b", [*second, node("Port", code="a1", mail="m")])):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, records)))
    local_in_pieces(graph, tmp_path / "a.jsonl", mode="append")
    graph.branches.create("side")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inputs, "IN_MEMORY_BYTES_MAX", -1)
        graph.load(tmp_path / "b.jsonl", mode="merge", branch="side", engine="local")

    ports = graph.snapshot("side").table("Port").to_arrow()
    assert ports.num_rows == 18
    assert dict(zip(ports["id"].to_pylist(), ports["mail"].to_pylist(), strict=True))["a1"] == "m"
    assert graph.snapshot().table("Port").to_arrow().num_rows == 9


def test_a_file_that_vanishes_fails_the_load_and_leaves_no_staging(tmp_path, tiny_pieces, monkeypatch):
    graph = omnigraph.init(str(tmp_path / "g.omni"), SCHEMA)
    data = tmp_path / "gone.jsonl"
    data.write_text("\n".join(json.dumps(node("Port", code=f"p{n}")) for n in range(20)))
    plan = pieces.plan_pieces

    def plan_then_lose(*arguments, **options):
        planned = plan(*arguments, **options)
        data.unlink()
        return planned

    monkeypatch.setattr(inputs, "plan_pieces", plan_then_lose)

    with pytest.raises(Io, match=r"gone\.jsonl"):
        local_in_pieces(graph, data, mode="append")

    assert not (tmp_path / "g.omni" / "__staging").exists()
    assert graph.snapshot().table("Port").to_arrow().num_rows == 0


def spark_load(graph, data, *, mode):
    loaded = graph.load(data, mode=mode, engine="spark")
    assert (loaded.engine, loaded.engine_reason) == ("spark", "engine spark")
    return loaded


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("rows_max", "refusals"), [(-1, (2,)), (1_000, (4, 7))], ids=["shuffled", "on one worker"])
def test_spark_agrees_with_a_small_load(tmp_path, monkeypatch, rows_max, refusals):
    monkeypatch.setattr(removing, "_FEW_ROWS", 0)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("omnigraph.engine.spark.engine.LONE_ROWS_MAX", rows_max)

    tell(tmp_path, bulk=spark_load, refusals=refusals)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_spark_runs_tasks_groups_and_statements_and_tells_what_failed(tmp_path, monkeypatch):
    import pyarrow as pa

    from omnigraph.engine.choice import EngineChoice, EngineName
    from omnigraph.engine.spark.engine import SparkEngine
    from omnigraph.engine.spark.session import open_session

    engine = SparkEngine(
        open_session(EngineChoice(engine=EngineName.SPARK), os.environ), {"OMNIGRAPH_TEST_KEY": "hush"}
    )
    numbers = pa.schema([("n", pa.uint64())])

    assert sorted(engine.map(abs, [-1, 2, -3])) == [1, 2, 3]
    with monkeypatch.context() as each_its_own:
        each_its_own.setattr("omnigraph.engine.spark.engine.CARRIED_BYTES_MAX", 0)
        assert sorted(engine.map(len, [b"x" * length for length in range(9)])) == list(range(9))
    assert set(engine.map(os.getenv, ["OMNIGRAPH_TEST_KEY"])) == {"hush"}
    two, nothing = pa.table({"n": [1, 2]}, schema=numbers), Produced(schema=numbers, read=iter, tasks=(), rows=0)
    for rows_max in (-1, 1_000):
        monkeypatch.setattr("omnigraph.engine.spark.engine.LONE_ROWS_MAX", rows_max)
        assert engine.sql({"t": two}, "SELECT sum(n) AS s FROM t")["s"].to_pylist() == [3]
        assert engine.sql({"t": nothing}, "SELECT count(*) AS c FROM t")["c"].to_pylist() == [0]
        groups = pa.table({"n": range(16)}, schema=numbers)
        tasks = engine.map_groups(
            {"t": groups},
            "SELECT n FROM t",
            by="n",
            function=lambda _, __: importlib.import_module("pyspark").TaskContext.get().partitionId(),
        )
        assert len(set(tasks)) > 1, "groups are spread, wherever the statement ran"
        three = pa.table({"n": [1, 2, 2]}, schema=numbers)
        joined = "WITH k AS (SELECT n FROM t WHERE n = 2) SELECT count(*) AS c FROM k a JOIN k b ON a.n = b.n"
        assert [engine.sql({"t": three}, joined)["c"].to_pylist() for _ in range(2)] == [[4], [4]]
    with pytest.raises(Io, match="absent"):
        list(engine.map(partial(find_inputs, store=LocalInputs()), [str(tmp_path / "absent")]))
    with pytest.raises(SparkJobFailed, match="TypeError: bad operand type"):
        list(engine.map(abs, ["x"]))
    interrupt = Timer(4, os.kill, (os.getpid(), signal.SIGINT))
    interrupt.start()
    with pytest.raises(KeyboardInterrupt, match="cancelled and nothing was committed"):
        list(engine.map(clock.sleep_seconds, [3_600]))
    assert list(engine.map(abs, [-5])) == [5], "the session must stay usable"
    engine.close()


def test_pieces_reach_a_graph_wherever_it_lies(tmp_path, store_root, tiny_pieces):
    graph = omnigraph.init(store_root, SCHEMA)
    data = tmp_path / "ports.jsonl"
    data.write_text("\n".join(json.dumps(node("Port", code=f"p{n}")) for n in range(20)))

    assert local_in_pieces(graph, data, mode="append").total_rows == 20
    assert local_in_pieces(graph, data, mode="merge").commit is None
    data.write_text("\n".join(json.dumps(node("Port", code=f"p{n}", mail=f"m{n}")) for n in range(5)))
    changed = local_in_pieces(graph, data, mode="merge")

    ports = graph.snapshot().table("Port").to_arrow()
    assert changed.commit is not None
    assert (ports.num_rows, ports["mail"].null_count) == (20, 15)
    assert graph._context.store.objects.list("__staging/") == ()


def test_pieces_are_read_from_a_bucket(tmp_path, s3_root, tiny_pieces, monkeypatch):
    graph = omnigraph.init(str(tmp_path / "g.omni"), SCHEMA)
    for name in ("a", "b"):
        records = "\n".join(json.dumps(node("Port", code=f"{name}{n}")) for n in range(9))
        omnigraph.init(f"{s3_root}/{name}.omni", SCHEMA)._context.store.objects.put("ports.jsonl", records.encode())

    cut: list[int] = []
    monkeypatch.setattr(inputs, "plan_pieces", lambda *given, **options: _counted(cut, *given, **options))
    loaded = local_in_pieces(graph, f"{s3_root}/*.omni/ports.jsonl", mode="append")

    assert loaded.total_rows == 18
    assert cut[0] > 2, "objects are cut like files"


def _counted(cut, *given, **options):
    planned = pieces.plan_pieces(*given, **options)
    cut.append(len(planned))
    return planned
