"""A standalone cluster whose workers have nothing of ours but what is shipped to them."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import omnigraph
from support.packed_environment import dependencies, packed_environment, python_of
from support.standalone_cluster import DRIVER, HOSTS, conf_flags, running_cluster

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

SCHEMA = """
node Port { code: String @key  mail: String? @unique }
edge Route: Port -> Port
"""
PROGRAM = str(Path(sys.executable).parent / "omnigraph")
SOURCE = str(Path(omnigraph.__file__).parents[1])


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


def run(cluster: str, settings: dict[str, str], *command: str) -> subprocess.CompletedProcess[str]:
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("OMNIGRAPH_", "SPARK_", "PYSPARK"))
    }
    return subprocess.run(
        [PROGRAM, *command, "--json", "--spark-master", cluster, *conf_flags(DRIVER | settings)],
        env=kept | {"PYTHONPATH": SOURCE},
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
