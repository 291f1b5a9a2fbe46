"""The fast path is only fast: whatever it reads, the reference path reads the same way and finds nothing wrong with."""

import json
import string
from base64 import b64encode

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pa_json
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from omnigraph.records.offences import OffenceCollector
from omnigraph.records.ordinary import read_ordinary
from omnigraph.records.parse import parse_chunk
from omnigraph.records.reference import read_each
from omnigraph.records.rendering import render_lines

STRING_PARTS = ["a", "é", "\\n", "\\u00e9", "\\ud83d", "\\ude00", "\\uDBFF", "\\x", "\\", "\t", "\x7f", '"']

digits = st.text(string.digits, min_size=1, max_size=22)
number_tokens = st.one_of(
    st.integers(-(2**70), 2**70).map(str),
    st.integers(-40, 40).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.builds("{}{}".format, st.sampled_from(["", "-", "+"]), digits),
    st.builds("{}.{}e{}{}".format, digits, digits, st.sampled_from(["", "-", "+"]), st.integers(0, 400)),
    st.sampled_from(["-0", "-0.0", "1e400", "1e39", "30.0", "NaN", "-Infinity", "00", "1.", ".5", "1e", "0x1"]),
)
moment_tokens = st.one_of(
    st.builds(
        '"{}-{}-{}{}{}:{}{}{}{}"'.format,
        st.sampled_from(["2031", "1969", "0001", "9999", "0000", "2024"]),
        st.sampled_from(["01", "02", "12", "13", "7"]),
        st.sampled_from(["01", "28", "29", "30", "31", "00"]),
        st.sampled_from(["T", " ", "t"]),
        st.sampled_from(["00", "23", "24"]),
        st.sampled_from(["00", "59", "60"]),
        st.sampled_from(["", ":00", ":59", ":60"]),
        st.sampled_from(["", ".9", ".999", ".9999", ".000001", ".1234567", "."]),
        st.sampled_from(["", "Z", "z", "+02:00", "-0230", "+14", "-23:59", "+24:00", "+02:60"]),
    ),
    st.dates().map(lambda day: f'"{day.isoformat()}"'),
    st.sampled_from(['"2031-07-15"', '"20310715"', '"2031-7-15"', '"2031-02-30"', '"0000-01-01"', '"soon"', "22475"]),
)
string_tokens = st.one_of(
    st.text(max_size=5).map(json.dumps),
    st.text(max_size=5).map(lambda text: json.dumps(text, ensure_ascii=False)),
    st.lists(
        st.sampled_from(["a", "é", "\\n", "\\u00e9", "\\ud83d", "\\ude00", "\\uDBFF", "\\x", "\\", "\t", "\x7f", '"']),
        max_size=4,
    ).map(lambda parts: f'"{"".join(parts)}"'),
    st.sampled_from(['"base64:"', '"base64:SGk="', '"base64:SGk"', '"base64:*"', '"blue"', '"red"', '"green"']),
)
scalar_tokens = st.one_of(number_tokens, moment_tokens, string_tokens, st.sampled_from(["null", "true", "false", "{}"]))
array_tokens = st.one_of(
    st.lists(number_tokens, max_size=4),
    st.lists(moment_tokens, max_size=3),
    st.lists(string_tokens, max_size=3),
    st.lists(scalar_tokens, max_size=3),
).map(lambda items: f"[{', '.join(items)}]")


@st.composite
def mostly(draw, usual, odd):
    """Draw from `usual`, except once in a while."""
    return draw(odd if draw(st.integers(0, 15)) == 15 else usual)


def arrays(items, **sizes):
    return st.lists(items, **sizes).map(lambda drawn: f"[{', '.join(drawn)}]")


fine_integers = st.integers(0, 2**31 - 1).map(str)
fine_numbers = st.one_of(st.floats(allow_nan=False, allow_infinity=False, width=32).map(repr), fine_integers)
fine_strings = st.text(st.characters(exclude_categories=["Cs"]), max_size=5).map(json.dumps)
fine_days = st.dates().map(lambda day: f'"{day.isoformat()}"')
fine_moments = st.datetimes().map(lambda moment: f'"{moment.isoformat()}Z"')
FINE = {
    **dict.fromkeys(["i32", "i64", "u32", "u64", "must", "size"], fine_integers),
    **dict.fromkeys(["f32", "f64", "weight"], fine_numbers),
    **dict.fromkeys(["text", "source", "id"], fine_strings),
    **dict.fromkeys(["kind", "colour"], st.sampled_from(['"blue"', '"green"'])),
    **dict.fromkeys(["day", "since"], fine_days),
    "moment": fine_moments,
    "blob": st.binary(max_size=4).map(lambda blob: f'"base64:{b64encode(blob).decode()}"'),
    "flag": st.sampled_from(["true", "false"]),
    "texts": arrays(fine_strings, max_size=3),
    "i32s": arrays(fine_integers, max_size=3),
    "u64s": arrays(fine_integers, max_size=3),
    "f32s": arrays(fine_numbers, max_size=3),
    "days": arrays(fine_days, max_size=3),
    "moments": arrays(fine_moments, max_size=3),
}
VECTORS = {
    "Thing": arrays(fine_numbers, min_size=3, max_size=3),
    "Strict": arrays(fine_numbers, min_size=2, max_size=2),
}
PROPERTIES = {
    "Thing": sorted({*FINE, "vec"} - {"must", "size", "colour", "since", "source", "weight"}),
    "Strict": ["colour", "size", "since", "source", "vec", "id"],
    "Likes": ["weight", "id"],
}
REQUIRED = {"Thing": [], "Strict": ["must"], "Likes": ["day"]}


@st.composite
def objects(draw, members):
    """An object with the given members, perhaps with odd spacing or broken commas."""
    gap = draw(st.sampled_from(["", " ", "\t", "  "]))
    comma = draw(mostly(st.sampled_from([",", ", "]), st.sampled_from([",,", "", ";"])))
    body = comma.join(f'"{name}"{gap}:{gap}{token}' for name, token in members)
    return f"{{{gap}{body}{draw(mostly(st.just(''), st.just(',')))}}}"


@st.composite
def records(draw):
    name = draw(st.sampled_from(["Thing", "Strict", "Likes"]))
    chosen = draw(
        st.lists(st.sampled_from(PROPERTIES[name]), max_size=4, unique=draw(mostly(st.just(True), st.just(False))))
    )
    chosen = draw(mostly(st.just([*chosen, *REQUIRED[name]]), st.just([*chosen, "unknown"])))
    anything = st.one_of(number_tokens, moment_tokens, string_tokens, scalar_tokens, array_tokens)
    fine = {**FINE, "vec": VECTORS.get(name)}
    data = draw(objects([(prop, draw(mostly(fine.get(prop, anything), anything))) for prop in chosen]))
    if name == "Likes":
        spelled = draw(mostly(st.sampled_from(["Likes", "likes", "LIKES"]), st.just("Like")))
        outside = [("edge", f'"{spelled}"'), ("from", draw(fine_strings)), ("to", draw(string_tokens)), ("data", data)]
    else:
        outside = [("type", f'"{draw(mostly(st.just(name), st.just(name.lower())))}"'), ("data", data)]
    outside = draw(mostly(st.just(outside), st.permutations(outside)))
    outside = draw(mostly(st.just(outside), st.just(outside[:1])))
    return draw(objects(outside)) + draw(mostly(st.sampled_from(["", " ", "\r"]), st.sampled_from(["x", "{}"])))


def encoded(lines: list[str]) -> bytes:
    return "\n".join(line.replace("\n", " ") for line in lines).encode(errors="surrogatepass")


def as_lines(text: bytes) -> pa.Array:
    pieces = text.split(b"\n")
    return pa.array([piece + b"\n" for piece in pieces], pa.large_binary())


def by_line(tables) -> dict[int, bytes]:
    """What each line says, rendered: that tells apart everything that the columns can."""
    rows = {}
    for entity, table in tables:
        filled = table.set_column(0, "id", pc.fill_null(table["id"], "no id"))
        rows.update(zip(table["__line"].to_pylist(), render_lines(filled, entity).split(b"\n"), strict=False))
    return rows


@settings(max_examples=100, deadline=None)
@given(st.lists(records(), min_size=1, max_size=3))
@example(['{"type":"Thing","data":{"f64":-0,"f32":-0}}'])
@example(['{"data":{"i32":1},"type":"Thing"}', '{"type":"Thing","data":{"i32":1,"i32":1}}'])
@example(['{"type":"Thing","type":"Thing"}'])
@example(['{"type":"Thing"}{"type":"Thing"}'])
@example(['{"type":"Strict","data":{"must":1,"vec":null}}', '{"type":"Strict","data":{"must":1,"size":null}}'])
def test_rows_of_the_fast_path_equal_those_of_the_reference_path(everything, lines):
    text = encoded(lines)
    try:
        text.decode()
    except UnicodeDecodeError:
        return  # the fast path is only given valid UTF-8
    array = as_lines(text)

    ordinary = read_ordinary(array, first_line=1, catalog=everything)
    findings = OffenceCollector(limit=1000)
    every = pa.array(range(len(array)), pa.uint64())
    reference = by_line(read_each(array, first_line=1, at=every, file_index=0, catalog=everything, findings=findings))

    fast = by_line(ordinary.tables)
    assert sorted([*fast, *(index + 1 for index in ordinary.left_over.to_pylist())]) == list(range(1, len(array) + 1))
    wrong_lines = {found.line for found in findings.result().first}
    for line, row in fast.items():
        assert line not in wrong_lines, lines[line - 1]
        assert row == reference[line]


def test_ordinary_lines_of_every_type_take_the_fast_path(everything):
    """The promise that makes load fast: what export writes, and common variants of it, leaves nothing over."""
    lines = [
        b'{"type":"Thing","data":{"id":"x","text":"\\u00e9\\n","kind":"blue","flag":true,"i32":-5.0,"u64":7,"f32":1.5e3}}',
        b'{"type":"Thing","data":{"day":"2031-07-15","moment":"2031-07-15T06:30:00.123Z","blob":"base64:SGk="}}',
        b'{"type": "Thing", "data": {"vec": [1, 2.5, -3e-2], "texts": ["a", "b"], "days": [], "moment": null}}\r',
        b'{"type":"Thing","data":{"moments":["2031-07-15 06:30","2031-07-15T08:30:00.123456+02:00"]}}',
        b'{"data":{"must":1,"colour":"green","size":3},"type":"Strict"}',
        b'{"edge":"LIKES","from":"a","to":"b","data":{"weight":0.5,"day":"2020-02-29"}}',
        b'{"type":"Thing"}',
    ]

    ordinary = read_ordinary(as_lines(b"\n".join(lines)), first_line=1, catalog=everything)

    assert ordinary.left_over.to_pylist() == []
    assert sorted(by_line(ordinary.tables)) == [1, 2, 3, 4, 5, 6, 7]


@settings(max_examples=30, deadline=None)
@given(st.lists(records(), min_size=1, max_size=8), st.data())
def test_splitting_the_input_anywhere_changes_neither_rows_nor_errors(everything, lines, data):
    text = encoded(lines)
    pieces = text.split(b"\n")
    cut = data.draw(st.integers(0, len(pieces)))

    whole = parse_chunk(text, first_line=1, file_index=0, catalog=everything, max_errors=1000)
    collector = OffenceCollector(limit=1000)
    parts = []
    for first_line, part in ((1, pieces[:cut]), (cut + 1, pieces[cut:])):
        parsed = parse_chunk(
            b"".join(piece + b"\n" for piece in part),
            first_line=first_line,
            file_index=0,
            catalog=everything,
            max_errors=1000,
        )
        collector.include(parsed.findings)
        parts.append(parsed.tables)

    assert collector.result() == whole.findings
    if not whole.findings.total:
        for table_key, table in whole.tables.items():
            assert table.equals(pa.concat_tables([part[table_key] for part in parts if table_key in part]))


def test_lines_of_many_types_in_any_order_come_back_by_type_and_line(everything):
    lines = []
    for number in range(300):
        lines.append(f'{{"type":"Thing","data":{{"i32":{number}{".0" if number % 7 == 0 else ""}}}}}')
        lines.append(f'{{"edge":"Likes","from":"a","to":"{number}","data":{{"day":"2020-01-01"}}}}')

    parsed = parse_chunk("\n".join(lines).encode(), first_line=1, file_index=0, catalog=everything)

    things, likes = parsed.tables["node:Thing"], parsed.tables["edge:Likes"]
    assert things["i32"].to_pylist() == list(range(300))
    assert things["__line"].to_pylist() == list(range(1, 600, 2))
    assert likes["dst"].to_pylist() == [str(number) for number in range(300)]


@pytest.mark.parametrize(
    "text", ['{"x":1,"x":2}', '{"x":null,"x":1}', '{"d":{"x":1,"x":1}}', '{"d":null,"d":{}}', '{"d":{},"d":{}}']
)
def test_arrow_refuses_repeated_members_of_its_schema(text):
    """The pattern of a line lets members repeat; the fast path relies on Arrow to notice."""
    schema = pa.schema([("x", pa.int32()), ("d", pa.struct([("x", pa.int32())]))])
    options = pa_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error")

    with pytest.raises(pa.ArrowInvalid, match="specified twice"):
        pa_json.read_json(pa.BufferReader(text.encode()), parse_options=options)
