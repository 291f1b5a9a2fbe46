"""The decisions of a merge without a graph: which route a table takes, and what becomes of one entity."""

import itertools

import pyarrow as pa
import pytest

from omnigraph.branches.merge.edges import on_stand_ins
from omnigraph.branches.merge.resolution import _RESOLVE, RESOLUTION_SCHEMA, agreed
from omnigraph.branches.merge.routes import Route, route
from omnigraph.catalog.model import TableIdentity, TableKey
from omnigraph.engine.local import LocalEngine
from omnigraph.manifest.snapshot import TablePin

ENGINE = LocalEngine()
CHANGES = pa.schema([("id", pa.string()), ("op", pa.string())])


def pin(ref: str | None, version: int) -> TablePin:
    return TablePin(
        table_key=TableKey("node:A"),
        identity=TableIdentity(type_id=1, incarnation_id=1),
        location="nodes/a",
        ref=ref,
        version=version,
        row_count=0,
    )


@pytest.mark.parametrize(
    ("source", "target", "bases", "own_ref", "lasting", "expected"),
    [
        pytest.param(("s", 7), ("s", 7), [("s", 5)], "t", {None}, Route.SKIP, id="both have the same"),
        pytest.param((None, 5), ("t", 9), [(None, 5)], "t", {None}, Route.SKIP, id="the source changed nothing"),
        pytest.param(("s", 7), (None, 5), [(None, 5)], "t", {None}, Route.ADOPT, id="on a ref that may go"),
        pytest.param((None, 7), (None, 5), [(None, 5)], "t", {None}, Route.POINTER, id="on the main line"),
        pytest.param(("p", 7), ("p", 5), [("p", 5)], "t", {None, "p"}, Route.POINTER, id="on the parent's ref"),
        pytest.param((None, 7), ("t", 5), [("t", 5)], "t", {None}, Route.ADOPT, id="the target owns the table"),
        pytest.param(("s", 7), (None, 5), [(None, 5)], None, {None}, Route.ADOPT, id="main owns its tables"),
        pytest.param(("s", 7), ("t", 7), [(None, 5)], "t", {None}, Route.THREE_WAY, id="one number, two refs"),
        pytest.param(("s", 7), ("t", 6), [("t", 6), ("t", 5)], "t", {None}, Route.THREE_WAY, id="one of two bases"),
    ],
)
def test_the_route_of_a_table_follows_from_its_pins(source, target, bases, own_ref, lasting, expected) -> None:
    chosen = route(
        source=pin(*source),
        target=pin(*target),
        bases=[pin(*base) for base in bases],
        own_ref=own_ref,
        lasting_refs=frozenset(lasting),
    )

    assert chosen is expected


TRUTH_TABLE = {
    # source, target, equal: outcome; None is untouched, or kept as the target has it
    ("insert", None, False): "take",
    ("insert", "insert", True): None,
    ("insert", "insert", False): "divergent_insert",
    ("update", None, False): "take",
    ("update", "update", True): None,
    ("update", "update", False): "divergent_update",
    ("update", "delete", False): "delete_vs_update",
    ("delete", None, False): "delete",
    ("delete", "update", False): "delete_vs_update",
    ("delete", "delete", False): None,
    (None, "insert", False): None,
    (None, "update", False): None,
    (None, "delete", False): None,
}


@pytest.mark.parametrize(("source", "target", "equal"), TRUTH_TABLE)
def test_an_entity_is_resolved_as_the_truth_table_says(source: str | None, target: str | None, equal: bool) -> None:
    relations = {
        "source": pa.Table.from_pylist([{"id": "x", "op": source}] if source else [], schema=CHANGES),
        "target": pa.Table.from_pylist([{"id": "x", "op": target}] if target else [], schema=CHANGES),
        "equal": pa.table({"id": pa.array(["x"] if equal else [], pa.string())}),
    }

    resolved = ENGINE.sql(relations, _RESOLVE).to_pylist()

    expected = TRUTH_TABLE[source, target, equal]
    assert resolved == ([{"id": "x", "outcome": expected}] if expected else [])


def test_the_truth_table_is_symmetric_in_its_conflicts_and_has_every_pair() -> None:
    ops = {"insert": ("insert",), "update": ("update", "delete"), "delete": ("update", "delete")}
    pairs = {(source, target) for source, others in ops.items() for target in (None, *others)}
    pairs |= {(target, source) for source, target in pairs}

    assert {(source, target) for source, target, _ in TRUTH_TABLE} == pairs
    for (source, target, equal), outcome in TRUTH_TABLE.items():
        if source and target:
            assert TRUTH_TABLE[target, source, equal] == outcome


def resolution(**outcomes: str | None) -> pa.Table:
    rows = [{"id": name, "outcome": outcome} for name, outcome in outcomes.items() if outcome]
    return pa.Table.from_pylist(rows, schema=RESOLUTION_SCHEMA)


@pytest.mark.parametrize(
    ("left", "right"), [*itertools.product(["take", "delete", "delete_vs_update", None], repeat=2)]
)
def test_several_bases_must_agree(left: str | None, right: str | None) -> None:
    found = agreed(ENGINE, [resolution(x=left), resolution(x=right)]).to_pylist()

    expected = left if left == right else "divergent_update"
    assert found == ([{"id": "x", "outcome": expected}] if expected else [])


def test_what_is_resolved_for_a_base_edge_is_done_to_the_edge_that_stands_for_it() -> None:
    stand_ins = pa.table({"left_id": ["gone", "changed", "kept", "fought"], "right_id": ["g2", "c2", "k2", "f2"]})

    found = on_stand_ins(resolution(gone="delete", changed="take", fought="delete_vs_update", other="take"), stand_ins)

    assert {row["id"]: row["outcome"] for row in found.to_pylist()} == {
        "g2": "delete",
        "changed": "take",
        "c2": "delete",
        "fought": "delete_vs_update",
        "other": "take",
    }
