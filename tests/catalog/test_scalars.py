"""A scalar is declared in one place: every table knows all of them, and no other module decides by which one it is."""

import ast
import re
from pathlib import Path

import pyarrow as pa
import pytest

import omnigraph
from omnigraph.catalog.arrow import arrow_form, arrow_type, carrier_type, held_type
from omnigraph.catalog.index_kinds import INDEX_KINDS, IndexKind, index_traits
from omnigraph.catalog.model import PropertyType
from omnigraph.catalog.scalars import SCALARS, Family, Scalar, traits_of
from omnigraph.catalog.values import ValueRefusedError, stored_value
from omnigraph.errors import Internal
from omnigraph.query.sql.dialects import DUCKDB, SPARK
from omnigraph.records.contents import row_contents
from omnigraph.records.scalar_forms import FORMS, form_of

_SRC = Path(omnigraph.__file__).parent
_TABLES = {"catalog/scalars.py", "catalog/arrow.py", "records/scalar_forms.py"}
_STRUCTURAL = {"STRING", "BLOB", "VECTOR"}
"""What the language itself treats apart: enums are strings, blobs are content, vectors have a dimension."""
_ALLOWED = {
    ("records/json_patterns.py", "DATE"),  # two spellings of moments that Arrow reads too
    ("records/json_patterns.py", "DATETIME"),
    ("records/value_readers.py", "F32"),  # the numbers of a vector
    ("query/parameters.py", "F32"),
    ("query/constants.py", "DATE"),  # how a literal of it is written
    ("query/fitting.py", "DATE"),
    ("query/constants.py", "F64"),  # the type of a list of several kinds of numbers
    ("query/constants.py", "U64"),
}
_RUNNING_QUERIES = re.compile("query/[a-z]+/")
"""Packages that carry queries out in the types of columns, on one engine each; these are asked by the test below."""


@pytest.mark.parametrize("scalar", Scalar)
def test_every_table_knows_every_scalar(scalar: Scalar) -> None:
    declared = PropertyType(scalar=scalar, dimension=3 if scalar is Scalar.VECTOR else None)
    assert traits_of(scalar) is SCALARS[scalar]
    assert form_of(scalar) is FORMS[scalar]
    assert arrow_form(scalar).stored is not None
    assert isinstance(arrow_type(declared), pa.DataType)
    assert pa.nulls(1, carrier_type(declared)).cast(held_type(declared)).null_count == 1
    assert (arrow_form(scalar).ordered is not None) is traits_of(scalar).is_ordered


@pytest.mark.parametrize("scalar", Scalar)
def test_rows_of_every_scalar_can_be_compared(scalar: Scalar) -> None:
    declared = PropertyType(scalar=scalar, dimension=3 if scalar is Scalar.VECTOR else None)
    rows = pa.table({"value": pa.nulls(2, held_type(declared))})
    assert len(row_contents(rows, ["value"]).unique()) == 1


@pytest.mark.parametrize("ask", [traits_of, form_of, arrow_form])
def test_an_unknown_scalar_is_an_error_where_it_is_asked_for(ask) -> None:
    with pytest.raises(Internal, match="Money"):
        ask("Money")


def test_a_type_that_the_comparator_does_not_know_is_an_error() -> None:
    with pytest.raises(Internal, match="month_day_nano_interval"):
        row_contents(pa.table({"value": pa.nulls(1, pa.month_day_nano_interval())}), ["value"])


@pytest.mark.parametrize("scalar", [Scalar.BLOB, Scalar.VECTOR])
def test_no_literal_stands_for_content_or_a_vector(scalar: Scalar) -> None:
    with pytest.raises(ValueRefusedError):
        stored_value("base64:aGk=", PropertyType(scalar=scalar))


@pytest.mark.parametrize("kind", IndexKind)
def test_every_kind_of_index_is_declared_and_some_scalar_takes_it(kind: IndexKind) -> None:
    assert index_traits(kind) is INDEX_KINDS[kind]
    assert any(kind in traits.index_kinds for traits in SCALARS.values())


def test_an_unknown_kind_of_index_is_an_error() -> None:
    with pytest.raises(Internal, match="bitmap"):
        index_traits("bitmap")  # type: ignore[arg-type]


def test_every_family_has_a_scalar() -> None:
    assert {traits.family for traits in SCALARS.values()} == set(Family)


@pytest.mark.parametrize("dialect", [DUCKDB, SPARK], ids=["duckdb", "spark"])
def test_every_dialect_has_a_type_for_what_can_be_compared(dialect) -> None:
    assert set(dialect.types) >= {scalar for scalar, traits in SCALARS.items() if traits.is_single}


def test_only_the_tables_tell_scalars_apart() -> None:
    found = set()
    for path in _SRC.rglob("*.py"):
        module = path.relative_to(_SRC).as_posix()
        if module in _TABLES or _RUNNING_QUERIES.match(module):
            continue
        tree = ast.parse(path.read_text())
        declaring = {
            id(keyword.value)
            for call in ast.walk(tree)
            if isinstance(call, ast.Call)
            for keyword in call.keywords
            if keyword.arg == "scalar"
        }
        found |= {
            (module, node.attr)
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == "Scalar"
            and node.attr not in _STRUCTURAL
            and id(node) not in declaring
        }
    assert found <= _ALLOWED, f"ask the traits instead: {sorted(found - _ALLOWED)}"
