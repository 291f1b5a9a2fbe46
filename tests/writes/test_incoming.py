"""Rows that come as Arrow become what dictionaries with the same values become, or are refused in their words."""

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest

from omnigraph.catalog.compile import compile_schema
from omnigraph.catalog.model import Catalog
from omnigraph.errors import OmniError
from omnigraph.writes import incoming
from omnigraph.writes.incoming import change_rows, read_rows

SCHEMA = """
node Person {
  name: String @key
  age: I32?
  score: F64 @default(0.5)
  rate: F32?
  born: Date?
  seen: DateTime?
  tags: [String]?
  photo: Blob?
  place: Vector(2)?
  is_known: Bool?
  @range(age, 0..150)
}
edge Knows: Person -> Person { since: I64? }
"""


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return compile_schema(SCHEMA, source="people.pg", identity_domain="test")


def as_read(rows: Any, type_name: str, catalog: Catalog) -> pa.Table | str:
    entity = {**catalog.node_by_name, **{edge.name: edge for edge in catalog.edge_by_folded_name.values()}}[type_name]
    try:
        read = read_rows(rows, entity, catalog)
    except OmniError as refused:
        return f"{refused.kind} {refused}"
    assert read is not None
    return read


NODES = {
    "whole": pa.table(
        {
            "name": ["a", "b"],
            "age": pa.array([1, None], pa.int64()),
            "score": [1.5, -0.0],
            "rate": pa.array([0.5, None], pa.float32()),
            "born": [dt.date(2020, 2, 29), None],
            "seen": [dt.datetime(2020, 1, 1, 12, tzinfo=dt.UTC), None],
            "tags": [["x", ""], None],
            "photo": [b"\x00\xff", None],
            "place": pa.array([[1.0, 2.0], None], pa.list_(pa.float32(), 2)),
            "is_known": [True, None],
        }
    ),
    "left out": pa.table({"name": ["a", "b"]}),
    "dictionary": pa.table({"name": pa.array(["a", "b"]).dictionary_encode(), "age": pa.array([1, 2], pa.uint8())}),
    "texts of dates": pa.table({"name": ["a"], "born": ["2020-02-29"], "seen": ["2020-01-01T00:00:00Z"]}),
    "rounded": pa.table({"name": ["a"], "rate": [0.1]}),
    "vectors of doubles": pa.table({"name": ["a"], "place": [[0.1, 0.2]]}),
    "ids given": pa.table({"id": ["a"], "name": ["a"]}),
    "wrong id": pa.table({"id": ["x"], "name": ["a"]}),
    "no key": pa.table({"age": [1]}),
    "null key": pa.table({"name": ["a", None]}),
    "out of range": pa.table({"name": ["a", "b", "c"], "age": [1, 200, -3]}),
    "too large": pa.table({"name": ["a"], "age": [1 << 40]}),
    "not finite": pa.table({"name": ["a"], "score": [float("inf")]}),
    "required null": pa.table({"name": ["a"], "score": pa.array([None], pa.float64())}),
    "unknown": pa.table({"name": ["a"], "aeg": [1]}),
    "wrong type": pa.table({"name": ["a"], "age": ["old"]}),
    "short vector": pa.table({"name": ["a"], "place": [[1.0]]}),
    "null in a list": pa.table({"name": ["a"], "tags": [["x", None]]}),
    "reserved": pa.table({"name": ["a"], "_rowid": [1]}),
}
EDGES = {
    "whole": pa.table({"from": ["a"], "to": ["b"], "since": [1]}),
    "ids": pa.table({"id": ["k1", "k2"], "from": ["a", "a"], "to": ["b", "c"]}),
    "no end": pa.table({"from": ["a"]}),
    "null end": pa.table({"from": ["a"], "to": pa.array([None], pa.string())}),
    "stored names": pa.table({"src": ["a"], "dst": ["b"]}),
}


@pytest.mark.parametrize(
    ("type_name", "rows"),
    [
        *(pytest.param("Person", rows, id=name) for name, rows in NODES.items()),
        *(pytest.param("Knows", rows, id=f"edge, {name}") for name, rows in EDGES.items()),
    ],
)
def test_arrow_and_dictionaries_agree(type_name: str, rows: pa.Table, catalog: Catalog) -> None:
    columns, dictionaries = as_read(rows, type_name, catalog), as_read(rows.to_pylist(), type_name, catalog)

    if isinstance(columns, str) or isinstance(dictionaries, str):
        assert columns == dictionaries
    else:
        assert columns.combine_chunks().equals(dictionaries.combine_chunks())


@pytest.mark.parametrize(
    "assignments",
    [
        {"age": 3},
        {"age": None, "score": 2},
        {"tags": ["x"], "place": [0.1, 0.2], "photo": b"p"},
        {"born": dt.date(2021, 1, 1), "seen": "2020-01-01T00:00:00Z"},
        {},
        {"age": 151},
        {"score": None},
        {"aeg": 1},
        {"age": "old"},
    ],
    ids=str,
)
def test_changing_columns_and_changing_each_row_agree(assignments: dict[str, Any], catalog: Catalog) -> None:
    person = catalog.node_by_name["Person"]
    stored = as_read(NODES["whole"], "Person", catalog)
    assert isinstance(stored, pa.Table)
    images = stored.select(person_columns(stored))

    def outcome(change: Any) -> pa.Table | str:
        try:
            changed: pa.Table = change(images, assignments, person, catalog)
        except OmniError as refused:
            return f"{refused.kind} {refused} {refused.details}"
        return changed.select(images.column_names).cast(images.schema).combine_chunks()

    assert outcome(change_rows) == outcome(incoming._change_one_by_one)


def person_columns(rows: pa.Table) -> list[str]:
    return [name for name in rows.column_names if not name.startswith("__")]


def test_good_arrow_never_becomes_python(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(incoming, "_rows_one_by_one", lambda _: pytest.fail("a row became a dictionary"))

    assert isinstance(as_read(NODES["whole"], "Person", catalog), pa.Table)
    assert isinstance(as_read(EDGES["whole"], "Knows", catalog), pa.Table)
