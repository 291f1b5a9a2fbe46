"""A standalone cluster whose workers have nothing of ours but what is shipped to them, and that loses some of them."""

import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

import omnigraph
from omnigraph.graph import Graph
from omnigraph.storage.file_references import FileKind, files_of_version
from support import harbor, library, lost_tasks
from support.ages import age
from support.packed_environment import dependencies, packed_environment, python_of
from support.standalone_cluster import DRIVER, HOSTS, conf_flags, running_cluster

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

SCHEMA = """
node Port { code: String @key  mail: String? @unique }
edge Route: Port -> Port
"""
PROGRAM = str(Path(sys.executable).parent / "omnigraph")
SOURCE = str(Path(omnigraph.__file__).parents[1])
TESTS = str(Path(__file__).parents[1])


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A cluster that knows of no Python and no package."""
    ours = ("PYTHON", "PYSPARK", "SPARK_", "OMNIGRAPH_", "VIRTUAL_ENV")
    bare = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    with running_cluster(tmp_path_factory.mktemp("cluster"), bare | {"PATH": "/usr/bin:/bin"}) as address:
        yield address


@pytest.fixture
def data(tmp_path: Path) -> Path:
    directory = tmp_path / "input"
    directory.mkdir()
    for part in range(3):
        ports = [{"type": "Port", "data": {"code": f"p{part}-{n}", "mail": f"{part}-{n}"}} for n in range(20)]
        routes = [{"edge": "Route", "from": f"p{part}-{n}", "to": f"p{(part + 1) % 3}-{n}"} for n in range(20)]
        (directory / f"{part}.jsonl").write_text("\n".join(map(json.dumps, [*routes, *ports])))
    return directory


def environment(*path: str) -> dict[str, str]:
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("OMNIGRAPH_", "SPARK_", "PYSPARK"))
    }
    return kept | {"PYTHONPATH": os.pathsep.join(path)}


def run(cluster: str, settings: dict[str, str], *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PROGRAM, *command, "--json", "--spark-master", cluster, *conf_flags(DRIVER | settings)],
        env=environment(SOURCE),
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_packed_environment_is_all_that_workers_need(cluster: str, data: Path, tmp_path: Path) -> None:
    graph = omnigraph.init(str(tmp_path / "g.omni"), SCHEMA)
    started = tmp_path / "started"
    archive = packed_environment(tmp_path, dependencies(tmp_path / "dependencies"), started=started)
    settings = {
        "spark.archives": f"{archive}#environment",
        "spark.pyspark.python": "./environment/bin/python",
    }

    loaded = run(cluster, settings, "load", graph.uri, "--data", str(data), "--mode", "append")
    optimized = run(cluster, settings, "optimize", graph.uri)

    for done in (loaded, optimized):
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["engine"] == "spark"
    assert graph.snapshot().table("Port").to_arrow().num_rows == 60
    assert set(started.read_text().split()) == {"./environment/bin/python"}


def test_workers_without_the_package_or_without_python_are_named_with_the_cause(
    cluster: str, data: Path, tmp_path: Path
) -> None:
    graph = omnigraph.init(str(tmp_path / "g.omni"), SCHEMA)
    bare = python_of(
        tmp_path / "bare", dependencies(tmp_path / "dependencies"), started=tmp_path / "started", package=False
    )
    load = ("load", graph.uri, "--data", str(data), "--mode", "append")

    without_package = run(cluster, {"spark.pyspark.python": str(bare)}, *load)
    without_python = run(cluster, {"spark.pyspark.python": "/nowhere/python"}, *load)

    hosts = "(" + "|".join(HOSTS) + ")"
    for done, cause in (
        (without_package, r"has no package `omnigraph`. Ship an environment"),
        (without_python, rf"/nowhere/python.*No such file.* on {hosts}"),
    ):
        assert done.returncode != 0
        message = json.loads(done.stdout)["error"]
        assert re.search(cause, message), message
        assert "awaitResult" not in message
    assert [commit.kind.value for commit in graph.commits()] == ["genesis"]


Troubled = Callable[..., Any]
"""Runs a command on the cluster, where a Python worker and an executor are lost in it; returns what it printed."""


@pytest.fixture(scope="module")
def troubled(cluster: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Troubled]:
    """One session on the cluster for all commands, with an environment that was packed for it."""
    directory = tmp_path_factory.mktemp("troubled")
    archive = packed_environment(directory, dependencies(directory / "dependencies"), started=directory / "started")
    settings = {"spark.archives": f"{archive}#environment", "spark.pyspark.python": "./environment/bin/python"}
    flags = ("--json", "--spark-master", cluster, *conf_flags(DRIVER | settings))
    log = directory / "log"
    with (
        log.open("w") as said,
        subprocess.Popen(
            [sys.executable, "-m", "support.troubled_commands"],
            env=environment(SOURCE, TESTS),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said,
            text=True,
        ) as commands,
    ):
        assert commands.stdin is not None
        assert commands.stdout is not None

        def run_troubled(lost: Path, *command: str) -> Any:
            lost.mkdir()
            print(json.dumps([str(lost), *command, *flags]), file=commands.stdin, flush=True)
            answer = commands.stdout.readline()
            assert answer, log.read_text()[-3000:]
            done = json.loads(answer)
            assert done["code"] == 0, (done, log.read_text()[-3000:])
            return done["document"]

        yield run_troubled
        commands.stdin.close()


def story(directory: Path) -> tuple[Graph, Path]:
    """Make a graph of several fragments with two branches that have moved on, and input that changes it again."""
    directory.mkdir()
    graph = library.library(str(directory / "graph.omni"), loads=3, rows=40)
    graph.branches.create("review")
    for branch, first in (("review", 10), ("main", 60)):
        with graph.write(branch=branch) as batch:
            batch.update("Book", {"title": f"an edition of {branch}"}, ids=[f"b{first + n}" for n in range(20)])
            batch.delete("Book", ids=[f"b{first + n}" for n in range(20, 25)])
            batch.insert("Shelf", [{"label": f"{branch} {n}"} for n in range(5)])
    data = directory / "input"
    data.mkdir()
    for part in range(3):
        numbers = range(part * 40 + 30, part * 40 + 50)
        books = [library.book(number, "a later draft") for number in numbers]
        cites = [harbor.edge("Cites", f"b{number}", f"b{number}", id=f"n{number}") for number in numbers]
        (data / f"{part}.jsonl").write_bytes(harbor.lines([*cites, *books]).read())
    return graph, data


def exported(graph: Graph) -> str:
    """Return a checksum of what a graph holds, in whatever order."""
    out = io.BytesIO()
    graph.export(out)
    return sha256(b"".join(sorted(out.getvalue().splitlines()))).hexdigest()


def files_in(directory: Path) -> dict[str, str]:
    return {path.name: sha256(path.read_bytes()).hexdigest() for path in directory.rglob("*") if path.is_file()}


def assert_nothing_left(graph: Graph) -> None:
    """Insist that the graph is whole, and that what dead tasks wrote belongs to nobody and goes with a cleanup."""
    assert graph.verify(deep=True, all_branches=True, engine="local").problems == ()
    assert graph.pending_operations() == []
    assert not Path(graph.uri, "__staging").exists()
    age(graph.uri)
    graph.cleanup(keep=1, confirm=True)
    store = graph._context.store
    pins = {(pin.address, pin.version) for name in ("main", "review") for pin in graph.snapshot(name).tables}
    needed = {file.path for pin in pins for file in files_of_version(store.objects, *pin) if file.kind is FileKind.DATA}
    there = {path for kind in ("nodes/", "edges/") for path in store.objects.sizes(kind)}
    assert {path for path in there if path.endswith(".lance") and "/data/" in path} == needed


VERBS = ("optimize", "load", "merge", "verify", "export")


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_survives_the_loss_of_a_python_worker_and_of_an_executor(
    troubled: Troubled, tmp_path: Path, verb: str
) -> None:
    (here, _), (there, data) = (story(tmp_path / name) for name in ("here", "there"))
    if verb == "load":
        here.load(data, mode="merge", engine="local")
        command = ["load", there.uri, "--data", str(data), "--mode", "merge"]
    elif verb == "merge":
        here.branches.merge("review", engine="local")
        command = ["branch", "merge", "--store", there.uri, "review"]
    elif verb == "optimize":
        here.optimize(engine="local")
        command = ["optimize", there.uri]
    elif verb == "verify":
        command = ["verify", there.uri, "--deep"]
    else:
        here.export(f"{tmp_path}/out-here/", engine="local")
        command = ["export", there.uri, "--out", f"{tmp_path}/out-there/"]

    done = troubled(tmp_path / "lost", *command)

    assert done["engine"] == "spark"
    lost = {path.name for path in (tmp_path / "lost").iterdir()}
    assert {lost_tasks.WORKER, lost_tasks.EXECUTOR} < lost, "both were lost, and others did what they had begun"
    assert exported(there) == exported(here)
    assert len(there.commits()) == len(here.commits())
    if verb == "verify":
        assert done["problems"] == []
    if verb == "export":
        assert files_in(tmp_path / "out-there") == files_in(tmp_path / "out-here")
    if verb == "optimize":
        assert library.fragments(there) == library.fragments(here) == 1
        assert set(library.uncovered(there).values()) == {0}
        library.lookups_agree(there)
    assert_nothing_left(there)
