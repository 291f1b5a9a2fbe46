"""Typed columns: which convert, what is refused, and in which words."""

import datetime as dt
import decimal

import pyarrow as pa
import pytest

from omnigraph.base.events import ignore_events
from omnigraph.catalog.compile import compile_schema
from omnigraph.pipeline.load.parse import ParsedInput
from omnigraph.pipeline.load.table_files import RowsInMemory
from omnigraph.pipeline.load.tables import ColumnMap, parse_tables
from support.record_schemas import THINGS

UTC = dt.UTC
CATALOG = compile_schema(THINGS, source="things.pg", identity_domain="test")


def parse(columns: dict[str, object], type_name: str = "Thing") -> ParsedInput:
    rows = RowsInMemory.of(pa.table(columns), type_name)
    return parse_tables((rows,), ColumnMap(), catalog=CATALOG, max_errors=20, events=ignore_events)


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("flag", pa.array([True, None]), [True, None]),
        ("small", pa.array([1, None], pa.int8()), [1, None]),
        ("small", pa.array([-(2**31), 2**31 - 1], pa.int64()), [-(2**31), 2**31 - 1]),
        ("huge", pa.array([decimal.Decimal(2**64 - 1)], pa.decimal128(20, 0)), [2**64 - 1]),
        ("natural", pa.array([2**32 - 1], pa.int64()), [2**32 - 1]),
        ("single", pa.array([0.5, 2**24], pa.float64()), [0.5, 2.0**24]),
        ("double", pa.array([1, 2**53], pa.int64()), [1.0, 2.0**53]),
        ("double", pa.array([0.1], pa.float32()), [0.10000000149011612]),
        ("day", pa.array([22475], pa.int32()), [dt.date(2031, 7, 15)]),
        ("day", pa.array([dt.date(2031, 7, 15)], pa.date64()), [dt.date(2031, 7, 15)]),
        ("day", pa.array(["2031-07-15", "2031-7-15", None]), [dt.date(2031, 7, 15)] * 2 + [None]),
        ("moment", pa.array([-1], pa.timestamp("ns")), [dt.datetime(1969, 12, 31, 23, 59, 59, 999000, UTC)]),
        (
            "moment",
            # Half past one of a night in which New York has that hour twice.
            pa.array([1730611800001999, 1730615400001000], pa.timestamp("us", "America/New_York")),
            [dt.datetime(2024, 11, 3, 5, 30, 0, 1000, UTC), dt.datetime(2024, 11, 3, 6, 30, 0, 1000, UTC)],
        ),
        (
            "moment",
            pa.array([dt.datetime(2031, 7, 15, 6, 30, tzinfo=UTC)], pa.timestamp("us", "Europe/Berlin")),
            [dt.datetime(2031, 7, 15, 6, 30, tzinfo=UTC)],
        ),
        ("moment", pa.array([1], pa.timestamp("s")), [dt.datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)]),
        ("moment", pa.array([dt.date(2031, 7, 15)]), [dt.datetime(2031, 7, 15, tzinfo=UTC)]),
        ("moment", pa.array(["2031-07-15T08:30:00+02:00"]), [dt.datetime(2031, 7, 15, 6, 30, tzinfo=UTC)]),
        ("vec", pa.array([[1, 2], None, [3, 4]], pa.list_(pa.float32())), [[1, 2], None, [3, 4]]),
        ("vec", pa.array([None, [0.5, 2]], pa.list_(pa.float64(), 2)), [None, [0.5, 2]]),
        ("vec", pa.array([[1, 2]], pa.large_list(pa.int32())), [[1, 2]]),
        ("blob", pa.array([b"", None, b"Hi"]), [b"", None, b"Hi"]),
        ("blob", pa.array([b"Hi"], pa.binary(2)), [b"Hi"]),
        ("blob", pa.array(["base64:SGk="]), [b"Hi"]),
        ("tags", pa.array([["a", "b"], [], None]), [["a", "b"], [], None]),
        ("tags", pa.array([["x"]], pa.list_(pa.large_string())), [["x"]]),
        ("days", pa.array([[22475], None], pa.list_(pa.int64())), [[dt.date(2031, 7, 15)], None]),
        ("colour", pa.array(["red", "blue", "red"]).dictionary_encode(), ["red", "blue", "red"]),
        ("double", pa.nulls(2), [None, None]),
        ("level", pa.array([1, None]), [1, None]),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else None,
)
def test_a_column_converts_where_no_value_changes(name, values, expected):
    parsed = parse({"key": [str(place) for place in range(len(values))], name: values})

    assert parsed.findings.total == 0
    assert parsed.tables["node:Thing"][name].to_pylist() == expected


@pytest.mark.parametrize(
    ("name", "values", "code", "said"),
    [
        ("small", pa.array([30.0]), "wrong_type", "Thing.small expects I32, got a column of double"),
        ("small", pa.array(["30"]), "wrong_type", "Thing.small expects I32, got a column of string"),
        ("small", pa.array([3_000_000_000]), "out_of_range", "Thing.small is out of range for I32: 3000000000"),
        ("natural", pa.array([-1]), "out_of_range", "Thing.natural is out of range for U32: -1"),
        ("flag", pa.array([1]), "wrong_type", "Thing.flag expects Bool, got a column of int64"),
        ("single", pa.array([0.1]), "wrong_type", "would be rounded; cast the column to float first"),
        ("double", pa.array([2**53 + 1]), "wrong_type", "9007199254740993, which would be rounded"),
        ("double", pa.array([float("nan")]), "out_of_range", "Thing.double is out of range for F64: nan"),
        ("day", pa.array([0], pa.timestamp("s")), "wrong_type", "got a column of timestamp[s]"),
        ("day", pa.array(["2031-02-30"]), "wrong_type", 'Thing.day expects Date, got "2031-02-30"'),
        ("moment", pa.array([2**60], pa.timestamp("s")), "out_of_range", "Thing.moment is out of range for DateTime"),
        ("vec", pa.array([[1.0, 2.0, 3.0]]), "bad_vector", "Thing.vec expects 2 numbers, got 3"),
        ("vec", pa.array([[1.0, None]]), "bad_vector", "elements must be numeric, got null at item 2"),
        ("vec", pa.array([["1", "2"]]), "bad_vector", "elements must be numeric, got a column of list"),
        ("vec", pa.array([[1.0, float("inf")]]), "bad_vector", "at item 2"),
        ("tags", pa.array([["a", None]]), "wrong_type", "Thing.tags expects [String], got null at item 2"),
        ("tags", pa.array(["a"]), "wrong_type", "Thing.tags expects [String], got a column of string"),
        ("days", pa.array([["2031-07-15", "soon"]]), "wrong_type", 'got "soon" at item 2'),
        ("blob", pa.array(["s3://x/y"]), "external_blob_denied", "refers to an external object"),
        ("blob", pa.array(["base64:***"]), "bad_blob", "Thing.blob is not valid base64"),
        ("colour", pa.array(["green"]), "invalid_enum", "green"),
        ("nick", pa.array(["N"]), "unknown_property", "unknown property Thing.nick"),
        ("_rowid", pa.array([1]), "reserved_field", "Thing._rowid is a reserved name"),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else None,
)
def test_a_column_that_would_change_is_refused_in_words(name, values, code, said):
    findings = parse({"key": ["a"], name: values}).findings

    assert findings.by_code == {code: 1}
    assert said in findings.first[0].message
    assert (findings.first[0].file_index, findings.first[0].line) == (0, 1)
