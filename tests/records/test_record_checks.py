"""The record checks: each code, what its message names, how errors are counted, ordered and capped."""

import json

import pytest

from omnigraph.records.offences import Code

ANA = {"type": "Sailor", "data": {"name": "Ana", "rank": "captain"}}


def sailor(**data: object) -> dict[str, object]:
    return {"type": "Sailor", "data": {"name": "Ana", "rank": "captain", **data}}


def ends(**fields: object) -> dict[str, object]:
    return {"edge": "Mentors", "from": "Ana", "to": "Bo", **fields}


@pytest.mark.parametrize(
    ("record", "code", "names"),
    [
        ("{", Code.INVALID_JSON, []),
        (b'{"type":"\xff"}', Code.INVALID_UTF8, ["0xff"]),
        (b'{"type":"Note","data":{"text":"\xff"}}', Code.INVALID_UTF8, ["0xff"]),
        (b'{"type":"Note","data":{"text":"\xed\xa0\x80"}}', Code.INVALID_UTF8, ["0xed"]),
        (b'{"type":"Note","data":{"text":"\\ud800"}}', Code.INVALID_JSON, ["surrogate"]),
        (b'{"type":"Note","data":{"text":"a","text":"b"}}', Code.DUPLICATE_MEMBER, ["text"]),
        (b'{"type":"Note","data":{"text":"a"}} {}', Code.INVALID_JSON, []),
        ('{"type":"Sailor","data":{"age":1,"age":2}}', Code.DUPLICATE_MEMBER, ["age"]),
        ("[]", Code.NOT_AN_OBJECT, []),
        ('"text"', Code.NOT_AN_OBJECT, []),
        ("null", Code.NOT_AN_OBJECT, []),
        ("17", Code.NOT_AN_OBJECT, []),
        ({}, Code.BAD_ENVELOPE, ["type", "edge"]),
        ({"data": {}}, Code.BAD_ENVELOPE, ["type", "edge"]),
        ({"type": "Sailor", "edge": "Mentors", "data": {}}, Code.BAD_ENVELOPE, ["type", "edge"]),
        ({"type": 5}, Code.BAD_ENVELOPE, ["type", "5"]),
        ({"type": None}, Code.BAD_ENVELOPE, ["type", "null"]),
        ({"edge": ["Mentors"], "from": "a", "to": "b"}, Code.BAD_ENVELOPE, ["edge"]),
        ({"type": "Sailor", "data": []}, Code.BAD_ENVELOPE, ["data"]),
        ({"type": "Sailor", "data": None}, Code.BAD_ENVELOPE, ["data", "null"]),
        ({"edge": "Mentors", "to": "b"}, Code.BAD_ENVELOPE, ["from", "missing"]),
        ({"edge": "Mentors", "from": "a"}, Code.BAD_ENVELOPE, ["to", "missing"]),
        (ends(to=5), Code.BAD_ENVELOPE, ["to", "5"]),
        (ends(to=None), Code.BAD_ENVELOPE, ["to", "null"]),
        ({**ANA, "branch": "x"}, Code.UNKNOWN_FIELD, ["branch"]),
        ({**ANA, "Data": {}}, Code.UNKNOWN_FIELD, ["Data"]),
        ({**ANA, "from": "x"}, Code.UNKNOWN_FIELD, ["from"]),
        (ends(weight=1), Code.UNKNOWN_FIELD, ["weight"]),
        ({**ANA, "_rowid": 1}, Code.RESERVED_FIELD, ["_rowid"]),
        ({**ANA, "id": "x"}, Code.RESERVED_FIELD, ["id"]),
        (ends(src="x"), Code.RESERVED_FIELD, ["src"]),
        (ends(data={"src": "x"}), Code.RESERVED_FIELD, ["src"]),
        (ends(data={"from": "x"}), Code.RESERVED_FIELD, ["from"]),
        (ends(data={"To": "x"}), Code.RESERVED_FIELD, ["To"]),
        (sailor(_ROWID=1), Code.RESERVED_FIELD, ["_ROWID"]),
        (sailor(_distance=1), Code.RESERVED_FIELD, ["_distance"]),
        ({"type": "Sailr", "data": {}}, Code.UNKNOWN_TYPE, ["Sailr"]),
        ({"type": "sailor", "data": {}}, Code.UNKNOWN_TYPE, ["sailor"]),
        ({"type": "Mentors", "data": {}}, Code.UNKNOWN_TYPE, ["Mentors"]),
        ({"edge": "Sailor", "from": "a", "to": "b"}, Code.UNKNOWN_TYPE, ["Sailor"]),
        (sailor(nick="A"), Code.UNKNOWN_PROPERTY, ["Sailor.nick"]),
        (sailor(Age=5), Code.UNKNOWN_PROPERTY, ["Sailor.Age"]),
        (sailor(to="x"), Code.UNKNOWN_PROPERTY, ["Sailor.to"]),
        ({"type": "Note", "data": {"text": "t", "id": 5}}, Code.INVALID_ID, ["Note", "5"]),
        ({"type": "Note", "data": {"text": "t", "id": None}}, Code.INVALID_ID, ["Note", "null"]),
        (ends(data={"id": True}), Code.INVALID_ID, ["Mentors", "true"]),
        (sailor(id=7), Code.INVALID_ID, ["Sailor", "7"]),
        (sailor(id="a1"), Code.ID_MISMATCH, ["Sailor", "a1", "Ana"]),
        (
            {"type": "Slot", "data": {"pier": 'N"', "number": 7, "id": "N7"}},
            Code.ID_MISMATCH,
            ["Slot", "N7", '["7","N\\""]'],
        ),
        (sailor(age="50"), Code.WRONG_TYPE, ["Sailor.age", "I32", '"50"']),
        (sailor(age=50.5), Code.WRONG_TYPE, ["Sailor.age", "I32", "50.5"]),
        (sailor(age=3_000_000_000), Code.OUT_OF_RANGE, ["Sailor.age", "3000000000", "I32"]),
        ({"type": "Ship", "data": {"hull": "S1", "title": "t", "vec": [1]}}, Code.BAD_VECTOR, ["Ship.vec", "2", "1"]),
        (
            {"type": "Ship", "data": {"hull": "S1", "title": "t", "vec": [1, None]}},
            Code.BAD_VECTOR,
            ["Ship.vec", "numeric"],
        ),
        (sailor(photo="base64:***"), Code.BAD_BLOB, ["Sailor.photo"]),
        (sailor(photo="s3://x/y"), Code.EXTERNAL_BLOB_DENIED, ["Sailor.photo"]),
        ({"type": "Sailor", "data": {"name": "Ana"}}, Code.MISSING_REQUIRED, ["Sailor.rank"]),
        ({"type": "Sailor", "data": {"rank": "mate"}}, Code.MISSING_REQUIRED, ["Sailor.name"]),
        (sailor(name=None), Code.MISSING_REQUIRED, ["Sailor.name"]),
        (
            sailor(rank="cook"),
            Code.INVALID_ENUM,
            ["invalid enum value", "cook", "Sailor.rank", "captain, deckhand, mate"],
        ),
        (sailor(rank="Captain"), Code.INVALID_ENUM, ["Captain"]),
        (sailor(age=121), Code.RANGE_VIOLATION, ["@range violation on Sailor.age", "121", "120"]),
        (sailor(age=-1), Code.RANGE_VIOLATION, ["@range violation on Sailor.age", "-1", "0"]),
        (sailor(bio="lower"), Code.CHECK_VIOLATION, ["@check violation on Sailor.bio", "lower", "^[A-Z]"]),
    ],
)
def test_a_bad_record_has_one_error_with_its_code_and_names(parse, sailors, record, code, names):
    parsed = parse(sailors, "", record, first_line=41)

    (found,) = parsed.findings.first
    assert (found.code, found.line, parsed.findings.by_code) == (code, 42, {code: 1})
    for name in names:
        assert name in found.message
    assert parsed.tables == {}


@pytest.mark.parametrize(
    "record",
    [
        ANA,
        sailor(id="Ana"),
        sailor(age=0),
        sailor(age=120, bio=None, tags=None, photo=None),
        {"data": {"rank": "mate", "name": "Bo"}, "type": "Sailor"},
        ends(),
        ends(edge="mentors"),
        ends(edge="MENTORS", data={"since": "2020-01-01", "note": None}),
        {"to": "b", "data": {"id": "e1"}, "from": "a", "edge": "Mentors"},
        {"type": "Slot", "data": {"pier": "N", "number": 7, "id": '["7","N"]'}},
    ],
)
def test_a_good_record_passes(parse, sailors, record):
    parsed = parse(sailors, record)

    assert parsed.findings.total == 0
    assert [table.num_rows for table in parsed.tables.values()] == [1]


def test_a_type_without_required_properties_needs_no_data(parse, everything):
    parsed = parse(everything, '{"type":"Thing"}', '{"type":"Thing","data":{}}')

    assert parsed.tables["node:Thing"].num_rows == 2


def test_every_bad_property_of_a_record_has_its_own_error_by_name(parse, sailors):
    parsed = parse(sailors, sailor(rank="cook", age="x", bio="low", nick=1, photo="base64:*", tags=[None], id=5))

    assert [(found.property, found.code) for found in parsed.findings.first] == [
        ("age", Code.WRONG_TYPE),
        ("bio", Code.CHECK_VIOLATION),
        ("id", Code.INVALID_ID),
        ("nick", Code.UNKNOWN_PROPERTY),
        ("photo", Code.BAD_BLOB),
        ("rank", Code.INVALID_ENUM),
        ("tags", Code.WRONG_TYPE),
    ]


def test_an_envelope_error_ends_the_record(parse, sailors):
    parsed = parse(sailors, {"type": "Sailor", "x": 1, "data": {"age": "old"}})

    assert parsed.findings.by_code == {Code.UNKNOWN_FIELD: 1}


def test_one_bad_line_among_many_good_ones_is_found_and_nothing_is_returned(parse, sailors):
    good = [sailor(name=f"s{number}") for number in range(2000)]

    parsed = parse(sailors, *good[:1500], sailor(age=True), *good[1500:])

    (found,) = parsed.findings.first
    assert (found.line, found.code) == (1501, Code.WRONG_TYPE)
    assert parsed.tables == {}


def test_errors_are_all_counted_and_the_first_by_position_then_property_are_kept(parse, sailors):
    bad = [sailor(age=500, bio="low", rank="cook", name=f"s{number}") for number in range(30)]

    parsed = parse(sailors, ANA, *bad, "{")

    assert parsed.findings.total == 91
    assert parsed.findings.by_code == {
        Code.CHECK_VIOLATION: 30,
        Code.INVALID_ENUM: 30,
        Code.INVALID_JSON: 1,
        Code.RANGE_VIOLATION: 30,
    }
    expected = [(2 + number // 3, ("age", "bio", "rank")[number % 3]) for number in range(20)]
    assert [(found.line, found.property) for found in parsed.findings.first] == expected


@pytest.mark.parametrize(
    "record",
    [
        sailor(age="x" * 5000),
        sailor(bio="x" * 5000),
        sailor(rank="x" * 5000),
        sailor(id="x" * 5000),
        sailor(**{"x" * 5000: 1}),
        {**ANA, "x" * 5000: 1},
        {"type": "x" * 5000},
        {"type": "Ship", "data": {"hull": "h", "title": ["x" * 5000]}},
        json.dumps(sailor(age=1))[:-2] + ',"' + "x" * 5000 + '":1,"' + "x" * 5000 + '":1}}',
    ],
)
def test_messages_repeat_at_most_200_characters_of_a_value(parse, sailors, record):
    parsed = parse(sailors, record)

    assert parsed.findings.total == 1
    (found,) = parsed.findings.first
    assert "x" * 190 in found.message
    assert "x" * 201 not in found.message
    assert "…" in found.message
    assert len(found.property or "") <= 201


def test_a_line_of_ten_megabytes_is_a_record_like_any_other(parse, sailors):
    large = "é" * 5_000_000

    good = parse(sailors, {"type": "Note", "data": {"text": large}}, ANA)
    bad = parse(sailors, sailor(age=large), ANA)
    odd = parse(sailors, {"type": "Note", "data": {"text": 5}}, b"[" * 10_000_000)

    assert good.tables["node:Note"]["text"][0].as_py() == large
    assert bad.findings.by_code == {Code.WRONG_TYPE: 1}
    assert odd.findings.by_code == {Code.INVALID_JSON: 1, Code.WRONG_TYPE: 1}


def test_blank_lines_are_skipped_and_counted_and_carriage_returns_dropped(parse, sailors):
    parsed = parse(sailors, "", " \t ", "\r", sailor(name="A"), json.dumps(sailor(name="B")) + "\r", "\x0b\x0c", "")

    assert parsed.line_count == 6
    assert parsed.tables["node:Sailor"].select(["id", "__line"]).to_pylist() == [
        {"id": "A", "__line": 4},
        {"id": "B", "__line": 5},
    ]


def test_an_object_spread_over_lines_is_an_error_on_each_of_them(parse, sailors):
    parsed = parse(sailors, '{"type":"Sailor",', '"data":{}}')

    assert [(found.line, found.code) for found in parsed.findings.first] == [
        (1, Code.INVALID_JSON),
        (2, Code.INVALID_JSON),
    ]


def test_a_chunk_without_lines_has_no_tables(parse, sailors):
    parsed = parse(sailors)

    assert (parsed.tables, parsed.findings.total, parsed.line_count) == ({}, 0, 0)


def test_rows_know_their_place_and_positions_grow_with_file_and_line(parse, sailors):
    first = parse(sailors, sailor(name="A"), ends(), sailor(name="B"), first_line=10, file_index=0)
    second = parse(sailors, sailor(name="C"), first_line=1, file_index=1)

    rows = first.tables["node:Sailor"]
    assert rows["__file"].to_pylist() == [0, 0]
    assert rows["__line"].to_pylist() == [10, 12]
    positions = [
        *rows["__position"].to_pylist()[:1],
        *first.tables["edge:Mentors"]["__position"].to_pylist(),
        *rows["__position"].to_pylist()[1:],
        *second.tables["node:Sailor"]["__position"].to_pylist(),
    ]
    assert positions == sorted(set(positions))


def test_ids_are_derived_for_keyed_nodes_and_null_where_a_record_gives_none(parse, sailors):
    parsed = parse(
        sailors,
        sailor(name="Ana"),
        {"type": "Slot", "data": {"pier": "N", "number": 7}},
        {"type": "Note", "data": {"text": "a"}},
        {"type": "Note", "data": {"text": "b", "id": "n1"}},
        ends(),
        ends(data={"id": "e1"}),
    )

    ids = {table_key: table["id"].to_pylist() for table_key, table in parsed.tables.items()}
    assert ids == {
        "edge:Mentors": [None, "e1"],
        "node:Note": [None, "n1"],
        "node:Sailor": ["Ana"],
        "node:Slot": ['["7","N"]'],
    }
