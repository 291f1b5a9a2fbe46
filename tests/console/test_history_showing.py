"""Changes and conflicts as people read them, and which writes settle which conflicts."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

import omnigraph
from omnigraph.catalog.model import EntityKind
from omnigraph.changes.compare import Op
from omnigraph.changes.entities import ChangedType, Endpoints, EntityChange, Image
from omnigraph.console.history.conflicts import Conflict, advice, conflicts_of, remedies, with_values
from omnigraph.console.history.merging import MergeView, merged, previewed, settle
from omnigraph.console.history.showing import FOLDED_AFTER, shown_change, shown_value
from omnigraph.console.sources.direct import DirectGraph
from omnigraph.errors import MergeConflicts, ReadSetConflict

SCHEMA = """
node Sailor {
    name: String @key
    rank: enum(captain, mate, deckhand)
    age: I32?
    tags: [String]?
}
edge Mentors: Sailor -> Sailor {
    since: Date?
}
"""


def change(
    before: dict[str, Any] | None,
    after: dict[str, Any] | None,
    *,
    kind: EntityKind = "node",
    ends: tuple[str, str] | None = None,
) -> EntityChange:
    def image(values: dict[str, Any] | None) -> Image | None:
        endpoints = None if ends is None else Endpoints(source=ends[0], target=ends[1])
        return None if values is None else Image(properties=values, endpoints=endpoints, size_bytes=1)

    op = Op.INSERT if before is None else Op.DELETE if after is None else Op.UPDATE
    type_ = ChangedType(kind=kind, type_id="t", name="Sailor" if kind == "node" else "Mentors")
    return EntityChange(type=type_, id="Ana", op=op, before=image(before), after=image(after))


def test_an_update_shows_only_what_differs() -> None:
    shown = shown_change(change({"age": 50, "rank": "mate", "tags": None}, {"age": 51, "rank": "mate", "tags": ["a"]}))

    assert (shown.sign, shown.word) == ("~", "changed")
    told = {each.name: (each.before and each.before.text, each.after and each.after.text) for each in shown.properties}
    assert told == {"age": ("50", "51"), "tags": (None, '["a"]')}


def test_an_insert_shows_what_is_there_and_a_delete_what_was() -> None:
    added, gone = shown_change(change(None, {"age": None, "rank": "mate"})), shown_change(change({"age": 3}, None))

    assert [(each.name, each.before, each.after) for each in added.properties] == [("rank", None, shown_value("mate"))]
    assert [(each.name, each.before, each.after) for each in gone.properties] == [("age", shown_value(3), None)]
    assert (added.sign, gone.sign) == ("+", "−")


def test_an_edge_shows_its_ends() -> None:
    shown = shown_change(change(None, {"since": None}, kind="edge", ends=("Ana", "Bo")))

    assert shown.ends == ("Ana", "Bo")
    assert shown.properties == ()


def test_long_values_are_folded_and_endless_ones_are_cut() -> None:
    short, long, endless = shown_value("x" * FOLDED_AFTER), shown_value("x" * 200), shown_value("x" * 50_000)

    assert [each.is_long for each in (short, long, endless)] == [False, True, True]
    assert long.whole == "x" * 200
    assert endless.whole.endswith("(50,000 characters in all)")


def conflict(
    base: Any, into: Any, source: Any, *, entity_kind: str = "node", kind: str = "divergent_update"
) -> Conflict:
    def record(values: Any) -> Any:
        return None if values is None else {"type": "Sailor", "data": {"id": "Ana", **values}}

    return Conflict(
        kind=kind,
        entity_kind=entity_kind,
        type_name="Sailor",
        entity_id="Ana",
        message="Sailor 'Ana' …",
        base=record(base),
        into=record(into),
        source=record(source),
    )


def test_a_conflict_shows_what_the_branches_differ_in_first() -> None:
    base = {"age": 1, "rank": "mate", "name": "Ana"}
    found = conflict(base, {**base, "age": 2, "rank": "captain"}, {**base, "age": 3, "rank": "captain"})

    assert [(row.name, row.is_open) for row in found.rows] == [("age", True), ("rank", False)]


def test_either_side_can_be_taken() -> None:
    kept, taken = remedies(conflict({"age": 1}, {"age": 2}, {"age": 3}), source="storm", into="main")

    assert (kept.label, kept.branch, kept.record and kept.record["data"]["age"]) == ("Keep main's values", "storm", 2)
    assert (taken.label, taken.branch, taken.record and taken.record["data"]["age"]) == (
        "Take storm's values",
        "main",
        3,
    )


def test_a_node_is_not_brought_back_without_its_edges() -> None:
    found = conflict({"age": 1}, {"age": 2}, None, kind="delete_vs_update")

    (only,) = remedies(found, source="storm", into="main")
    assert (only.label, only.branch, only.record) == ("Delete it on main, too", "main", None)
    assert "add it to storm again" in advice(found, source="storm", into="main")


def test_an_edge_can_be_brought_back() -> None:
    found = conflict({"since": 1}, None, {"since": 2}, kind="delete_vs_update", entity_kind="edge")

    assert [each.label for each in remedies(found, source="storm", into="main")] == [
        "Delete it on storm, too",
        "Take storm's values",
    ]
    assert advice(found, source="storm", into="main") == ""


def test_a_broken_rule_has_advice_and_no_button() -> None:
    found = Conflict(kind="orphan_edge", entity_kind="edge", type_name="Mentors", entity_id="e", message="…")

    assert remedies(found, source="storm", into="main") == ()
    assert "missing node" in advice(found, source="storm", into="main")


def test_values_that_a_server_leaves_out_come_from_what_each_side_changed() -> None:
    found = Conflict(kind="divergent_update", entity_kind="node", type_name="Sailor", entity_id="Ana", message="…")

    (filled,) = with_values([found], into=[change({"age": 1}, {"age": 2})], source=[change({"age": 1}, {"age": 3})])

    ages = [record and record["data"]["age"] for record in (filled.base, filled.into, filled.source)]
    assert ages == [1, 2, 3]


@pytest.fixture
def opened(tmp_path: Path) -> DirectGraph:
    graph = omnigraph.init(str(tmp_path / "g.omni"), SCHEMA)
    lines = [
        {"type": "Sailor", "data": {"name": "Ana", "rank": "mate", "age": 50, "tags": ["a"]}},
        {"type": "Sailor", "data": {"name": "Bo", "rank": "mate"}},
        {"edge": "Mentors", "from": "Ana", "to": "Bo", "data": {"id": "e1", "since": "2020-01-01"}},
    ]
    put(graph, *lines)
    graph.branches.create("storm")
    for branch, day, age in (("main", 2, 51), ("storm", 3, 52)):
        edge = {"edge": "Mentors", "from": "Ana", "to": "Bo", "data": {"id": "e1", "since": f"2020-01-0{day}"}}
        put(graph, {"type": "Sailor", "data": {"name": "Ana", "rank": "mate", "age": age}}, edge, branch=branch)
    graph.mutate('query gone() { delete Sailor where name = "Bo" }', branch="storm")
    graph.mutate('query older() { update Sailor set { age: 40 } where name = "Bo" }')
    return DirectGraph(graph, graph_id="g", cli_address="g", actor=None, is_read_only=False, query_texts={})


def put(graph: omnigraph.Graph, *records: Any, branch: str = "main") -> None:
    from io import BytesIO

    lines = "\n".join(map(json.dumps, records)).encode()
    graph.load(BytesIO(lines), mode="merge", branch=branch)


def test_all_conflicts_are_settled_one_by_one_and_the_merge_says_what_was_chosen(opened: DirectGraph) -> None:
    async def run() -> tuple[list[list[str]], MergeView]:
        seen = []
        for _ in range(4):
            view = await previewed(opened, "storm", "main")
            seen.append([each.kind for each in view.conflicts])
            if not view.conflicts:
                break
            remedy = remedies(view.conflicts[0], source="storm", into="main")[-1]
            await settle(opened, view, view.conflicts[0], remedy)
        return seen, await merged(opened, "storm", "main", message="settled")

    seen, view = asyncio.run(run())

    assert [len(each) for each in seen] == [3, 2, 1, 0] or [len(each) for each in seen] == [3, 2, 0]
    assert view.is_done
    found = asyncio.run(opened.query("match { $s: Sailor } return { $s.name, $s.age }"))
    assert [tuple(row.values()) for row in found.rows()] == [("Ana", 52)]


def test_nothing_is_written_over_what_nobody_has_seen(opened: DirectGraph) -> None:
    async def run() -> None:
        view = await previewed(opened, "storm", "main")
        await opened.mutate('query older() { update Sailor set { age: 60 } where name = "Ana" }', branch="storm")
        ana = next(each for each in view.conflicts if each.entity_id == "Ana")
        await settle(opened, view, ana, remedies(ana, source="storm", into="main")[0])

    with pytest.raises(ReadSetConflict, match="has moved"):
        asyncio.run(run())


def test_conflicts_are_read_from_the_error_of_either_kind_of_graph() -> None:
    listed = [{"table_key": "node:Sailor", "row_id": "Ana", "kind": "divergent_update", "message": "m"}]

    found, total = conflicts_of(MergeConflicts("…", merge_conflicts=listed, merge_conflicts_total=7))

    assert ([each.entity_id for each in found], total) == (["Ana"], 7)
    assert not found[0].has_values
