"""Strict JSON: everything that lenient parsers let through is refused, with the right code."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.records.offences import Code, Rejected
from omnigraph.records.strict_json import Number, decode_line, spell


def code_of(line: bytes) -> Code:
    with pytest.raises(Rejected) as caught:
        decode_line(line)
    return caught.value.code


@pytest.mark.parametrize(
    "line",
    [
        b'{"a":NaN}',
        b'{"a":Infinity}',
        b'{"a":-Infinity}',
        b'{"a":1} // comment',
        b'/* comment */ {"a":1}',
        b'{"a":1} trailing',
        b'{"a":1}{"a":2}',
        b'{"a":1} {"a":2}',
        b'{"a":',
        b"}",
        b'{"a":1,}',
        b"{'a':1}",
        b"{a:1}",
        b'{"a":01}',
        b'{"a":+1}',
        b'{"a":.5}',
        b'{"a":5.}',
        b'{"a":0x1F}',
        b'{"a":True}',
        b'{"a":"\x01"}',
        b'{"a":"\t"}',
        b'{"a":"\\x41"}',
        b'{"a":"\\ud800"}',
        b'{"a":"\\udc00"}',
        b'{"a":"\\ud800\\ud800"}',
        b'{"a":["x",{"b":"\\uDBFF "}]}',
        b'{"\\ud800":1}',
        b'{"a":"\\ud83d\xf0\x9f\x98\x80"}',
        b'\xef\xbb\xbf{"a":1}',
        b'{"a":1}\x00',
        b"\x0b{}",
        b"[" * 100_000,
        b'{"a":' * 100_000,
    ],
    ids=lambda line: repr(line[:40]),
)
def test_what_is_not_one_strict_json_value_is_invalid_json(line):
    assert code_of(line) is Code.INVALID_JSON


@pytest.mark.parametrize(
    "line",
    [
        b'{"a":"\xff"}',
        b'{"a":"\xc3"}',
        b'{"a":"\xc0\x80"}',
        b'{"a":"\xed\xa0\x80"}',
        b'{"a":"\xf4\x90\x80\x80"}',
        b"\xff",
    ],
)
def test_bytes_that_are_not_utf8_are_invalid_utf8(line):
    assert code_of(line) is Code.INVALID_UTF8


@pytest.mark.parametrize(
    ("line", "member"),
    [
        (b'{"age":1,"age":2}', "age"),
        (b'{"data":{"age":1,"age":1}}', "age"),
        (b'{"data":{"x":[{"deep":null,"deep":null}]}}', "deep"),
        (b'{"a":1,"\\u0061":2}', "a"),
        (b'{"b":1,"a":1,"c":2,"a":3}', "a"),
    ],
)
def test_a_repeated_member_is_refused_by_name_at_any_depth(line, member):
    with pytest.raises(Rejected, match=member) as caught:
        decode_line(line)

    assert caught.value.code is Code.DUPLICATE_MEMBER


@pytest.mark.parametrize(
    ("line", "value"),
    [
        (b' \t{"a" : 1}\r\n', {"a": Number("1")}),
        (b'{"a":"\\ud83d\\ude00 \\u0000 \\n"}', {"a": "\U0001f600 \x00 \n"}),
        (b'{"a":18446744073709551615}', {"a": Number("18446744073709551615")}),
        (b'{"a":-0}', {"a": Number("-0")}),
        (b'{"a":1e400}', {"a": Number("1e400")}),
        (b'{"a":' + b"9" * 10_000 + b"}", {"a": Number("9" * 10_000)}),
        (b'{"a":"\x7f\xe2\x80\xa8"}', {"a": "\x7f\u2028"}),
    ],
)
def test_numbers_keep_their_spelling_and_strings_their_characters(line, value):
    decoded = decode_line(line)

    assert decoded == value
    assert type(decoded["a"]) is type(value["a"])


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(json_values.filter(lambda value: "\ud800" not in repr(value)), st.booleans())
def test_everything_that_json_writes_is_read_back(value, ascii_only):
    line = json.dumps(value, ensure_ascii=ascii_only).encode()

    decoded = decode_line(line)

    assert json.loads(line) == _plain(decoded)


def _plain(value):
    if isinstance(value, Number):
        return json.loads(value)
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("old", '"old"'),
        (Number("5.50"), "5.50"),
        (None, "null"),
        (True, "true"),
        (["é", Number("1"), [None]], '["é", 1, […]]'),
        ({"a": {"b": None}, "c": False}, '{"a": {…}, "c": false}'),
        ("x" * 500, '"' + "x" * 199 + "…"),
        (Number("9" * 500), "9" * 200 + "…"),
    ],
)
def test_values_are_spelled_as_json_and_cut_after_200_characters(value, text):
    assert spell(value) == text
