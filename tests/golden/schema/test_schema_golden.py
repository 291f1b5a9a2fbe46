"""Schemas beside what becomes of them; run this file as a program to write the expectations anew."""

import json
from pathlib import Path

import pytest

from omnigraph.catalog.compile import compile_schema
from omnigraph.catalog.ir import ir_document
from omnigraph.errors import ParseError
from omnigraph.language.schema import format_schema, parse_schema

HERE = Path(__file__).parent
DOMAIN = "01JQ0000000000000000000000"


def canonical_text(name):
    return format_schema(parse_schema((HERE / name).read_text(), source=name))


def compiled(name):
    catalog = compile_schema((HERE / name).read_text(), source=name, identity_domain=DOMAIN)
    return json.dumps(ir_document(catalog), indent=2, ensure_ascii=False) + "\n"


def messages(name):
    with pytest.raises(ParseError) as refused:
        compile_schema((HERE / name).read_text(), source=name, identity_domain=DOMAIN)
    return refused.value.message + "\n"


CASES = [
    ("fleet.pg", "fleet.canonical.pg", canonical_text),
    ("fleet.pg", "fleet.ir.json", compiled),
    ("mistakes.pg", "mistakes.txt", messages),
    ("broken.pg", "broken.txt", messages),
]


@pytest.mark.parametrize(("source", "expected", "produce"), CASES)
def test_schema_gives_what_stands_beside_it(source, expected, produce):
    assert produce(source) == (HERE / expected).read_text()


def test_canonical_text_means_the_same():
    assert compiled("fleet.canonical.pg") == compiled("fleet.pg")


if __name__ == "__main__":
    for source, expected, produce in CASES:
        (HERE / expected).write_text(produce(source))
