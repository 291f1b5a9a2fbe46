"""Rows that no write would let in, put there with raw Lance calls: each broken rule is named, and nothing else is."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

from omnigraph.catalog.model import TableKey
from omnigraph.engine.interface import Engine
from omnigraph.engine.local import LocalEngine
from omnigraph.graph import Graph
from omnigraph.records.offences import Offences
from omnigraph.storage.tables import Table
from omnigraph.writes.constraints import broken
from omnigraph.writes.constraints.broken import BrokenConstraints, broken_constraints
from support import harbor

SCHEMA = """
node Sailor {
    name: String @key
    rank: enum(captain, deckhand, mate)
    age: I32?
    weight: F64?
    badge: String? @unique
    mail: String?
    vec: Vector(2)?
    @range(age, 16..99)
    @check(mail, "@")
}
node Berth { deck: I32  number: I32  @key(deck, number) }
node Note { text: String }
edge Mentors: Sailor -> Sailor { since: Date?  @unique(src, dst) }
edge SleepsIn: Sailor -> Berth @card(0..1)
"""
CREW = [
    harbor.sailor("Ana", "captain", age=50, badge="b1", mail="a@b", weight=70.5, vec=[0.5, 1.0]),
    harbor.sailor("Bo", age=34, badge="b2"),
    {"type": "Berth", "data": {"deck": 1, "number": 2}},
    {"type": "Note", "data": {"text": "x", "id": "n1"}},
    harbor.edge("Mentors", "Ana", "Bo", id="m1"),
    harbor.edge("SleepsIn", "Ana", '["1","2"]', id="s1"),
]


@pytest.fixture
def graph(local_root: str) -> Graph:
    return harbor.new_graph(local_root, schema=SCHEMA, records=CREW)


def raw(graph: Graph, type_name: str) -> Any:
    pin = next(pin for pin in graph.snapshot().tables if pin.type_name == type_name)
    return lance.dataset(str(Path(graph.uri) / pin.location))


def forge(graph: Graph, type_name: str, *rows: Mapping[str, Any]) -> None:
    """Append copies of a table's first row with other values, past every check."""
    dataset = raw(graph, type_name)
    like = dataset.to_table(limit=1).to_pylist()[0]
    dataset.insert(pa.Table.from_pylist([like | dict(row) for row in rows], schema=dataset.schema))


def heads(graph: Graph) -> dict[TableKey, Table]:
    pins = graph._context.manifest.load("main").snapshot.pins
    return {key: head for key, pin in pins.items() if (head := graph._context.store.tables.head(pin.address))}


def look(graph: Graph, engine: Engine | None = None, **options: Any) -> BrokenConstraints:
    context = graph._context
    catalog = context.schemas.catalog(context.manifest.load("main").snapshot.schema)
    return broken_constraints(context, catalog, heads(graph), engine=engine, **options)


def told(found: Mapping[TableKey, Offences]) -> dict[str, list[tuple[str, str | None]]]:
    return {
        key: sorted((finding.code.value, finding.row_id) for finding in table.first) for key, table in found.items()
    }


def break_everything(graph: Graph) -> dict[str, list[tuple[str, str | None]]]:
    """Break each rule once; return what should be told."""
    fine = {"age": None, "badge": None, "mail": None, "weight": None, "vec": None}
    forge(
        graph,
        "Sailor",
        fine | {"id": "Bo", "name": "Bo"},
        fine | {"id": "Cy", "name": "Cy", "rank": "pirate"},
        fine | {"id": "Di", "name": "Di", "age": 7},
        fine | {"id": "Ed", "name": "Ed", "mail": "nowhere"},
        fine | {"id": "Fi", "name": "Fi", "badge": "b1"},
        fine | {"id": "Gus", "name": "Gil"},
        fine | {"id": "Hal", "name": "Hal", "weight": float("nan")},
        fine | {"id": "Ida", "name": "Ida", "vec": [float("inf"), 0.0]},
    )
    forge(graph, "Berth", {"id": '["1","9"]', "number": 8})
    forge(graph, "Mentors", {"id": "m2", "src": "Nobody"}, {"id": "m3"})
    forge(graph, "SleepsIn", {"id": "s2"}, {"id": "s3", "dst": '["7","7"]'})
    return {
        "edge:Mentors": [("orphan_edge", "m2"), ("unique_violation", "m3")],
        "edge:SleepsIn": [("card_violation", "Ana"), ("orphan_edge", "s3")],
        "node:Berth": [("id_mismatch", '["1","9"]')],
        "node:Sailor": [
            ("bad_vector", "Ida"),
            ("check_violation", "Ed"),
            ("duplicate_id", "Bo"),
            ("id_mismatch", "Gus"),
            ("invalid_enum", "Cy"),
            ("out_of_range", "Hal"),
            ("range_violation", "Di"),
            ("unique_violation", "Fi"),
        ],
    }


def test_a_graph_that_was_only_written_to_breaks_nothing(graph: Graph) -> None:
    assert look(graph) == BrokenConstraints()


def engines() -> Iterator[Any]:
    yield pytest.param("local", id="local")
    yield pytest.param("spark", id="spark", marks=[pytest.mark.slow, pytest.mark.timeout(600)])


@pytest.fixture(params=list(engines()))
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Engine:
    if request.param == "local":
        return LocalEngine()
    import os

    from omnigraph.engine.choice import EngineChoice, EngineName
    from omnigraph.engine.spark.engine import SparkEngine
    from omnigraph.engine.spark.session import open_session

    # As if the tables were too large for one worker.
    monkeypatch.setattr("omnigraph.engine.spark.engine.LONE_ROWS_MAX", 0)
    return SparkEngine(open_session(EngineChoice(engine=EngineName.SPARK), os.environ), {})


def test_every_broken_rule_is_named_once(graph: Graph, engine: Engine) -> None:
    expected = break_everything(graph)

    found = look(graph, engine)
    engine.close()

    assert found.unchecked == {}
    assert told(found.broken) == expected


def test_keys_alone_leave_values_unread(graph: Graph) -> None:
    break_everything(graph)

    found = told(look(graph, with_values=False).broken)

    assert found["node:Sailor"] == [("duplicate_id", "Bo"), ("unique_violation", "Fi")]
    assert "node:Berth" not in found


def test_samples_stop_at_the_limit_and_counts_do_not(graph: Graph) -> None:
    forge(graph, "Sailor", *({"id": f"x{n}", "name": f"x{n}", "rank": "pirate", "badge": None} for n in range(30)))

    (found,) = look(graph, limit=3).broken.values()

    assert (len(found.first), found.total, dict(found.by_code)) == (3, 30, {"invalid_enum": 30})
    assert found.first[0].message == 'invalid enum value "pirate" for Sailor.rank; allowed: captain, deckhand, mate'


def test_a_node_table_answers_for_the_edges_that_lost_their_node(graph: Graph) -> None:
    raw(graph, "Sailor").delete("id = 'Bo'")

    asked = look(graph, tables=[TableKey("node:Sailor")])

    assert told(asked.broken) == {"node:Sailor": [("orphan_edge", "m1")]}
    assert [finding.table_key for finding in asked.broken[TableKey("node:Sailor")].first] == ["edge:Mentors"]
    assert told(look(graph).broken) == {"edge:Mentors": [("orphan_edge", "m1")]}


@pytest.mark.parametrize("rows_max", [0, 1 << 20])
def test_a_table_that_cannot_be_read_stops_nothing_else(
    graph: Graph, monkeypatch: pytest.MonkeyPatch, rows_max: int
) -> None:
    monkeypatch.setattr(broken, "_STATEMENT_ROWS_MAX", rows_max)
    states = heads(graph)
    forge(graph, "Sailor", {"id": "Cy", "name": "Cy", "rank": "pirate", "badge": None})
    (file,) = (Path(graph.uri) / states[TableKey("node:Berth")].address.path / "data").iterdir()
    file.unlink()

    found = look(graph)

    assert sorted(found.unchecked) == ["edge:SleepsIn", "node:Berth"]
    assert all(file.name in reason for reason in found.unchecked.values())
    assert told(found.broken) == {"node:Sailor": [("invalid_enum", "Cy")]}


def test_a_table_nobody_could_open_leaves_those_that_need_it_unchecked(graph: Graph) -> None:
    context = graph._context
    catalog = context.schemas.catalog(context.manifest.load("main").snapshot.schema)
    states = heads(graph)
    del states[TableKey("node:Berth")]

    found = broken_constraints(context, catalog, states, tables=sorted(catalog.type_by_table_key))

    assert sorted(found.unchecked) == ["edge:SleepsIn", "node:Berth"]


def test_an_edge_table_nobody_could_open_does_not_keep_its_nodes_from_being_checked(graph: Graph) -> None:
    context = graph._context
    catalog = context.schemas.catalog(context.manifest.load("main").snapshot.schema)
    forge(graph, "Sailor", {"badge": None})
    states = heads(graph)
    del states[TableKey("edge:SleepsIn")]

    found = broken_constraints(context, catalog, states, tables=[TableKey("node:Sailor")])

    assert sorted(found.unchecked) == ["edge:SleepsIn"]
    assert told(found.broken) == {"node:Sailor": [("duplicate_id", "Ana")]}


def test_a_node_table_is_checked_although_what_its_edges_lead_to_cannot_be_read(graph: Graph) -> None:
    forge(graph, "Sailor", {"badge": None}, {"id": "Cy", "name": "Cy", "rank": "pirate", "badge": None})
    (file,) = (Path(graph.uri) / heads(graph)[TableKey("node:Berth")].address.path / "data").iterdir()
    file.unlink()

    found = look(graph, tables=[TableKey("node:Sailor")])

    assert found.unchecked == {}
    assert told(found.broken) == {"node:Sailor": [("duplicate_id", "Ana"), ("invalid_enum", "Cy")]}


def test_values_are_checked_although_the_other_end_cannot_be_read(graph: Graph) -> None:
    (edges,) = (Path(graph.uri) / heads(graph)[TableKey("edge:Mentors")].address.path / "data").iterdir()
    edges.unlink()
    forge(graph, "Sailor", {"id": "Cy", "name": "Cy", "rank": "pirate", "badge": None})

    found = look(graph, tables=[TableKey("node:Sailor")])

    assert sorted(found.unchecked) == ["node:Sailor"]
    assert told(found.broken) == {"node:Sailor": [("invalid_enum", "Cy")]}


def test_progress_counts_rows(graph: Graph) -> None:
    told_rows: list[int] = []

    look(graph, watch=told_rows.append)

    rows: Sequence[int] = [pin.row_count for pin in graph.snapshot().tables]
    assert told_rows[-1] == 2 * sum(rows)
    assert told_rows == sorted(told_rows)
