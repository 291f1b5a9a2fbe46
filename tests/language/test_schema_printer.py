from hypothesis import given

from omnigraph.language.schema import format_schema, parse_schema
from support.schema_trees import schemas


@given(schemas)
def test_parsing_undoes_printing(schema):
    parsed = parse_schema(format_schema(schema), source="printed.pg")

    # repr tells 1 from 1.0 and True, which compare equal; spans are not part of it.
    assert repr(parsed) == repr(schema)
    assert parsed == schema


@given(schemas)
def test_printing_is_a_fixed_point(schema):
    printed = format_schema(schema)

    assert format_schema(parse_schema(printed, source="printed.pg")) == printed


def test_empty_schema_prints_as_nothing():
    assert format_schema(parse_schema("// only a comment", source="x")) == ""


def test_numbers_are_printed_without_exponents():
    schema = parse_schema("node A { x: F64 @range(x, 0.0000001..100000000000000000000000.0) }", source="x")

    assert "@range(x, 0.0000001..100000000000000000000000.0)" in format_schema(schema)
