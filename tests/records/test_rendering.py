"""Export lines: the exact text, and that load reads back every value bit for bit."""

import json
from datetime import date

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.catalog.model import Catalog, EntityType, PropertyType, Scalar
from omnigraph.records.parse import parse_chunk
from omnigraph.records.rendering import render_lines
from omnigraph.records.tables import content_schema

INTEGERS = {
    Scalar.I32: st.integers(-(2**31), 2**31 - 1),
    Scalar.I64: st.integers(-(2**63), 2**63 - 1),
    Scalar.U32: st.integers(0, 2**32 - 1),
    Scalar.U64: st.integers(0, 2**64 - 1),
    Scalar.DATE: st.integers(-(2**31), 2**31 - 1) | st.integers(-719_170, -719_150) | st.integers(2_932_890, 2_932_900),
    Scalar.DATETIME: st.integers(-(2**63), 2**63 - 1)
    | st.integers(-62_135_596_800_010, -62_135_596_799_990)
    | st.integers(253_402_300_799_990, 253_402_300_800_010)
    | st.integers(-(10**13), 10**13),
}
FLOATS = {
    width: st.floats(width=width, allow_nan=False, allow_infinity=False)
    | st.sampled_from([0.0, -0.0, 1.0, 1e21, 2.0**-149])
    for width in (32, 64)
}
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(
    ['"', "\\", "\x00", "\x1f", "\x7f", "\u2028", "\ufeff", "\U0010ffff", "null", "a, b", "\r\n\t\b\f/"]
)


def values_of(declared: PropertyType) -> st.SearchStrategy:
    if declared.enum_values is not None:
        scalar = st.sampled_from(declared.enum_values)
    elif declared.scalar in INTEGERS:
        scalar = INTEGERS[declared.scalar]
    else:
        scalar = {
            Scalar.STRING: TEXTS,
            Scalar.BOOL: st.booleans(),
            Scalar.F32: FLOATS[32],
            Scalar.VECTOR: FLOATS[32],
            Scalar.F64: FLOATS[64],
            Scalar.BLOB: st.binary(max_size=10),
        }[declared.scalar]
    if declared.scalar is Scalar.VECTOR:
        scalar = st.lists(scalar, min_size=declared.dimension, max_size=declared.dimension)
    elif declared.is_list:
        scalar = st.lists(scalar, max_size=3)
    return st.none() | scalar


def carrier(data_type: pa.DataType) -> pa.DataType:
    """The type that Python numbers are put in first, where Python has no dates that far out."""
    if pa.types.is_date(data_type):
        return pa.int32()
    if pa.types.is_timestamp(data_type):
        return pa.int64()
    return pa.list_(carrier(data_type.value_type)) if pa.types.is_list(data_type) else data_type


@st.composite
def tables(draw, entity: EntityType) -> pa.Table:
    rows = draw(st.integers(1, 3))
    columns = []
    for field in content_schema(entity):
        declared = entity.property_by_name.get(field.name)
        strategy = TEXTS if declared is None else values_of(declared.type)
        if declared is not None and not field.nullable:
            strategy = strategy.filter(lambda value: value is not None)
        values = draw(st.lists(strategy, min_size=rows, max_size=rows))
        columns.append(pa.array(values, carrier(field.type)).cast(field.type))
    return pa.Table.from_arrays(columns, schema=content_schema(entity))


def reread(text: bytes, entity: EntityType, catalog: Catalog) -> pa.Table:
    parsed = parse_chunk(text, first_line=1, file_index=0, catalog=catalog)
    assert parsed.findings.total == 0, parsed.findings
    return parsed.tables[entity.table_key].select(content_schema(entity).names)


def same_bits(left: pa.Table, right: pa.Table) -> bool:
    """Compare what the columns hold in memory: Arrow's own comparison takes the two zeros for one."""
    return left.equals(right) and all(_bits(left[name]) == _bits(right[name]) for name in left.column_names)


def _bits(column: pa.ChunkedArray) -> list[str]:
    array = column.combine_chunks()
    if pa.types.is_list(array.type) or pa.types.is_fixed_size_list(array.type):
        array = array.flatten()
    return array.cast(pa.string()).to_pylist() if pa.types.is_floating(array.type) else []


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_load_reads_back_what_export_wrote_bit_for_bit(everything, data):
    entity = data.draw(st.sampled_from(list(everything.entity_types())))
    table = data.draw(tables(entity))

    text = render_lines(table, entity)

    again = reread(text, entity, everything)
    assert same_bits(again, table)
    assert render_lines(again, entity) == text


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_every_line_is_one_compact_json_object_with_members_in_order(everything, data):
    entity = data.draw(st.sampled_from(list(everything.entity_types())))
    table = data.draw(tables(entity))

    lines = render_lines(table, entity).split(b"\n")

    assert lines.pop() == b""
    assert len(lines) == table.num_rows
    for line in lines:
        record = json.loads(line)
        kind = ["edge", "from", "to", "data"] if entity.kind == "edge" else ["type", "data"]
        assert list(record) == kind
        assert list(record["data"]) == ["id", *sorted(entity.property_by_name)]


def test_the_text_of_an_entity_is_exact(sailors):
    sailor, mentors = sailors.node_by_name["Sailor"], sailors.edge_by_folded_name["mentors"]
    row = {
        "id": "Ána",
        "name": "Ána",
        "rank": "mate",
        "age": None,
        "tags": ["ice", 'a"b'],
        "bio": "x\ny",
        "photo": b"Hi",
    }
    edge = {"id": "m1", "src": "Ana", "dst": "Bo", "since": date(2019, 3, 1), "note": None}

    assert render_lines(pa.Table.from_pylist([row], content_schema(sailor)), sailor).decode() == (
        '{"type":"Sailor","data":{"id":"Ána","age":null,"bio":"x\\ny","name":"Ána","photo":"base64:SGk=",'
        '"rank":"mate","tags":["ice","a\\"b"]}}\n'
    )
    assert render_lines(pa.Table.from_pylist([edge], content_schema(mentors)), mentors).decode() == (
        '{"edge":"Mentors","from":"Ana","to":"Bo","data":{"id":"m1","note":null,"since":"2019-03-01"}}\n'
    )


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("day", 0, '"1970-01-01"'),
        ("day", -719_162, '"0001-01-01"'),
        ("day", -719_163, "-719163"),
        ("day", 2_932_896, '"9999-12-31"'),
        ("day", 2_932_897, "2932897"),
        ("moment", 1941863400000, '"2031-07-15T06:30:00.000Z"'),
        ("moment", -1, '"1969-12-31T23:59:59.999Z"'),
        ("moment", -62_135_596_800_000, '"0001-01-01T00:00:00.000Z"'),
        ("moment", -62_135_596_800_001, "-62135596800001"),
        ("moment", 253_402_300_799_999, '"9999-12-31T23:59:59.999Z"'),
        ("moment", 253_402_300_800_000, "253402300800000"),
        ("u64", 2**64 - 1, "18446744073709551615"),
        ("i64", -(2**63), "-9223372036854775808"),
        ("f32", 0.1, "0.1"),
        ("f32", 16777216.0, "16777216"),
        ("f64", 0.1, "0.1"),
        ("f64", -0.0, "-0.0"),
        ("f64", 5e-324, "5e-324"),
        ("vec", [0.1, -0.0, 1.0], "[0.1,-0.0,1]"),
        ("texts", [], "[]"),
        ("texts", None, "null"),
        ("texts", ["é", ""], '["é",""]'),
        ("days", [0, 2_932_897], '["1970-01-01",2932897]'),
        ("flags", [True, False], "[true,false]"),
        ("blob", b"", '"base64:"'),
        ("blob", None, "null"),
        ("text", "\x00\x1f/é\u2028\U0001f600", '"\\u0000\\u001f/é\u2028\U0001f600"'),
    ],
)
def test_values_have_one_spelling(everything, name, value, text):
    thing = everything.node_by_name["Thing"]
    schema = content_schema(thing)
    columns = [
        pa.array(["x"] if field.name == "id" else [value if field.name == name else None], carrier(field.type)).cast(
            field.type
        )
        for field in schema
    ]

    line = render_lines(pa.Table.from_arrays(columns, schema=schema), thing).decode()

    assert f'"{name}":{text},' in line.replace("}}\n", ",")


def test_rows_come_in_table_order_across_chunks_and_slices(everything):
    thing = everything.node_by_name["Thing"]
    rows = [
        {"id": str(number), "vec": None if number % 3 else [number] * 3, "texts": [str(number)] * (number % 4)}
        for number in range(50)
    ]
    table = pa.concat_tables(
        [pa.Table.from_pylist(rows[start : start + 10], content_schema(thing)) for start in range(0, 50, 10)]
    )

    rendered = render_lines(table.slice(7, 30), thing)

    records = [json.loads(line)["data"] for line in rendered.splitlines()]
    assert [(record["id"], record["vec"], record["texts"]) for record in records] == [
        (row["id"], row["vec"], row["texts"]) for row in rows[7:37]
    ]


def test_no_rows_render_to_nothing(everything):
    thing = everything.node_by_name["Thing"]

    assert render_lines(content_schema(thing).empty_table(), thing) == b""
