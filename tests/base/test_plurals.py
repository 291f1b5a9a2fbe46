"""One row, two rows: numbers of things are spelled in one place."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from omnigraph.base.units import counted

SOURCE = Path(__file__).parents[2] / "src" / "omnigraph"
THINGS = (
    "branches|cells|columns|commits|conflicts|edges|entities|errors|files|findings|fragments|indexes|nodes|numbers"
    "|operations|records|refs|rows|steps|tables|texts|types|versions"
)
_COUNTED_BY_HAND = re.compile(rf" (?:[a-z]+ )?(?:{THINGS})\b(?!=)")
_NEVER_ONE = {
    "RECOVERY_FLOOR",
    "layout.rows",
    "limits.rows",
    "len(finding.places)",
    "len(finding.tables)",
    "len(tables)",
    "number",
    "rows_made",
    "self._rows_max",
    "up_to - after",
}
"""Numbers that are spelled only where there are several."""
_NO_NUMBERS = {"where", "record.uuid", "_name(table_document(table))", "_QUERY", "missing"}


@pytest.mark.parametrize(
    ("number", "noun", "spelled"),
    [
        (1, "row", "1 row"),
        (0, "row", "0 rows"),
        (2, "edge type", "2 edge types"),
        (1, "index", "1 index"),
        (2, "index", "2 indexes"),
        (3, "branch", "3 branches"),
        (2, "entity", "2 entities"),
        (2, "day", "2 days"),
    ],
)
def test_a_number_of_things_is_spelled_as_people_do(number, noun, spelled):
    assert counted(number, noun) == spelled


def counts_by_hand() -> Iterator[str]:
    """Find f-strings that put a plural behind a number, whatever the number is."""
    for module in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.JoinedStr):
                continue
            for value, text in zip(node.values, node.values[1:], strict=False):
                if not isinstance(value, ast.FormattedValue) or not isinstance(text, ast.Constant):
                    continue
                number = ast.unparse(value.value)
                is_counted = number.startswith("counted(") or number in _NEVER_ONE | _NO_NUMBERS
                if _COUNTED_BY_HAND.match(text.value) and not is_counted:
                    yield f"{module.relative_to(SOURCE)}:{text.lineno}: {{{number}}}{text.value}"


def test_nobody_counts_by_hand():
    assert sorted(counts_by_hand()) == []
