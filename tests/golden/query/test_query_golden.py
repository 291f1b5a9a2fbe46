"""Queries beside what becomes of them; run this file as a program to write the expectations anew."""

import json
from pathlib import Path

import pytest

from omnigraph.documents import Linted, lint_document
from omnigraph.errors import ParseError
from omnigraph.language.query import parse_queries
from omnigraph.language.query.formatting import format_queries
from omnigraph.query.lint import lint_queries
from support.sailors import sailors

HERE = Path(__file__).parent


def formatted(name):
    return format_queries((HERE / name).read_text(), source=name)


def refused(name):
    with pytest.raises(ParseError) as error:
        parse_queries((HERE / name).read_text(), source=name)
    return error.value.message + "\n"


def messages(name):
    report = lint_queries((HERE / name).read_text(), sailors(), source=name)
    return "".join(f"{result.error}\n" for result in report.results)


def described(name):
    report = lint_queries((HERE / name).read_text(), sailors(), source=name)
    linted = Linted(schema_source={"kind": "file", "path": "sailors.pg"}, reports=[report], is_single=True)
    return json.dumps(lint_document(linted), indent=2) + "\n"


CASES = [
    ("broken.gq", "broken.txt", refused),
    ("mistakes.gq", "mistakes.txt", messages),
    ("fleet.gq", "fleet.canonical.gq", formatted),
    ("fleet.gq", "fleet.lint.json", described),
]


@pytest.mark.parametrize(("source", "expected", "produce"), CASES)
def test_queries_give_what_stands_beside_them(source, expected, produce):
    assert produce(source) == (HERE / expected).read_text()


def test_the_canonical_text_means_the_same():
    canonical, written = (
        parse_queries((HERE / name).read_text(), source="x") for name in ("fleet.canonical.gq", "fleet.gq")
    )

    assert canonical == written
    assert formatted("fleet.canonical.gq") == (HERE / "fleet.canonical.gq").read_text()


if __name__ == "__main__":
    for source, expected, produce in CASES:
        (HERE / expected).write_text(produce(source))
