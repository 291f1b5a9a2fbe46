"""Which JSON values each declared type takes and what is stored: the tables of the loading contract."""

import math
import struct
from datetime import date

import pyarrow as pa
import pytest

from omnigraph.records.offences import Code

OVERFLOW = "1" + "0" * 400


def stored(parse, everything, name: str, token: str):
    parsed = parse(everything, f'{{"type":"Thing","data":{{"{name}":{token}}}}}')
    assert parsed.findings.total == 0, parsed.findings
    column = parsed.tables["node:Thing"][name].combine_chunks()
    if name == "day":
        column = column.cast(pa.int32())
    elif name == "moment":
        column = column.cast(pa.int64())
    return column[0].as_py()


def finding(parse, everything, name: str, token: str):
    parsed = parse(everything, f'{{"type":"Thing","data":{{"{name}":{token}}}}}')
    (found,) = parsed.findings.first
    assert found.property == name
    assert found.line == 1
    assert found.table_key == "node:Thing"
    assert f"Thing.{name}" in found.message
    return found


@pytest.mark.parametrize(
    ("name", "token", "value"),
    [
        ("text", '"as is"', "as is"),
        ("text", '""', ""),
        ("text", '"\\u00e9\\ud83d\\ude00\\u0000"', "é\U0001f600\x00"),
        ("kind", '"blue"', "blue"),
        ("flag", "true", True),
        ("flag", "false", False),
        ("i32", "-2147483648", -(2**31)),
        ("i32", "2147483647", 2**31 - 1),
        ("i32", "30.0", 30),
        ("i32", "1e2", 100),
        ("i32", "-0", 0),
        ("i32", "12.50e1", 125),
        ("i64", "-9223372036854775808", -(2**63)),
        ("i64", "9223372036854775807", 2**63 - 1),
        ("i64", "9007199254740993", 9007199254740993),
        ("i64", "9007199254740992.0", 2**53),
        ("u32", "4294967295", 2**32 - 1),
        ("u32", "-0", 0),
        ("u64", "18446744073709551615", 2**64 - 1),
        ("u64", "0.0", 0),
        ("u64", "0e999999999", 0),
        ("f64", "5", 5.0),
        ("f64", "0.1", 0.1),
        ("f64", "1e-400", 0.0),
        ("f64", "123456789012345678901234567890", 1.2345678901234568e29),
        ("f32", "0.1", struct.unpack("f", struct.pack("f", 0.1))[0]),
        ("f32", "3.4028235e38", 3.4028234663852886e38),
        ("f32", "16777217", 16777216.0),
        ("day", '"2031-07-15"', 22475),
        ("day", '"20310715"', 22475),
        ("day", '"2031-7-15"', 22475),
        ("day", "22475", 22475),
        ("day", '"2031-07-15T23:30:00-02:00"', 22476),
        ("day", '"0001-01-01"', -719162),
        ("day", '"9999-12-31"', 2932896),
        ("day", "-2147483648", -(2**31)),
        ("moment", '"2031-07-15T06:30:00Z"', 1941863400000),
        ("moment", '"2031-07-15T08:30:00+02:00"', 1941863400000),
        ("moment", '"2031-07-15T08:30:00+0200"', 1941863400000),
        ("moment", '"2031-07-15T08:30:00+02"', 1941863400000),
        ("moment", '"2031-07-15 06:30"', 1941863400000),
        ("moment", '"2031-07-15T06:30"', 1941863400000),
        ("moment", '"2031-07-15T06:30:00"', 1941863400000),
        ("moment", '"2031-07-15T06:30:00.123456789Z"', 1941863400123),
        ("moment", '"2031-07-15"', 1941840000000),
        ("moment", '"1969-12-31T23:59:59.9999Z"', -1),
        ("moment", '"1969-12-31T23:59:59.998001"', -2),
        ("moment", "1941863400000", 1941863400000),
        ("moment", "-9223372036854775808", -(2**63)),
        ("blob", '"base64:"', b""),
        ("blob", '"base64:SGk="', b"Hi"),
        ("vec", "[1, -2.5, 1e-3]", [1.0, -2.5, struct.unpack("f", struct.pack("f", 1e-3))[0]]),
        ("vec", "[0,0,0]", [0.0, 0.0, 0.0]),
        ("texts", '["a", "", "a, b"]', ["a", "", "a, b"]),
        ("texts", "[]", []),
        ("flags", "[true,false]", [True, False]),
        ("i32s", "[1, 2.0, -3]", [1, 2, -3]),
        ("u64s", "[18446744073709551615]", [2**64 - 1]),
        ("f32s", "[0.5]", [0.5]),
        ("days", '["2031-07-15", 0]', [date(2031, 7, 15), date(1970, 1, 1)]),
        ("moment", "null", None),
        ("vec", "null", None),
        ("texts", "null", None),
        ("blob", "null", None),
    ],
)
def test_a_fitting_value_is_stored(parse, everything, name, token, value):
    assert stored(parse, everything, name, token) == value


@pytest.mark.parametrize("token", ["-0.0", "-0", "-0e5"])
@pytest.mark.parametrize("name", ["f32", "f64"])
def test_a_negative_zero_keeps_its_sign(parse, everything, name, token):
    assert math.copysign(1, stored(parse, everything, name, token)) == -1


def test_f32_rounds_once_from_the_decimal(parse, everything):
    """A hair above the middle of two floats: rounding to 64 bits first would land on the middle, then on even."""
    token = "1.00000005960464477539062500000000000000001"

    assert stored(parse, everything, "f32", token) == 1 + 2**-23
    assert stored(parse, everything, "f32s", f"[{token}]") == [1 + 2**-23]
    assert stored(parse, everything, "vec", f"[{token},0,0]") == [1 + 2**-23, 0, 0]
    # The same through the reference path, which the repeated value of another property sends the line to.
    assert stored(parse, everything, "f32", f'{token},"i32":1.0') == 1 + 2**-23


@pytest.mark.parametrize(
    ("name", "token", "shown_type", "shown_value"),
    [
        ("text", "5", "String", "5"),
        ("text", "true", "String", "true"),
        ("text", '["a"]', "String", '["a"]'),
        ("text", '{"a":1}', "String", '{"a": 1}'),
        ("kind", "1", "enum(blue, green)", "1"),
        ("flag", "1", "Bool", "1"),
        ("flag", '"true"', "Bool", '"true"'),
        ("i32", '"50"', "I32", '"50"'),
        ("i32", "50.5", "I32", "50.5"),
        ("i32", "true", "I32", "true"),
        ("i32", "1e-999999999999999999999", "I32", "1e-999999999999999999999"),
        ("i64", "9007199254740992.5", "I64", "9007199254740992.5"),
        ("i64", "1e18", "I64", "1e18"),
        ("u64", "[]", "U64", "[]"),
        ("f64", '"1.5"', "F64", '"1.5"'),
        ("f64", "false", "F64", "false"),
        ("f32", "{}", "F32", "{}"),
        ("day", '"2031-02-30"', "Date", '"2031-02-30"'),
        ("day", '"15.07.2031"', "Date", '"15.07.2031"'),
        ("day", '"soon"', "Date", '"soon"'),
        ("day", "22475.0", "Date", "22475.0"),
        ("day", '"0000-01-01"', "Date", '"0000-01-01"'),
        ("day", '"10000-01-01"', "Date", '"10000-01-01"'),
        ("day", '"\N{FULLWIDTH DIGIT TWO}031-07-15"', "Date", '"\N{FULLWIDTH DIGIT TWO}031-07-15"'),
        ("moment", '"2031-07-15T06:30:60Z"', "DateTime", '"2031-07-15T06:30:60Z"'),
        ("moment", '"2031-07-15T24:00:00Z"', "DateTime", '"2031-07-15T24:00:00Z"'),
        ("moment", '"06:30"', "DateTime", '"06:30"'),
        ("moment", '"2031-07-15T06:30:00+24:00"', "DateTime", '"2031-07-15T06:30:00+24:00"'),
        ("moment", '"0000-07-15T06:30:00Z"', "DateTime", '"0000-07-15T06:30:00Z"'),
        ("moment", "1.5", "DateTime", "1.5"),
        ("blob", "5", "Blob", "5"),
        ("vec", '"[1,2,3]"', "Vector(3)", '"[1,2,3]"'),
        ("vec", "1", "Vector(3)", "1"),
        ("texts", '"a"', "[String]", '"a"'),
        ("texts", '["a", null]', "[String]", "null at item 2"),
        ("texts", '["a", 5]', "[String]", "5 at item 2"),
        ("i32s", '[1, "2"]', "[I32]", '"2" at item 2'),
        ("i32s", "[1.5]", "[I32]", "1.5 at item 1"),
        ("days", '["2031-02-30"]', "[Date]", '"2031-02-30" at item 1'),
        ("moments", "[null]", "[DateTime]", "null at item 1"),
    ],
)
def test_a_value_of_another_type_is_refused_naming_type_and_value(
    parse, everything, name, token, shown_type, shown_value
):
    found = finding(parse, everything, name, token)

    assert found.code is Code.WRONG_TYPE
    assert found.message == f"Thing.{name} expects {shown_type}, got {shown_value}"


@pytest.mark.parametrize(
    ("name", "token"),
    [
        ("i32", "2147483648"),
        ("i32", "3000000000.0"),
        ("i32", "-2147483649"),
        ("i64", "9223372036854775808"),
        ("i64", "1e39"),
        ("u32", "-1"),
        ("u32", "4294967296"),
        ("u64", "18446744073709551616"),
        ("u64", "-1"),
        ("u64", "9" * 300),
        ("f64", "1e400"),
        ("f64", "-1e400"),
        ("f64", OVERFLOW),
        ("f32", "1e39"),
        ("f32", "3.5e38"),
        ("day", "2147483648"),
        ("moment", "9223372036854775808"),
        ("i32s", "[1, 2147483648]"),
        ("f32s", "[1e39]"),
    ],
)
def test_a_number_outside_the_type_is_out_of_range_naming_type_and_value(parse, everything, name, token):
    found = finding(parse, everything, name, token)

    declared = everything.node_by_name["Thing"].property_by_name[name].type
    assert found.code is Code.OUT_OF_RANGE
    assert str(declared).rstrip("?") in found.message
    assert token.strip("[]").split(", ")[-1][:200] in found.message


@pytest.mark.parametrize(
    ("token", "message"),
    [
        ("[1]", "Thing.vec expects 3 numbers, got 1"),
        ("[]", "Thing.vec expects 3 numbers, got 0"),
        ("[1,2,3,4]", "Thing.vec expects 3 numbers, got 4"),
        ("[1,2,null]", "Thing.vec elements must be numeric, got null at element 3"),
        ('["1",2,3]', 'Thing.vec elements must be numeric, got "1" at element 1'),
        ("[1,true,3]", "Thing.vec elements must be numeric, got true at element 2"),
        ("[1,[2],3]", "Thing.vec elements must be numeric, got [2] at element 2"),
        ("[1,2,1e39]", "Thing.vec elements must be finite as float32, got 1e39"),
    ],
)
def test_a_vector_takes_exactly_its_dimension_of_finite_numbers(parse, everything, token, message):
    found = finding(parse, everything, "vec", token)

    assert (found.code, found.message) == (Code.BAD_VECTOR, message)


@pytest.mark.parametrize("payload", ["***", "SGk", "SGk==", "SG k=", "SGk=\\n", "=", "-_8=", "SGk=SGk=", "é"])
def test_a_blob_takes_only_standard_padded_base64(parse, everything, payload):
    assert finding(parse, everything, "blob", f'"base64:{payload}"').code is Code.BAD_BLOB


@pytest.mark.parametrize("reference", ["s3://key:secret@x/y", "", "SGk=", "BASE64:SGk="])
def test_any_other_string_for_a_blob_is_a_denied_reference_that_the_message_keeps_to_itself(
    parse, everything, reference
):
    found = finding(parse, everything, "blob", f'"{reference}"')

    assert found.code is Code.EXTERNAL_BLOB_DENIED
    assert "secret" not in found.message


def strict(parse, everything, data: str):
    return parse(everything, f'{{"type":"Strict","data":{data}}}')


def test_omitted_properties_take_their_default_and_explicit_null_does_not(parse, everything):
    omitted = strict(parse, everything, '{"must":1}').tables["node:Strict"].to_pylist()[0]
    explicit = strict(parse, everything, '{"must":1,"size":null}').tables["node:Strict"].to_pylist()[0]

    assert (omitted["colour"], omitted["size"], omitted["since"]) == ("blue", 7, date(2020, 2, 29))
    assert explicit["size"] is None


@pytest.mark.parametrize(
    ("data", "name", "word"),
    [
        ("{}", "must", "missing"),
        ('{"must":null}', "must", "null"),
        ('{"must":1,"colour":null}', "colour", "null"),
        ('{"must":1,"since":null}', "since", "null"),
    ],
)
def test_a_required_property_needs_a_value_or_an_omission_with_a_default(parse, everything, data, name, word):
    (found,) = strict(parse, everything, data).findings.first

    assert (found.code, found.property) == (Code.MISSING_REQUIRED, name)
    assert f"Strict.{name}" in found.message
    assert word in found.message


@pytest.mark.parametrize(("data", "omitted"), [('{"must":1}', True), ('{"must":1,"vec":null}', False)])
def test_a_required_embedded_vector_may_be_pending_and_says_whether_it_was_omitted(parse, everything, data, omitted):
    table = strict(parse, everything, data).tables["node:Strict"]

    assert table["vec"].to_pylist() == [None]
    assert table["__omitted_vec"].to_pylist() == [omitted]


def test_a_given_embedded_vector_is_stored_and_not_omitted(parse, everything):
    table = strict(parse, everything, '{"must":1,"vec":[1,2]}').tables["node:Strict"]

    assert table["vec"].to_pylist() == [[1.0, 2.0]]
    assert table["__omitted_vec"].to_pylist() == [False]
