"""A command imports what it runs: nearly all that a small command takes is imports, so these lists are its speed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import omnigraph

PROGRAM = """
import json, sys
from omnigraph.cli.main import main
sys.argv = ["omnigraph", *{arguments!r}]
code = main()
json.dump([code, sorted(sys.modules)], open({report!r}, "w"))
"""

ARROW_AND_LANCE = {"pyarrow", "lance", "click"}
LOOKED_AT_BY_ARROW = {"cython_runtime", "dateutil", "six", "substrait"}
"""What pyarrow.dataset itself imports for as long as it is installed or of its own."""
DEFERRED = {"numpy"}
"""Imported by Lance, but loaded only when it is used."""

OPENING = {
    "omnigraph._graph_clusters",
    "omnigraph._graph_data",
    "omnigraph._graph_upkeep",
    "omnigraph.base",
    "omnigraph.catalog",
    "omnigraph.cli",
    "omnigraph.documents",
    "omnigraph.engine",
    "omnigraph.errors",
    "omnigraph.graph",
    "omnigraph.graphs",
    "omnigraph.manifest",
    "omnigraph.storage",
    "omnigraph.verbs",
}


@pytest.fixture(scope="module")
def small_graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("start_up")
    omnigraph.init(str(directory / "small.omni"), "node Person { name: String @key }")
    (directory / "one.jsonl").write_text(json.dumps({"type": "Person", "data": {"name": "ada"}}))
    return directory


def modules_of(directory: Path, *arguments: str, code: int = 0) -> set[str]:
    report = directory / "modules.json"
    script = PROGRAM.format(arguments=arguments, report=str(report))
    done = subprocess.run([sys.executable, "-c", script], cwd=directory, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    ended, modules = json.loads(report.read_text())
    assert ended == code, done.stderr
    return set(modules)


def foreign(modules: set[str]) -> set[str]:
    """Return the packages that are neither ours nor Python's; what site-packages starts by itself does not count."""
    by_itself = {name.partition(".")[0] for name in modules_of_bare_python()}
    tops = {name.partition(".")[0] for name in modules}
    return {name for name in tops - by_itself - sys.stdlib_module_names if name != "omnigraph" and name[0] != "_"}


def modules_of_bare_python() -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", "import sys; print(*sys.modules)"], capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def ours(modules: set[str]) -> set[str]:
    return {".".join(name.split(".")[:2]) for name in modules if name.startswith("omnigraph.")}


def test_help_imports_the_command_line_and_little_else(small_graph: Path) -> None:
    """What help takes in seconds is a figure of the benchmarks; what it imports is the same on every machine."""
    modules = modules_of(small_graph, "--help")

    assert {name.partition(".")[0] for name in modules} & {"lance", "duckdb", "pyspark", "rich", "httpx"} == set()
    assert foreign(modules) <= {"click", "pyarrow"}
    assert "pyarrow.lib" not in modules, "pyarrow was loaded, not only hidden"
    assert ours(modules) == {
        "omnigraph.base",
        "omnigraph.cli",
        "omnigraph.documents",
        "omnigraph.engine",
        "omnigraph.errors",
        "omnigraph.manifest",
        "omnigraph.pipeline",
        "omnigraph.storage",
        "omnigraph.verbs",
    }
    assert len(modules - {*modules_of_bare_python()}) < 300


def test_branch_list_imports_what_opens_a_graph_and_lists(small_graph: Path) -> None:
    modules = modules_of(small_graph, "branch", "list", "small.omni")

    assert foreign(modules) <= ARROW_AND_LANCE | LOOKED_AT_BY_ARROW | DEFERRED
    assert ours(modules) == OPENING | {"omnigraph.branches"}
    assert not [name for name in modules if name.startswith(("omnigraph.branches.merge", "omnigraph.engine.spark"))]
    assert not [name for name in modules if name.startswith("omnigraph.documents.")], "nobody asked for JSON"
    assert "numpy._core" not in modules, "numpy was loaded, not only deferred"


def test_loading_one_record_imports_neither_maintenance_nor_merging(small_graph: Path) -> None:
    modules = modules_of(small_graph, "load", "small.omni", "--data", "one.jsonl", "--mode", "append")

    assert foreign(modules) <= ARROW_AND_LANCE | LOOKED_AT_BY_ARROW | DEFERRED | {"google"}
    assert ours(modules) == OPENING | {
        "omnigraph.branches",
        "omnigraph.pipeline",
        "omnigraph.records",
        "omnigraph.writes",
    }
    assert not [name for name in modules if name.startswith(("omnigraph.branches.merge", "omnigraph.engine.spark"))]
    assert not [name for name in modules if name.startswith("omnigraph.writes.recovery.") and "entry" not in name]
    assert not [name for name in modules if name.startswith("omnigraph.documents.")], "nobody asked for JSON"
    bulk = {name.rpartition(".")[2] for name in modules if name.startswith("omnigraph.pipeline.load.bulk.")}
    assert bulk == {"pieces", "table_pieces"}, "what only a load on workers needs"
    assert "google.protobuf.text_format" not in modules, "protobuf has its messages in C"
    assert "importlib.metadata" not in modules - {*modules_of_bare_python()}, "versions are known without looking"
    assert "numpy._core" not in modules, "numpy was loaded, not only deferred"


def test_a_small_mutation_imports_no_pipeline_and_no_parser_generator(small_graph: Path) -> None:
    modules = modules_of(small_graph, "mutate", "small.omni", "-e", 'query q() { insert Person { name: "bob" } }')

    assert foreign(modules) <= ARROW_AND_LANCE | LOOKED_AT_BY_ARROW | DEFERRED | {"google"}
    assert ours(modules) == OPENING | {"omnigraph.language", "omnigraph.query", "omnigraph.records", "omnigraph.writes"}
    assert not [name for name in modules if name.startswith(("omnigraph.engine.spark", "omnigraph.language.schema"))]
    assert not [name for name in modules if name.startswith("omnigraph.writes.recovery.") and "entry" not in name]
    assert "numpy._core" not in modules, "numpy was loaded, not only deferred"


def test_a_policy_is_explained_without_arrow_and_without_a_graph(tmp_path: Path) -> None:
    (tmp_path / "empty.yaml").write_text("version: 1\n")

    modules = modules_of(
        tmp_path, "policy", "explain", "--policy", "empty.yaml", "--actor", "ada", "--action", "read", "--json"
    )

    assert "cedarpy" in modules
    assert not modules & {"pyarrow", "lance", "duckdb", "numpy", "omnigraph.graph"}


def test_a_command_through_a_server_imports_neither_arrow_nor_what_draws_tables(tmp_path: Path) -> None:
    modules = modules_of(tmp_path, "commit", "list", "--server", "http://127.0.0.1:1", "--graph", "art", code=8)

    assert "httpx" in modules
    assert not modules & {"pyarrow", "lance", "numpy", "rich", "trio", "httpx._main", "omnigraph.graph"}


SPINNING = """
import os, sys
sys.argv = ["omnigraph", "--version"]
from omnigraph.cli.main import main
main()
import numpy, time
time.sleep(0.3)
threads = {each for each in os.listdir("/proc/self/task") if each != str(os.getpid())}
spent = [sum(map(int, open(f"/proc/self/task/{each}/stat").read().split()[13:15])) for each in threads]
assert max(spent, default=0) < 3, spent
"""


def test_threads_of_blas_do_not_spin_while_numpy_is_loaded() -> None:
    done = subprocess.run([sys.executable, "-c", SPINNING], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
