"""Rows come as whatever Python programs have: dictionaries, Arrow, frames of pandas and polars, in every call alike."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import omnigraph
from omnigraph.errors import InvalidRecord, Usage
from omnigraph.graph import Graph
from support.graphs import graph_of, node, rows

SCHEMA = """
node Sailor { name: String @key  age: I32?  height: F64?  born: Date?  seen: DateTime?  tags: [String]? }
edge Mentors: Sailor -> Sailor { since: I32? }
"""
ROWS = {"name": ["Ana", "Bo"], "age": [50, None], "height": [1.7, None]}
EXPECTED = {"Ana": (50, 1.7), "Bo": (None, None)}

FORMS: dict[str, Callable[[], Any]] = {
    "arrow table": lambda: pa.table(ROWS),
    "arrow batch": lambda: pa.record_batch(ROWS),
    "arrow reader": lambda: pa.table(ROWS).to_reader(),
    "pandas": lambda: pd.DataFrame(ROWS),
    "pandas with nullable integers": lambda: pd.DataFrame(ROWS).astype({"age": "Int64"}),
    "pandas of objects": lambda: pd.DataFrame(ROWS, dtype=object),
    "pandas with a key for an index": lambda: pd.DataFrame(ROWS).set_index("name"),
    "pandas, filtered": lambda: pd.concat([pd.DataFrame({"name": ["x"]}), pd.DataFrame(ROWS)]).iloc[1:],
    "polars": lambda: pl.DataFrame(ROWS),
    "polars slice": lambda: pl.DataFrame(ROWS).filter(pl.col("name") != ""),
}
CALLS: dict[str, Callable[[Graph, Any], Any]] = {
    "insert": lambda graph, given: graph.write().insert("Sailor", given).commit(),
    "upsert": lambda graph, given: graph.write().upsert("node:Sailor", given).commit(),
    "load_table": lambda graph, given: graph.load_table(given, type="Sailor", mode="append"),
    "load": lambda graph, given: graph.load(given, type="Sailor", mode="append"),
    "load_dataframe": lambda graph, given: graph.load_dataframe(given, type="Sailor", mode="merge"),
}


@pytest.fixture
def graph(local_root: str) -> Graph:
    return omnigraph.init(local_root, SCHEMA)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("call", CALLS)
def test_every_call_takes_every_form(graph: Graph, call: str, form: str) -> None:
    CALLS[call](graph, FORMS[form]())

    assert {name: (row["age"], row["height"]) for name, row in rows(graph, "Sailor").items()} == EXPECTED


def test_a_frame_that_was_read_can_be_written_back(local_root: str) -> None:
    graph = graph_of(local_root, SCHEMA, node("Sailor", name="Ana", age=50, born="1976-02-01", tags=["a", "b"]))
    with graph.write() as batch:
        batch.insert("Sailor", [{"name": "Bo", "seen": "2026-01-31T18:00:00Z"}])
        batch.insert("Mentors", pd.DataFrame({"from": ["Ana"], "to": ["Bo"], "since": [2019]}))
    before = rows(graph, "Sailor")
    table = graph.snapshot().table("Sailor")

    for frame in (table.to_pandas(), table.to_polars(), table.to_arrow()):
        result = graph.load_table(frame, type="Sailor", mode="merge")
        assert result.commit is None, "nothing changed"
    assert rows(graph, "Sailor") == before


def test_numbers_of_numpy_and_missing_values_of_pandas_are_values(graph: Graph) -> None:
    with graph.write() as batch:
        batch.insert(
            "Sailor", [{"name": "Ana", "age": np.int64(50), "height": np.float64(1.5), "tags": np.array(["a"])}]
        )
        batch.insert("Sailor", ({"name": name, "age": pd.NA, "seen": pd.NaT} for name in ["Bo"]))
        batch.update("Sailor", {"age": np.int32(7)}, where=[("name", "in", np.array(["Bo"]))])

    found = rows(graph, "Sailor")
    assert (found["Ana"]["age"], found["Ana"]["height"], found["Ana"]["tags"]) == (50, 1.5, ["a"])
    assert (found["Bo"]["age"], found["Bo"]["seen"]) == (7, None)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"name": "Ana"}, "A single row goes into a list"),
        ("Ana", "this is text"),
        (7, "this is int"),
        (["Ana"], "row 1 is 'Ana'"),
        ([{"name": "Ana"}, None], "row 2 is None"),
        ([{"name": object()}], "object is not a value that a property can hold"),
    ],
)
def test_what_holds_no_rows_is_refused_as_such(graph: Graph, given: Any, said: str) -> None:
    with pytest.raises(Usage, match=said):
        graph.write().insert("Sailor", given)


@pytest.mark.parametrize("given", [7, {"name": "Ana"}, [{"name": "Ana"}]])
def test_a_load_of_what_is_no_table_is_refused_as_such(graph: Graph, given: Any) -> None:
    for load in (CALLS["load"], CALLS["load_table"]):
        with pytest.raises(Usage, match="Rows are an Arrow table"):
            load(graph, given)


def test_rows_in_memory_need_their_type(graph: Graph) -> None:
    with pytest.raises(Usage, match="say which with type="):
        graph.load(pa.table(ROWS), mode="append")


def test_a_column_that_the_type_does_not_have_is_named(graph: Graph) -> None:
    with pytest.raises(InvalidRecord, match="agee"):
        graph.write().insert("Sailor", pd.DataFrame({"name": ["Ana"], "agee": [1]}))
