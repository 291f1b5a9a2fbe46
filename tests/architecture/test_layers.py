"""The architecture can be read off the folders, and these tests keep it true."""

import ast
import io
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "omnigraph"

LAYERS = {
    "base": 0,
    "errors": 0,
    "language": 1,
    "catalog": 2,
    "records": 3,
    "storage": 3,
    "engine": 3,
    "providers": 3,
    "manifest": 4,
    "graphs": 5,
    "writes": 6,
    "changes": 6,
    "policy": 6,
    "drawing": 6,
    "query": 7,
    "evolution": 7,
    "branches": 7,
    "pipeline": 8,
    "maintenance": 9,
    "cluster": 10,
    "verbs": 11,
    "documents": 11,
    "client": 12,
    "connectors": 12,
    "server": 12,
    "mcp": 13,
    "console": 14,
    "cli": 15,
}
FACADE = {
    "graph.py",
    "_graph_clusters.py",
    "_graph_data.py",
    "_graph_upkeep.py",
    "spark.py",
    "__init__.py",
    "__main__.py",
}

DOORS = {
    "lance": ("storage/",),
    "obstore": ("storage/",),
    "duckdb": ("engine/local.py",),
    "pyspark": ("engine/spark", "connectors/spark/"),
    "time": ("base/clock.py",),
    "uuid": ("base/ids.py",),
    "secrets": ("base/ids.py",),
    "random": ("base/ids.py",),
    "click": ("cli/",),
    "rich": ("cli/",),
    "cedarpy": ("policy/cedar.py",),
    "httpx": ("client/",),
    "mcp": ("mcp/serving.py",),
    "prompt_toolkit": ("cli/shell/terminal.py",),
    "starlette": ("server/", "console/"),
    "uvicorn": ("server/", "mcp/serving.py", "console/running.py"),
    "nicegui": ("console/",),
}


PACKAGES = sorted({path.relative_to(SOURCE).parts[0] for path in SOURCE.rglob("*.py")})
every_package = pytest.mark.parametrize("package", PACKAGES)
"""Folders, and the modules beside them; a rule names every module that breaks it, with what it does."""


def modules_of(package: str) -> list[Path]:
    path = SOURCE / package
    return sorted(path.rglob("*.py")) if path.is_dir() else [path]


@cache
def nodes_of(module: Path) -> tuple[ast.Import | ast.ImportFrom | ast.Call, ...]:
    """Return all imports and calls of a module, which is parsed once for all rules."""
    wanted = (ast.Import, ast.ImportFrom, ast.Call)
    return tuple(node for node in ast.walk(ast.parse(module.read_text())) if isinstance(node, wanted))


def imports_of(module: Path) -> Iterator[str]:
    for node in nodes_of(module):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_the_drawing_shows_the_layers_as_they_are_enforced() -> None:
    page = (SOURCE.parents[1] / "docs" / "design" / "architecture.md").read_text()
    picture = page.split("```")[1]

    drawn = [re.findall(r"([a-z]+)/", line.partition("│")[0]) for line in picture.splitlines()]
    rows = [folders for folders in drawn if folders]
    enforced: dict[int, set[str]] = {}
    for folder, layer in LAYERS.items():
        enforced.setdefault(layer, set()).add(folder)

    assert [set(row) for row in rows] == [enforced[layer] for layer in sorted(enforced, reverse=True)]


def test_what_users_hold_stays_wiring() -> None:
    """A method with more to it than making a request and handing it on belongs further down."""
    lines = {name: len((SOURCE / name).read_text().splitlines()) for name in sorted(FACADE)}

    assert {name: count for name, count in lines.items() if count >= 500} == {}


def test_every_folder_has_a_layer() -> None:
    folders = {path.name for path in SOURCE.iterdir() if path.is_dir() and path.name != "__pycache__"}

    assert folders == set(LAYERS)


@every_package
def test_a_module_imports_only_its_own_folder_and_lower_layers(package: str) -> None:
    if package in FACADE:
        return
    own = LAYERS[package]

    upwards = [
        f"{module.relative_to(SOURCE)} (layer {own}) imports {imported} (layer {LAYERS[folder]})"
        for module in modules_of(package)
        for imported in imports_of(module)
        if (folder := _folder_of(imported)) not in {None, package} and LAYERS[folder] >= own
    ]

    assert upwards == []


def _folder_of(imported: str) -> str | None:
    """Return the folder of ours that an import leads to."""
    first, *rest = imported.split(".")
    return rest[0] if first == "omnigraph" and rest and rest[0] in LAYERS else None


@every_package
def test_side_effects_have_one_door_each(package: str) -> None:
    beside = [
        f"{relative} imports {imported}; only {doors} may"
        for module in modules_of(package)
        for imported in imports_of(module)
        if (doors := DOORS.get(imported.partition(".")[0])) is not None
        and not (relative := str(module.relative_to(SOURCE))).startswith(doors)
    ]

    assert beside == []


@every_package
def test_only_the_command_line_prints(package: str) -> None:
    calls = [
        f"{module.relative_to(SOURCE)}:{node.lineno}"
        for module in modules_of(package)
        for node in nodes_of(module)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]

    assert calls == [] or package == "cli"


def test_importing_the_package_loads_nothing_heavy() -> None:
    heavy = ("lance", "pyarrow", "duckdb", "pyspark", "obstore", "lark", "rich", "yaml")
    script = f"import sys, omnigraph; print([name for name in {heavy!r} if name in sys.modules])"

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


READS = """
import sys, omnigraph
graph = omnigraph.open({uri!r}, read_only=True)
snapshot = graph.snapshot()
assert snapshot.table("Person").to_arrow(["name"], where=[("name", "=", "ada")]).num_rows == 1
assert snapshot.sql("select name from Person").to_arrow().num_rows == 1
print([name for name in sys.modules if name.startswith("omnigraph.writes")])
"""


def test_reading_a_graph_imports_nothing_of_writes(tmp_path: Path) -> None:
    import omnigraph

    uri = str(tmp_path / "read.omni")
    graph = omnigraph.init(uri, "node Person { name: String @key }")
    graph.load(io.BytesIO(b'{"type": "Person", "data": {"name": "ada"}}'), mode="append")

    done = subprocess.run([sys.executable, "-c", READS.format(uri=uri)], capture_output=True, text=True, check=False)

    assert done.stdout.strip() == "[]", done.stderr


def test_public_names_are_those_documented() -> None:
    import omnigraph

    documented = (SOURCE.parents[1] / "docs" / "guide" / "python.md").read_text()

    for name in omnigraph.__all__:
        assert getattr(omnigraph, name) is not None
        assert f"`omnigraph.{name}" in documented, f"docs/guide/python.md does not mention omnigraph.{name}"
    named = set(re.findall(r"`omnigraph\.([A-Za-z_]+)", documented))
    assert named == set(omnigraph.__all__), "docs/guide/python.md names what is not public"


def test_completion_shows_the_public_names_before_anything_is_imported() -> None:
    script = "import omnigraph; print(sorted(dir(omnigraph)) == sorted(omnigraph.__all__), 'open' in dir(omnigraph))"

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "True True"


def test_the_names_for_type_checkers_are_those_that_can_be_imported() -> None:
    """`__init__` says where names live twice: for type checkers, and for whoever uses one first."""
    import omnigraph

    tree = ast.parse((SOURCE / "__init__.py").read_text())
    (block,) = (node for node in tree.body if isinstance(node, ast.If) and isinstance(node.test, ast.Name))
    imported = {
        (alias.asname or alias.name): node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }

    assert {*imported, "__version__"} == set(omnigraph.__all__)
    assert {name: module for name, module in imported.items() if name != "errors"} == {
        name: home for name, (home, _) in omnigraph._HOME.items()
    }
