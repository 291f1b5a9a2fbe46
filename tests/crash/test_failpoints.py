"""A fail point that nobody arms, or a test that arms one which does not exist, makes a green crash suite worthless."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from crash.cases import INIT_CASES, RECOVERY_CASES, WRITER_CASES

TESTS = Path(__file__).parents[1]
SOURCE = TESTS.parent / "src" / "omnigraph"
ARMED = re.compile(r"([a-z]+(?:\.[a-z_]+)+)(?::(?:kill|error|pause)(?::\d+){0,2})?")


def strings_in(node: ast.AST) -> Iterator[str]:
    for found in ast.walk(node):
        if isinstance(found, ast.Constant) and isinstance(found.value, str):
            yield found.value


def points_in_source() -> set[str]:
    """Collect what `faults.reach` is called with, directly or through a parameter named `fail_point`."""
    points: set[str] = set()
    for module in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                points.update(_passed_to_reach(node, module))
                points.update(
                    name for word in node.keywords if word.arg == "fail_point" for name in strings_in(word.value)
                )
            elif isinstance(node, ast.FunctionDef):
                points.update(_defaults_of_fail_point(node))
    return points


def _passed_to_reach(call: ast.Call, module: Path) -> Iterator[str]:
    if ast.unparse(call.func) != "faults.reach":
        return
    (argument,) = call.args
    is_parameter = isinstance(argument, ast.Name) and argument.id == "fail_point"
    assert is_parameter or isinstance(argument, ast.Constant), f"{module}:{call.lineno} hides the name of a fail point"
    yield from strings_in(argument)


def _defaults_of_fail_point(function: ast.FunctionDef) -> Iterator[str]:
    for parameter, default in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True):
        if parameter.arg == "fail_point" and default is not None:
            yield from strings_in(default)


def points_in_tests(families: set[str]) -> set[str]:
    """Collect every string in a test that is spelled like a fail point of a known family."""
    points = set()
    for module in TESTS.rglob("*.py"):
        if module == Path(__file__):
            continue
        for text in strings_in(ast.parse(module.read_text(encoding="utf-8"))):
            spelled = ARMED.fullmatch(text)
            if spelled and spelled[1].partition(".")[0] in families:
                points.add(spelled[1])
    return points


def test_every_fail_point_is_armed_by_a_test_and_every_armed_name_exists() -> None:
    in_source = points_in_source()
    in_tests = points_in_tests({point.partition(".")[0] for point in in_source})

    assert in_source - in_tests == set(), "no test arms these"
    assert in_tests - in_source == set(), "tests arm these, but the code never reaches them"


def test_every_point_of_the_matrix_is_proven_to_fire() -> None:
    """A child that was to be killed and was not fails its test; an injected error may be swallowed on purpose."""
    cases = [*WRITER_CASES, *RECOVERY_CASES, *INIT_CASES]

    killed = {case.point for case in cases if case.action == "kill"}

    assert {case.point for case in cases} - killed == set()


def test_the_committed_matrix_names_every_fail_point() -> None:
    committed = (TESTS.parent / "docs" / "design" / "crash-matrix.md").read_text(encoding="utf-8")

    missing = {point for point in points_in_source() if f"`{point}`" not in committed}

    assert missing == set(), "run `make crash-report`"
