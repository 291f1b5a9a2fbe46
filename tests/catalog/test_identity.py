from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.catalog.arrow import arrow_type
from omnigraph.catalog.compile import compile_schema
from omnigraph.catalog.identity import derive_ids, spell_column
from omnigraph.catalog.model import PropertyType, Scalar
from omnigraph.errors import Internal


def type_of(scalar):
    return PropertyType(scalar=scalar)


def spell(values, scalar):
    declared = type_of(scalar)
    return spell_column(pa.array(values, arrow_type(declared)), declared).to_pylist()


def node_of(body):
    return compile_schema(f"node A {{ {body} }}", source="art.pg", identity_domain="01JQ0000000000000000000000").nodes[
        0
    ]


def ids(node, **columns):
    fields = {name: arrow_type(node.property_by_name[name].type) for name in columns}
    return derive_ids(pa.table({name: pa.array(columns[name], fields[name]) for name in columns}), node).to_pylist()


@pytest.mark.parametrize(
    ("scalar", "value", "spelling"),
    [
        (Scalar.STRING, "a,b", "a,b"),
        (Scalar.STRING, "", ""),
        (Scalar.BOOL, True, "true"),
        (Scalar.BOOL, False, "false"),
        (Scalar.I32, -32, "-32"),
        (Scalar.I64, -(2**63), "-9223372036854775808"),
        (Scalar.U32, 0, "0"),
        (Scalar.U64, 18446744073709551615, "18446744073709551615"),
        (Scalar.F64, 1.0, "1"),
        (Scalar.F64, -2.5, "-2.5"),
        (Scalar.F64, 1e21, "1000000000000000000000"),
        (Scalar.F64, 1.5e22, "15000000000000000000000"),
        (Scalar.F64, 1e-7, "0.0000001"),
        (Scalar.F64, -1.25e-9, "-0.00000000125"),
        (Scalar.F64, 0.0, "0"),
        (Scalar.F64, -0.0, "0"),
        (Scalar.F64, 0.1, "0.1"),
        (Scalar.F64, 1e15, "1000000000000000"),
        (Scalar.F32, np.float32(16777217), "16777216"),
        (Scalar.F32, np.float32(0.1), "0.1"),
        (Scalar.F32, np.float32(-0.0), "0"),
        (Scalar.DATE, 19723, "19723"),
        (Scalar.DATE, -1, "-1"),
        (Scalar.DATETIME, 1704067200000, "1704067200000"),
        (Scalar.DATETIME, -1, "-1"),
    ],
)
def test_canonical_spelling(scalar, value, spelling):
    assert spell([value, None, value], scalar) == [spelling, None, spelling]


@pytest.mark.parametrize("scalar", [scalar for scalar in Scalar if scalar not in {Scalar.BLOB, Scalar.VECTOR}])
def test_empty_and_all_null_columns_are_spelled(scalar):
    assert spell([], scalar) == []
    assert spell([None, None], scalar) == [None, None]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_values_that_are_not_finite_have_no_spelling(value):
    with pytest.raises(Internal):
        spell([1.0, value], Scalar.F64)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False)))
def test_double_spelling_reads_back_and_is_as_short_as_python(values):
    spelled = spell(values, Scalar.F64)

    assert [float(text) for text in spelled] == values
    assert not any("e" in text or text.endswith(".0") or text == "-0" for text in spelled)
    assert [_digits(text) for text in spelled] == [_digits(repr(value)) for value in values]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False, width=32)))
def test_float_spelling_reads_back_at_its_width_and_is_as_short_as_numpy(values):
    spelled = spell(values, Scalar.F32)

    assert [np.float32(text) for text in spelled] == values
    assert [_digits(text) for text in spelled] == [_digits(str(np.float32(value))) for value in values]


def _digits(text):
    """Strip a decimal to its significant digits: equal values may differ in how many are needed to say them."""
    return len(Decimal(text).normalize().as_tuple().digits)


def test_single_key_is_its_own_spelling():
    assert ids(node_of("day: Date @key"), day=[19723]) == ["19723"]
    assert ids(node_of("name: String @key"), name=['a,"b']) == ['a,"b']


@pytest.mark.parametrize(
    ("pier", "slot", "expected"),
    [
        ("N", 7, '["N","7"]'),
        ('a,"b', 7, '["a,\\"b","7"]'),
        ("back\\slash", 0, '["back\\\\slash","0"]'),
        ("é中😀", 1, '["é中😀","1"]'),
        ("\n\t\r\b\f", 1, '["\\n\\t\\r\\b\\f","1"]'),
        ("\x00\x1f\x7f", 1, '["\\u0000\\u001f\x7f","1"]'),
        ("", 1, '["","1"]'),
    ],
)
def test_composite_key_is_a_compact_json_array_in_property_order(pier, slot, expected):
    node = node_of("pier: String slot: U32 @key(slot, pier)")

    assert ids(node, slot=[slot, 1], pier=[pier, "plain"]) == [expected, '["plain","1"]']


def test_null_member_gives_a_null_id():
    node = node_of("pier: String slot: U32 @key(slot, pier)")

    assert ids(node, slot=[1, None, 2], pier=[None, "N", '"']) == [None, None, '["\\"","2"]']
    assert ids(node_of("name: String @key"), name=[None, "a"]) == [None, "a"]


def test_chunked_columns_give_one_array():
    node = node_of("x: F64 y: String @key(x, y)")
    table = pa.table(
        {
            "x": pa.chunked_array([[1e21, -0.0], [], [2.5]], pa.float64()),
            "y": pa.chunked_array([["a"], ["b", '"']], pa.string()),
        }
    )

    derived = derive_ids(table, node)

    assert isinstance(derived, pa.Array)
    assert derived.to_pylist() == ['["1000000000000000000000","a"]', '["0","b"]', '["2.5","\\""]']


def test_empty_table_gives_no_ids():
    node = node_of("x: F64 y: String @key(x, y)")
    table = pa.table({"x": pa.chunked_array([], pa.float64()), "y": pa.chunked_array([], pa.string())})

    assert derive_ids(table, node).to_pylist() == []


def test_node_without_key_has_no_derived_ids():
    with pytest.raises(Internal):
        derive_ids(pa.table({"x": [1]}), node_of("x: I64"))


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
keys = st.tuples(texts, texts, st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False, allow_infinity=False))


@given(st.lists(keys, unique=True))
def test_different_keys_have_different_ids_in_any_batch(rows):
    node = node_of("a: String b: String c: I64 d: F64 @key(a, b, c, d)")
    columns = dict(zip("abcd", zip(*rows, strict=True), strict=True)) if rows else {name: [] for name in "abcd"}

    together = ids(node, **columns)

    assert len(set(together)) == len(rows)
    alone = [ids(node, **{name: [value] for name, value in zip("abcd", row, strict=True)})[0] for row in rows[:3]]
    assert together[:3] == alone
