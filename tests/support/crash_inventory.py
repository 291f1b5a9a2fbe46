"""Where fail points are: the names that the code reaches, and the names that tests spell."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parents[1]
SOURCE = TESTS.parent / "src" / "omnigraph"
# The underscore tells `schema.after_publish` from the name of a file.
_SPELLED = re.compile(r"([a-z_]+(?:\.[a-z_]+)*\.[a-z]+_[a-z_]+)(?::(?:kill|error|pause)(?::\d+){0,2})?")


@cache
def points_in_source() -> frozenset[str]:
    """Collect what `faults.reach` is called with, directly or through a parameter named `fail_point`."""
    points: set[str] = set()
    for module in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                points.update(_passed_to_reach(node, module))
                points.update(
                    name for word in node.keywords if word.arg == "fail_point" for name in _strings_in(word.value)
                )
            elif isinstance(node, ast.FunctionDef):
                points.update(_defaults_of_fail_point(node))
    return frozenset(points)


def points_in_tests() -> set[str]:
    """Collect every string in a test that is spelled like a fail point of a known family."""
    families = {point.partition(".")[0] for point in points_in_source()}
    spelled = {
        name for module in TESTS.rglob("*.py") for name in _spelled_in(ast.parse(module.read_text(encoding="utf-8")))
    }
    return {name for name in spelled if name.partition(".")[0] in families}


def points_in_test(module: Path, function: str) -> set[str]:
    """Collect the fail points that one test function names in its body."""
    tree = ast.parse(module.read_text(encoding="utf-8"))
    bodies = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == function]
    return {name for body in bodies for name in _spelled_in(body)} & points_in_source()


def _strings_in(node: ast.AST) -> Iterator[str]:
    for found in ast.walk(node):
        if isinstance(found, ast.Constant) and isinstance(found.value, str):
            yield found.value


def _spelled_in(node: ast.AST) -> Iterator[str]:
    for text in _strings_in(node):
        spelled = _SPELLED.fullmatch(text)
        if spelled:
            yield spelled[1]


def _passed_to_reach(call: ast.Call, module: Path) -> Iterator[str]:
    if ast.unparse(call.func) != "faults.reach":
        return
    (argument,) = call.args
    is_parameter = isinstance(argument, ast.Name) and argument.id == "fail_point"
    assert is_parameter or isinstance(argument, ast.Constant), f"{module}:{call.lineno} hides the name of a fail point"
    yield from _strings_in(argument)


def _defaults_of_fail_point(function: ast.FunctionDef) -> Iterator[str]:
    for parameter, default in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True):
        if parameter.arg == "fail_point" and default is not None:
            yield from _strings_in(default)
