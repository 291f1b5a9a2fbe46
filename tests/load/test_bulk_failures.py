"""Bulk loads in trouble: bad input far inside, full disks, tasks that run twice. All or nothing, one clear error."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import omnigraph
from omnigraph.errors import InvalidRecord, StorageError
from omnigraph.pipeline.load import inputs
from omnigraph.pipeline.load.bulk import pieces, writer
from support import troubled_pieces
from support.processes import TESTS, child_environment
from support.standalone_cluster import DRIVER, conf_flags, running_cluster

SCHEMA = """
node Port { code: String @key }
edge Route: Port -> Port
"""
ENGINES = ["local", pytest.param("spark", marks=[pytest.mark.slow, pytest.mark.timeout(900)])]


def port(code):
    return json.dumps({"type": "Port", "data": {"code": code}})


@pytest.fixture
def graph(tmp_path):
    return omnigraph.init(str(tmp_path / "g.omni"), SCHEMA)


@pytest.fixture
def in_pieces(monkeypatch):
    monkeypatch.setattr(inputs, "IN_MEMORY_BYTES_MAX", -1)
    monkeypatch.setattr(pieces, "PIECE_BYTES_MIN", 4_000)
    monkeypatch.setattr(pieces, "PIECE_BYTES_MAX", 4_000)


def assert_untouched(graph):
    """Nothing is visible, pinned or staged."""
    assert [commit.kind.value for commit in graph.commits()] == ["genesis"]
    assert [pin.version for pin in graph.snapshot().tables] == [1, 1]
    assert graph.snapshot().table("Port").to_arrow().num_rows == 0
    assert graph.pending_operations() == []
    assert not Path(graph.uri, "__staging").exists()


@pytest.mark.parametrize("engine", ENGINES)
def test_one_bad_record_far_inside_is_named_by_file_and_line_and_nothing_else_remains(
    graph, tmp_path, in_pieces, engine
):
    data = tmp_path / "input"
    data.mkdir()
    for name in ("a", "b"):
        lines = [port(f"{name}{number}") for number in range(600)]
        if name == "b":
            lines[417] = '{"type": "Port", "data": {"code": 7}}'
        (data / f"{name}.jsonl").write_text("\n".join(lines))

    with pytest.raises(InvalidRecord) as refused:
        graph.load(data, mode="append", engine=engine)

    found = refused.value.document()["invalid_record"]
    assert (found["file"], found["line"], found["total_errors"]) == ("b.jsonl", 418, 1)
    assert_untouched(graph)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_full_disk_is_one_clear_error_and_the_load_can_be_repeated(graph, tmp_path, engine, monkeypatch):
    monkeypatch.setattr(inputs, "IN_MEMORY_BYTES_MAX", -1)
    monkeypatch.setenv("PYTHONPATH", str(TESTS))  # for the workers, who must find the trouble
    data = tmp_path / "ports.jsonl"
    data.write_text("\n".join(port(f"p{number:060}") for number in range(200)))

    with monkeypatch.context() as full:
        full.setattr(writer, "read_piece", troubled_pieces.on_a_full_disk)
        with pytest.raises(
            StorageError, match=r"__staging.* failed: File too large\. Nothing was committed; make room"
        ):
            graph.load(data, mode="append", engine=engine)
    assert_untouched(graph)

    assert graph.load(data, mode="append", engine=engine).total_rows == 200


@pytest.fixture
def two_machines(tmp_path) -> Iterator[str]:
    """A cluster whose two workers have addresses of their own: Spark copies no slow task to the same host."""
    environment = child_environment() | {
        "PYSPARK_PYTHON": sys.executable,
        troubled_pieces.ATTEMPTS_VARIABLE: str(tmp_path / "attempts"),
    }
    (tmp_path / "attempts").mkdir()
    with running_cluster(tmp_path, environment) as address:
        yield address


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_task_that_spark_runs_twice_counts_once(graph, tmp_path, two_machines):
    data = tmp_path / "input"
    data.mkdir()
    for part in range(3):
        (data / f"{part}.jsonl").write_text("\n".join(port(f"p{part}-{number}") for number in range(50)))
    settings = {
        **DRIVER,
        "spark.speculation": "true",
        "spark.speculation.interval": "100ms",
        "spark.speculation.quantile": "0.5",
        "spark.speculation.minTaskRuntime": "100ms",
    }
    command = ["load", graph.uri, "--data", str(data), "--mode", "append", "--json", "--spark-master", two_machines]
    done = subprocess.run(
        [sys.executable, "-m", "support.troubled_load", *command, *conf_flags(settings)],
        env=child_environment(),
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert len(list((tmp_path / "attempts").iterdir())) == 2, "the slow task must have been copied"
    codes = graph.snapshot().table("Port").to_arrow()["code"].to_pylist()
    assert sorted(codes) == sorted(f"p{part}-{number}" for part in range(3) for number in range(50))
    assert not Path(graph.uri, "__staging").exists()
