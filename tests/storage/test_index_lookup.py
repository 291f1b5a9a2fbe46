"""Many values of a large table are looked up by its index, and are the same that a scan finds."""

from typing import Any

import pyarrow as pa
import pytest

from omnigraph.storage import index_lookup
from omnigraph.storage.index_lookup import count_found, count_values, holds_only, look_up_values, unindexed_rows
from omnigraph.storage.layout import read_layout
from omnigraph.storage.tables import Table
from support import harbor


@pytest.fixture
def sailors(local_root: str) -> Table:
    """Forty rows that an index covers, and two beside them."""
    graph = harbor.new_graph(local_root, [harbor.sailor(f"s{number}", badge=f"b{number}") for number in range(40)])
    graph.optimize()
    graph.load(harbor.lines([harbor.sailor("x", badge="b x"), harbor.sailor("y")]), mode="append")
    pin = next(pin for pin in graph.snapshot().tables if pin.type_name == "Sailor")
    return graph._context.store.tables.open(pin.address, pin.version)


@pytest.fixture
def questions(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was asked of tables; some rows are many here."""
    asked: list[str] = []
    read = Table.read

    def watched(table: Table, *arguments: Any, **options: Any) -> pa.Table:
        asked.append(str(options.get("where")))
        return read(table, *arguments, **options)

    monkeypatch.setattr(Table, "read", watched)
    monkeypatch.setattr(index_lookup, "_VALUES_AT_ONCE", 3)
    monkeypatch.setattr(index_lookup, "_SCANNED_PER_VALUE", 2)
    return asked


@pytest.mark.parametrize("column", ["id", "badge"])
def test_an_index_answers_some_values_at_a_time(sailors: Table, questions: list[str], column: str) -> None:
    prefix = "s" if column == "id" else "b"
    others = ["x", "nobody"] if column == "id" else ["b x", "b nobody"]
    values = pa.array([*(f"{prefix}{number}" for number in (3, 1, 4, 1, 5)), None, *others], pa.string())

    found = look_up_values(sailors, column, values, ["id"])

    assert len(questions) == 2
    assert sorted(found["id"].to_pylist()) == ["s1", "s3", "s4", "s5", "x"]
    assert found.column_names == sailors.lookup(column, values, ["id"]).column_names


def test_what_an_index_does_not_cover_is_looked_through_once(
    sailors: Table, questions: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_lookup, "_SCANNED_PER_VALUE", 0)
    values = pa.array([*(f"s{number}" for number in range(5, 15)), "x", "nobody"], pa.string())

    found = look_up_values(sailors, "id", values, ["id"])

    assert len(questions) == 4 + 1, "three values at a time of the rows with an index, and all of the two without"
    assert sorted(found["id"].to_pylist()) == sorted([*(f"s{number}" for number in range(5, 15)), "x"])


@pytest.mark.parametrize("scanned_per_value", [0, 2, 100], ids=["apart", "index", "scan"])
@pytest.mark.parametrize("column", ["id", "rank"])
def test_rows_of_values_are_counted_whichever_way_they_are_found(
    sailors: Table, questions: list[str], monkeypatch: pytest.MonkeyPatch, column: str, scanned_per_value: int
) -> None:
    monkeypatch.setattr(index_lookup, "_SCANNED_PER_VALUE", scanned_per_value)
    values = pa.array(["s1", "s2", "s2", "x", "mate", "nobody", None, "s3"], pa.string())
    ranks = sailors.read(["rank"])["rank"].to_pylist()
    expected = {"s1": 1, "s2": 1, "s3": 1, "x": 1} if column == "id" else {"mate": ranks.count("mate")}

    found = count_values(sailors, column, values)

    assert dict(zip(*found.to_pydict().values(), strict=True)) == expected
    assert count_found(sailors, column, values) == sum(expected.values())
    assert count_values(sailors, column, values.slice(0, 0)).num_rows == 0


def test_a_column_holds_only_what_all_its_rows_are_found_by(sailors: Table) -> None:
    ids = sailors.read(["id"])["id"].combine_chunks()

    assert holds_only(sailors, "id", ids)
    assert not holds_only(sailors, "id", ids.slice(1))
    assert not holds_only(sailors, "badge", sailors.read(["badge"])["badge"].combine_chunks()), "one has none"


def test_a_scan_answers_where_an_index_would_take_longer(sailors: Table, questions: list[str]) -> None:
    many = pa.array([f"s{number}" for number in range(30)], pa.string())
    without_index = pa.array(["captain", "mate", "deckhand", "cook"], pa.string())

    assert look_up_values(sailors, "id", many, ["id"]).num_rows == 30
    assert look_up_values(sailors, "rank", without_index, ["id"]).num_rows == 42

    assert len(questions) == 2, "one for each"
    assert look_up_values(sailors, "id", pa.array([None], pa.string()), ["id"]).num_rows == 0


def test_rows_that_no_index_knows_are_counted(sailors: Table) -> None:
    layout = read_layout(sailors)

    assert [unindexed_rows(layout, column) for column in ("id", "badge", "rank")] == [2, 2, 42]
