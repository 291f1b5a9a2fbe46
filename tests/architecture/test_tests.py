"""Tests lie with their subject, and what they share lies in `tests/support`; `docs/design/tests.md` says where."""

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
_IMPORT_OF_A_TEST = re.compile(
    r"^\s*(?:from|import)\s+(?:\w+\.)*(?:test_\w+|conftest)\b.*$|^\s*from\s+\w+\s+import\s+test_.*$", re.MULTILINE
)


def test_no_module_imports_a_test() -> None:
    found = {
        f"{module.relative_to(TESTS)}: {line[0].strip()}"
        for module in TESTS.rglob("*.py")
        for line in _IMPORT_OF_A_TEST.finditer(module.read_text(encoding="utf-8"))
    }

    assert found == set(), "move what they share to tests/support"


def test_every_folder_is_on_the_page_that_says_where_a_test_goes() -> None:
    page = (TESTS.parent / "docs" / "design" / "tests.md").read_text(encoding="utf-8")
    folders = {module.relative_to(TESTS).parts[0] for module in TESTS.rglob("*/*.py")}

    assert folders == set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))
