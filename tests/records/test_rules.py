"""Ranges are compared exactly, whatever the widths of bound and column; null is exempt from every rule."""

import pytest

from omnigraph.catalog.compile import compile_schema
from omnigraph.records.offences import Code


def limited(declared: str, bounds: str):
    source = f"node Item {{ value: {declared}  @range(value, {bounds}) }}"
    return compile_schema(source, source="items.pg", identity_domain="test")


@pytest.mark.parametrize(
    ("declared", "bounds", "inside", "outside"),
    [
        ("I32?", "0..120", ["0", "120", "null", "60.0"], ["-1", "121"]),
        ("I32?", "..5", ["-2147483648", "5"], ["6"]),
        ("I32?", "5..", ["5", "2147483647"], ["4"]),
        ("I32?", "-1.5..1.5", ["-1", "1"], ["-2", "2"]),
        ("I64?", "..9007199254740993", ["9007199254740992", "9007199254740993"], ["9007199254740994"]),
        ("U64?", "9223372036854775809..", ["9223372036854775809"], ["9223372036854775808"]),
        ("F64?", "0.1..0.3", ["0.1", "0.3"], ["0.09999999999999999", "0.30000000000000004"]),
        ("F64?", "..9007199254740993", ["9007199254740992"], ["9007199254740994"]),
        ("F64?", "9007199254740993..", ["9007199254740994"], ["9007199254740992"]),
        ("F32?", "0.5..0.75", ["0.5", "0.75"], ["0.49999997", "0.7500001"]),
    ],
)
def test_bounds_are_inclusive_and_exact(parse, declared, bounds, inside, outside):
    catalog = limited(declared, bounds)

    def codes(token: str) -> dict[Code, int]:
        return parse(catalog, f'{{"type":"Item","data":{{"value":{token}}}}}').findings.by_code

    assert [codes(token) for token in inside] == [{}] * len(inside)
    assert [codes(token) for token in outside] == [{Code.RANGE_VIOLATION: 1}] * len(outside)


def test_the_message_shows_the_value_at_its_width_and_the_broken_bound(parse):
    parsed = parse(limited("F32?", "0.5..0.75"), '{"type":"Item","data":{"value":0.1}}')

    assert parsed.findings.first[0].message == "@range violation on Item.value: 0.1 is below 0.5"


def test_a_check_is_an_unanchored_re2_search_over_characters(parse):
    source = r'node Item { code: String?  @check(code, "^.\\pL[0-9]{2}$") }'
    catalog = compile_schema(source, source="items.pg", identity_domain="test")

    parsed = parse(
        catalog,
        '{"type":"Item","data":{"code":"éü12"}}',
        '{"type":"Item","data":{"code":null}}',
        '{"type":"Item","data":{"code":"a112"}}',
    )

    assert [(found.line, found.code) for found in parsed.findings.first] == [(3, Code.CHECK_VIOLATION)]
