"""`where` means the same for stored rows, with and without an index, for rows in memory, and in Python."""

import math
import operator
import struct
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from omnigraph.catalog.model import TableKey
from omnigraph.graph import Graph
from omnigraph.graphs.capture import Capture, capture_branch
from omnigraph.query.mutate.selecting import comparison_between
from omnigraph.query.typed import STRING
from omnigraph.storage.filters import all_of
from omnigraph.writes.working import comparisons_hold
from support.graphs import graph_of, load, node

SCHEMA = """
node T {
    k: String @key
    i: I32? @index
    l: I64? @index
    u: U32? @index
    w: U64? @index
    f: F32? @index
    d: F64? @index
    b: Bool? @index
    day: Date? @index
    at: DateTime? @index
    s: String? @index
    e: enum(x, y)? @index
}
"""
NUMBERS = [0, 1, -1, 34, 34.5, 0.1, -0.5, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**32, 2**53, 2**53 + 1]
NUMBERS += [2**63 - 1, 2**63, -(2**63), 2**64 - 1, 16777217, 1e39, -1e39, 1e300, 5e-324, -0.0]
STORED: dict[str, list[Any]] = {
    "i": [0, 1, -1, 34, 35, 2**31 - 1, -(2**31)],
    "l": [0, 34, 2**53, 2**53 + 1, 2**63 - 1, -(2**63)],
    "u": [0, 1, 34, 2**32 - 1],
    "w": [0, 34, 2**53 + 1, 2**63, 2**64 - 1],
    "f": [0.0, -0.0, 0.1, 34.5, 16777216.0, -3.4e38],
    "d": [0.0, -0.0, 0.1, 34.5, 2.0**53, 1e300, 5e-324],
    "b": [True, False],
    "day": [date(1, 1, 1), date(1969, 12, 31), date(2020, 2, 29), date(9999, 12, 31)],
    "at": [
        datetime(1, 1, 1, tzinfo=UTC),
        datetime(1969, 12, 31, 23, 59, 59, 999_000, UTC),
        datetime(2020, 1, 1, tzinfo=UTC),
    ],
    "s": ["", "a", "A", "a'b", "é", "\U0001f600", "\uffff", "%", "a\nb", '"'],
    "e": ["x", "y"],
}
OPERATORS = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def as_stored(value: Any) -> Any:
    """Dates are days and times milliseconds, as a checked query has them."""
    if isinstance(value, datetime):
        return (value - EPOCH) // timedelta(milliseconds=1)
    return (value - EPOCH.date()).days if isinstance(value, date) else value


def single(value: float) -> float:
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


@pytest.fixture(scope="module", params=["scanned", "indexed", "partly indexed"])
def capture(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Capture:
    rows = max(map(len, STORED.values()))
    records = [
        node(
            "T",
            k=f"k{place}",
            **{name: spelled(values[place]) for name, values in STORED.items() if place < len(values)},
        )
        for place in range(rows)
    ]
    first = records if request.param != "partly indexed" else records[::2]
    graph: Graph = graph_of(str(Path(tmp_path_factory.mktemp("where"), "graph.omni")), SCHEMA, *first)
    if request.param != "scanned":
        graph.optimize()
    if request.param == "partly indexed":
        load(graph, "append", *records[1::2])
    return capture_branch(graph._context, "main")


def spelled(value: Any) -> Any:
    return value.isoformat() if isinstance(value, date) else value


@pytest.mark.parametrize("name", STORED)
def test_every_comparison_of_every_type_finds_what_python_finds(capture: Capture, name: str) -> None:
    entity = capture.catalog.node_by_name["T"]
    declared = entity.property_by_name[name].type
    table = capture.table(TableKey("node:T"))
    everything = table.read(["id", name])
    wanted = NUMBERS if name in {"i", "l", "u", "w", "f", "d"} else STORED[name]
    values = {f"k{place}": value for place, value in enumerate(STORED[name])}

    for value in wanted:
        compared = single(value) if name == "f" else value
        for symbol, holds in OPERATORS.items():
            expected = {key for key, held in values.items() if holds(single(held) if name == "f" else held, compared)}

            comparison = comparison_between(name, declared, symbol, as_stored(value))

            if comparison is None:
                assert expected == set(), (value, symbol)
                continue
            found = table.read(["id"], where=all_of((comparison,)))["id"].to_pylist()
            in_memory = everything.filter(comparisons_hold(everything, (comparison,)))["id"].to_pylist()
            assert (set(found), len(found)) == (expected, len(expected)), (value, symbol)
            assert set(in_memory) == expected, (value, symbol)


def test_days_that_python_cannot_spell_are_compared_as_well(tmp_path: Path) -> None:
    graph = graph_of(
        str(tmp_path / "graph.omni"), "node T { k: String @key  day: Date? }", node("T", k="far", day=2**31 - 1)
    )

    found = graph.mutate('query q() { update T set { day: null } where day > date("9999-12-31") }')

    assert found.affected_nodes == 1


def test_ids_are_compared_as_texts() -> None:
    comparison = comparison_between("src", STRING, ">=", "b")

    assert comparison is not None
    assert comparisons_hold(pa.table({"src": ["a", "b", "c"]}), (comparison,)).to_pylist() == [False, True, True]
