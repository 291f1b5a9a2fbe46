"""Spark that shares nothing with this process: a Connect server, executors of their own, one of which is killed."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import omnigraph
from omnigraph.base import clock
from omnigraph.graph import Graph
from omnigraph.pipeline.load.once import StreamBatch
from omnigraph.storage.bucket import Bucket
from support import frame_pins, frame_shapes, harbor, library

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

SCHEMA = """
node Port { code: String @key  mail: String? @unique }
edge Route: Port -> Port
"""
PEOPLE_SCHEMA = """
node Person { name: String @key  age: I32? }
node Event { name: String  n: I64? }
edge Knows: Person -> Person
"""
SOURCE = Path(omnigraph.__file__).parents[1]
CHILD = Path(__file__).parents[1] / "support" / "spark_child.py"


@pytest.fixture
def graph(tmp_path):
    return omnigraph.init(str(tmp_path / "g.omni"), SCHEMA)


@pytest.fixture
def data(tmp_path):
    """Three files, so that there are at least three tasks."""
    directory = tmp_path / "input"
    directory.mkdir()
    for part in range(3):
        ports = [{"type": "Port", "data": {"code": f"p{part}-{n}", "mail": f"{part}-{n}"}} for n in range(50)]
        routes = [{"edge": "Route", "from": f"p{part}-{n}", "to": f"p{(part + 1) % 3}-{n}"} for n in range(50)]
        (directory / f"{part}.jsonl").write_text("\n".join(map(json.dumps, [*routes, *ports])))
    return directory


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OMNIGRAPH_", "SPARK_"))}
    return kept | {
        "PYTHONPATH": str(SOURCE),
        "PYSPARK_PYTHON": sys.executable,
        "XDG_CACHE_HOME": str(tmp_path_factory.mktemp("cache")),
    }


def test_no_answer_on_connect_depends_on_what_was_asked_before(connect_server, environment, tmp_path):
    graph = omnigraph.init(str(tmp_path / "people.omni"), PEOPLE_SCHEMA)
    graph.load(harbor.lines({"type": "Person", "data": person} for person in frame_shapes.PEOPLE), mode="append")

    done = subprocess.run(
        [sys.executable, frame_shapes.__file__, graph.uri, connect_server],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stdout.splitlines()[-1:] == ["wrong: []"], done.stderr[-3000:]


def test_frames_and_views_on_connect_stay_at_their_snapshot_when_their_plans_are_gone(
    connect_server, environment, tmp_path
):
    graph = omnigraph.init(str(tmp_path / "people.omni"), PEOPLE_SCHEMA)
    graph.load(harbor.lines({"type": "Person", "data": person} for person in frame_shapes.PEOPLE), mode="append")

    done = subprocess.run(
        [sys.executable, frame_pins.__file__, graph.uri, connect_server],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr[-3000:]
    said = json.loads(done.stdout.splitlines()[-1])
    assert said["before"] == said["after"]
    assert said["before"] == {
        "columns": 100,
        "nothing": 100,
        "vertices": 100,
        "edges": 0,
        "made from one": 50,
        "a view": 100,
    }
    assert said["views"] == ["og_Event", "og_Person", "og_Knows"]


def load_command(graph, data, *flags):
    program = str(Path(sys.executable).parent / "omnigraph")
    return [program, "load", graph.uri, "--data", str(data), "--mode", "append", "--json", *flags]


def assert_loaded(graph, done):
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert (document["engine"], document["total_rows"]) == ("spark", 300)
    snapshot = graph.snapshot()
    assert [snapshot.table(name).to_arrow().num_rows for name in ("Port", "Route")] == [150, 150]
    assert [commit.kind.value for commit in graph.commits()] == ["load", "genesis"]
    assert not Path(graph.uri, "__staging").exists()


@pytest.fixture(scope="module")
def connect_server(tmp_path_factory, environment) -> Iterator[str]:
    """A Spark Connect server in processes of its own."""
    import pyspark

    directory = tmp_path_factory.mktemp("server")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        str(Path(pyspark.__file__).parent / "bin" / "spark-submit"),
        *("--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "--master", "local[2]"),
        *(
            "--conf",
            f"spark.connect.grpc.binding.port={port}",
            "--conf",
            "spark.connect.grpc.binding.address=127.0.0.1",
        ),
        *("--conf", "spark.ui.enabled=false", "--conf", "spark.driver.host=127.0.0.1"),
        *("--conf", "spark.sql.shuffle.partitions=2"),
        "spark-internal",
    ]
    log = directory / "server.log"
    with log.open("wb") as output:
        server = subprocess.Popen(
            command, env=environment, cwd=directory, stdout=output, stderr=output, start_new_session=True
        )
    try:
        is_up = clock.wait_until(
            lambda: _listens(port) or server.poll() is not None, timeout_seconds=300, pause_seconds=0.3
        )
        assert is_up, "the Spark Connect server did not start in time"
        assert server.poll() is None, log.read_text()[-3000:]
        yield f"sc://127.0.0.1:{port}"
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_a_load_and_a_merge_run_on_a_spark_connect_server(graph, data, environment, connect_server):
    done = subprocess.run(
        load_command(graph, data, "--spark-remote", connect_server),
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert_loaded(graph, done)
    assert json.loads(done.stdout)["engine_reason"] == "--spark-remote is set"
    graph.branches.create("review")
    with graph.write(branch="review") as batch:
        batch.update("Port", {"mail": "new"}, ids=["p0-1"])
    with graph.write() as batch:
        batch.delete("Port", ids=["p2-3"])
    merged = subprocess.run(
        [done.args[0], "branch", "merge", "--store", graph.uri, "review", "--json", "--spark-remote", connect_server],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert merged.returncode == 0, merged.stderr
    document = json.loads(merged.stdout)
    assert (document["engine"], document["outcome"]) == ("spark", "merged")
    assert [tuple(table.values()) for table in document["tables"]] == [("node:Port", 0, 1, 0)]
    assert graph.snapshot().table("Port").to_arrow(["mail"], where=[("code", "=", "p0-1")])["mail"].to_pylist() == [
        "new"
    ]


def written_by_child(environment, uri: str, directory: Path, session: str, *steps: str) -> Graph:
    """Have a process of its own write from frames, and return the graph."""
    graph = omnigraph.init(uri, PEOPLE_SCHEMA)
    (directory / "in").mkdir()
    for name in ("a", "b"):
        (directory / "in" / f"{name}.json").write_text(json.dumps({"name": name}))
    (directory / "records").mkdir()
    records = [
        {"edge": "Knows", "from": "new", "to": "new", "data": {"id": "self"}},
        {"type": "Person", "data": {"name": "new"}},
        {"type": "Person", "data": {"age": 1}},
    ]
    (directory / "records" / "c.json").write_text("\n".join(map(json.dumps, records)))
    done = subprocess.run(
        [sys.executable, CHILD, graph.uri, session, directory, *steps],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    if not session.startswith("sc://"):  # a server has its own standard error
        assert "omnigraph: writing rows of Knows to branch main of" in done.stderr
        assert "omnigraph: the frame: 80 rows of 4 partitions; commit" in done.stderr
    return graph


def followed(directory: Path) -> list[tuple[int, str, str]]:
    """Return what a process that followed the changes wrote down."""
    rows = [
        json.loads(line)
        for file in (directory / "followed" / "out").glob("*.json")
        for line in file.read_text().splitlines()
    ]
    return sorted((row["_graph_version"], row["_change_type"], row["id"]) for row in rows)


def told(graph: Graph) -> list[tuple[int, str, str]]:
    """Return the same by the feed."""
    page = graph.changes.poll(start="beginning")
    assert page.caught_up
    return sorted(
        (block.cause.graph_version, change.op.value, change.id) for block in page.blocks for change in block.changes
    )


STREAMED = ["load", "write", "stream", "records", "follow"]


def row_counts(graph: Graph, *types: str) -> list[int]:
    return [graph.snapshot().table(name).to_arrow().num_rows for name in types]


def test_frames_and_streams_write_from_a_spark_connect_server(environment, tmp_path, connect_server):
    uri = str(tmp_path / "people.omni")
    graph = written_by_child(environment, uri, tmp_path, connect_server, *STREAMED)

    assert row_counts(graph, "Person", "Knows", "Event") == [91, 81, 2]
    assert [StreamBatch.of(commit) is not None for commit in graph.commits()] == [*[True] * 3, *[False] * 3]
    assert '"row": 3' in Path(f"{uri}-bad", "records", "batch-00000000.jsonl").read_text()
    assert followed(tmp_path) == told(graph)
    assert not Path(graph.uri, "__staging").exists()


@pytest.mark.s3
def test_frames_and_streams_write_to_a_bucket_from_executors_in_other_processes(environment, tmp_path, s3_root):
    settings = {name: value for name, value in os.environ.items() if name.startswith("AWS_")}
    cluster = "local-cluster[2,1,1024]"
    with _own_work_directory():
        graph = written_by_child(environment | settings, s3_root, tmp_path, cluster, *STREAMED)

    assert row_counts(graph, "Person", "Knows", "Event") == [91, 81, 2]
    assert [StreamBatch.of(commit) is not None for commit in graph.commits()] == [*[True] * 3, *[False] * 3]
    bad = f"{s3_root}-bad/records/batch-00000000.jsonl"
    assert b'"row": 3' in Bucket(bad).open(bad).read()
    assert followed(tmp_path) == told(graph)
    assert not [found.uri for found in Bucket(s3_root).list(s3_root) if "__staging" in found.uri]


def losing_an_executor(command: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a command on two executors and kill the first one that carries out Python tasks."""
    with _own_work_directory():
        running = subprocess.Popen(
            [*command, "--spark-master", "local-cluster[2,1,1024]"],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        busy: list[int] = []

        def is_busy_or_done() -> bool:
            busy.extend(_busy_executors_below(running.pid))
            return bool(busy) or running.poll() is not None

        clock.wait_until(is_busy_or_done, timeout_seconds=300, pause_seconds=0.05)
        assert busy, "no executor was seen at work"
        os.kill(busy[0], signal.SIGKILL)
        out, err = running.communicate(timeout=800)
    return subprocess.CompletedProcess(running.args, running.returncode, out, err)


def test_a_load_survives_the_loss_of_an_executor(graph, data, environment):
    assert_loaded(graph, losing_an_executor(load_command(graph, data), environment))


def test_a_merge_survives_the_loss_of_an_executor(graph, data, environment):
    graph.load(data, mode="append", engine="local")
    graph.branches.create("review")
    with graph.write(branch="review") as batch:
        batch.update("Port", {"mail": "new"}, ids=["p0-1"])
        batch.delete("Port", ids=["p1-1"])
    with graph.write() as batch:
        batch.delete("Port", ids=["p2-3"])
    program = load_command(graph, data)[0]

    merged = losing_an_executor([program, "branch", "merge", "--store", graph.uri, "review", "--json"], environment)

    assert merged.returncode == 0, merged.stderr
    document = json.loads(merged.stdout)
    assert (document["engine"], document["outcome"]) == ("spark", "merged")
    ports = graph.snapshot().table("Port").to_arrow(["code", "mail"]).to_pylist()
    assert len(ports) == 148
    assert [port["code"] for port in ports if port["mail"] == "new"] == ["p0-1"]
    assert graph.snapshot().table("Route").to_arrow().num_rows == 146
    assert not Path(graph.uri, "__staging").exists()


def test_an_optimize_survives_the_loss_of_an_executor(tmp_path, environment):
    uri = str(tmp_path / "library.omni")
    graph = library.library(uri, loads=3)
    vectors = [library.book(number, vec=library.vector(number)) for number in range(1_000, 1_300)]
    graph.load(harbor.lines(vectors), mode="append")
    before = harbor.content(graph)
    program = str(Path(sys.executable).parent / "omnigraph")

    done = losing_an_executor([program, "optimize", uri, "--json"], environment)

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["engine"] == "spark"
    assert harbor.content(graph) == before
    assert library.fragments(graph) == 1
    assert set(library.segments(graph).values()) == {1}
    assert set(library.uncovered(graph).values()) == {0}
    library.lookups_agree(graph)


def _busy_executors_below(pid: int) -> list[int]:
    """Return the executor JVMs among the descendants of a process that have Python workers."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            children.setdefault(parent, []).append(int(entry.name))
    found, waiting = [], [pid]
    while waiting:
        for child in children.get(waiting.pop(), []):
            waiting.append(child)
            if b"CoarseGrainedExecutorBackend" in _command_of(child):
                found += [child for worker in children.get(child, []) if b"pyspark.daemon" in _command_of(worker)]
    return sorted(found)


def _command_of(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


class _own_work_directory:  # noqa: N801 — reads as a statement
    """Remove what a local cluster leaves beside Spark's own files."""

    def __enter__(self) -> None:
        import pyspark

        self._directory = Path(pyspark.__file__).parent / "work"
        self._before = set(self._directory.glob("app-*"))

    def __exit__(self, *_: object) -> None:
        for made in set(self._directory.glob("app-*")) - self._before:
            shutil.rmtree(made, ignore_errors=True)
