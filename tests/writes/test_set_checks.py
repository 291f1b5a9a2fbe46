"""Uniqueness, endpoints and cardinality: judged on the state a write would produce, through every way of writing.

A way of writing takes records and writes them; what a check refuses, it must refuse in all of them.
"""

from collections.abc import Callable, Sequence

import pytest

from omnigraph.graph import Graph
from omnigraph.storage import tables
from support.graphs import Record, codes, column, edge, graph_of, load, messages, node, places, refusal, rows

Way = Callable[[Graph, Sequence[Record]], None]


def write_each(verb: str) -> Way:
    """Write records one statement each, so that a check that looks at single statements would miss pairs."""

    def way(graph: Graph, records: Sequence[Record]) -> None:
        with graph.write() as batch:
            for record in records:
                ends = {name: record[name] for name in ("from", "to") if name in record}
                row = {**ends, **record["data"]}
                getattr(batch, verb)(record.get("type") or record["edge"], [row])

    return way


ADDING: dict[str, Way] = {
    "append": lambda graph, records: load(graph, "append", *records),
    "merge": lambda graph, records: load(graph, "merge", *records),
    "write insert": write_each("insert"),
    "write upsert": write_each("upsert"),
}
WAYS: dict[str, Way] = {**ADDING, "overwrite": lambda graph, records: load(graph, "overwrite", *records)}

adding = pytest.mark.parametrize("way", ADDING.values(), ids=ADDING)
every_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


@pytest.fixture(params=["index lookup", "column scan"])
def lookup(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways of finding stored rows; the second one is for inputs above some thousand values."""
    if request.param == "column scan":
        monkeypatch.setattr(tables, "_LOOKUP_BY_FILTER_MAX", 0)


# --- uniqueness

TYPES = """
node T {
    s: String? @unique  e: enum(p, q)? @unique  o: Bool? @unique
    i: I32? @unique  l: I64? @unique  u: U64? @unique  f: F64? @unique  g: F32? @unique
    d: Date? @unique  m: DateTime? @unique
}
"""
SAME = [
    ("s", "a'b\\ü\n", "a'b\\ü\n"),
    ("s", "", ""),
    ("e", "p", "p"),
    ("o", False, False),
    ("i", 0, 0),
    ("l", -(2**63), -(2**63)),
    ("u", 2**64 - 1, 2**64 - 1),
    ("f", -0.0, 0.0),
    ("f", 0, -0.0),
    ("f", 1.0, 1),
    ("f", 5e-324, 5e-324),
    ("f", 0.1, 0.1),
    ("g", 0.1, 0.1),
    ("g", 16777217, 16777216),
    ("g", -0.0, 0.0),
    ("d", "2024-01-01", 19723),
    ("d", 2**31 - 1, 2**31 - 1),
    ("d", "0001-01-01", "0001-01-01"),
    ("m", "2024-01-01T00:00:00Z", "2024-01-01T02:00+02"),
    ("m", 2**63 - 1, 2**63 - 1),
    ("m", "1969-12-31T23:59:59.9999Z", -1),
]
OTHER = [("s", "a", "A"), ("s", "é", "e\u0301"), ("s", " ", ""), ("l", 2**53, 2**53 + 1), ("g", 0.1, 0.2), ("m", 0, 1)]


@pytest.fixture(scope="module")
def typed(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    """One graph for all pairs of values; a pair is written over whatever was there."""
    return graph_of(str(tmp_path_factory.mktemp("typed") / "graph.omni"), TYPES)


@pytest.mark.parametrize(("name", "stored", "incoming"), SAME)
def test_equal_values_of_every_type_collide_with_stored_and_with_each_other(
    typed: Graph, lookup: None, name: str, stored: object, incoming: object
) -> None:
    load(typed, "overwrite", node("T", id="a", **{name: stored}))

    by_id = refusal(typed, lambda: load(typed, "merge", node("T", id="b", **{name: incoming})))
    in_one_input = refusal(
        typed,
        lambda: load(typed, "overwrite", node("T", id="x", **{name: stored}), node("T", id="y", **{name: incoming})),
    )

    for error, holders in ((by_id, ("'a'", "'b'")), (in_one_input, ("'x'", "'y'"))):
        assert error.kind == "constraint_violation"
        assert codes(error) == {"unique_violation": 1}
        (message,) = messages(error)
        assert f"@unique violation on T.{name}" in message
        assert all(holder in message for holder in holders)


@pytest.mark.parametrize(("name", "stored", "incoming"), OTHER)
def test_different_values_do_not_collide(
    typed: Graph, lookup: None, name: str, stored: object, incoming: object
) -> None:
    load(typed, "overwrite", node("T", id="a", **{name: stored}))

    assert load(typed, "merge", node("T", id="b", **{name: incoming}))


PEOPLE = """
node P { name: String @key  badge: String? @unique  zone: String?  slot: I32?  @unique(zone, slot) }
edge Owns: P -> P { tag: String? @unique }
"""


@pytest.fixture
def people(local_root: str) -> Graph:
    return graph_of(
        local_root,
        PEOPLE,
        node("P", name="a", badge="b1", zone="N", slot=1),
        node("P", name="b", badge="b2", zone="N", slot=2),
        node("P", name="c"),
    )


@adding
def test_a_value_of_a_stored_entity_is_refused(people: Graph, way: Way) -> None:
    error = refusal(people, lambda: way(people, [node("P", name="d", badge="b1")]))

    assert codes(error) == {"unique_violation": 1}
    (entry,) = error.details["errors"]
    assert (entry["table_key"], entry["property"], entry["line"]) == ("node:P", "badge", 1)
    assert entry["message"] == "@unique violation on P.badge: 'b1' is held by both 'a' and 'd'"


@every_way
def test_a_value_twice_in_one_write_is_refused(people: Graph, way: Way) -> None:
    error = refusal(people, lambda: way(people, [node("P", name="x", badge="n"), node("P", name="y", badge="n")]))

    assert messages(error) == ["@unique violation on P.badge: 'n' is held by both 'x' and 'y'"]


@adding
def test_a_composite_value_collides_only_as_a_whole(people: Graph, way: Way) -> None:
    way(people, [node("P", name="d", zone="N", slot=3), node("P", name="e", zone="S", slot=1)])

    error = refusal(people, lambda: way(people, [node("P", name="f", zone="N", slot=1)]))

    (message,) = messages(error)
    assert "@unique violation on P.(slot, zone)" in message
    assert "'a'" in message
    assert "'f'" in message


@every_way
def test_null_in_any_member_is_exempt(people: Graph, way: Way) -> None:
    way(people, [node("P", name=name, zone="Z") for name in "xyz"] + [node("P", name=f"{n}", slot=9) for n in range(3)])

    assert set(rows(people, "P")) >= {"x", "y", "z", "0", "1", "2"}


@adding
def test_uniqueness_holds_for_edges_too(people: Graph, way: Way) -> None:
    way(people, [edge("Owns", "a", "b", id="o1", tag="t")])

    error = refusal(people, lambda: way(people, [edge("Owns", "b", "c", id="o2", tag="t")]))

    assert messages(error) == ["@unique violation on Owns.tag: 't' is held by both 'o1' and 'o2'"]


@pytest.mark.parametrize("name", ["merge", "write upsert", "overwrite"])
def test_an_entity_keeps_its_own_value_and_two_may_swap(people: Graph, name: str) -> None:
    way = WAYS[name]

    way(people, [node("P", name="a", badge="b2", zone="N", slot=2), node("P", name="b", badge="b1", zone="N", slot=1)])
    assert (column(people, "P", "badge")["a"], column(people, "P", "badge")["b"]) == ("b2", "b1")

    way(people, [node("P", name="a", badge="b2", zone="N", slot=3), node("P", name="b", badge="b1")])

    assert column(people, "P", "slot")["a"] == 3


def test_a_value_freed_earlier_in_a_write_may_be_taken(people: Graph) -> None:
    with people.write() as batch:
        batch.delete("P", ids=["a"])
        batch.update("P", {"badge": None}, ids=["b"])
        batch.insert("P", [{"name": "d", "badge": "b1"}, {"name": "e", "badge": "b2"}])

    assert column(people, "P", "badge") == {"b": None, "c": None, "d": "b1", "e": "b2"}


def test_an_update_that_gives_two_entities_one_value_is_refused(people: Graph) -> None:
    def give_all_one_badge() -> None:
        with people.write() as batch:
            batch.update("P", {"badge": "same"}, where=[("name", ">=", "a")])

    error = refusal(people, give_all_one_badge)

    assert codes(error) == {"unique_violation": 2}
    assert places(error) == []
    assert {entry["row_id"] for entry in error.details["errors"]} == {"b", "c"}


# --- endpoints


@pytest.fixture
def linked(local_root: str) -> Graph:
    return graph_of(
        local_root,
        "node A { k: String @key }  node B { k: String @key }  edge Ab: A -> B { w: I32? }  edge Aa: A -> A",
        *(node("A", k=f"a{number}") for number in range(3)),
        *(node("B", k=f"b{number}") for number in range(3)),
        edge("Ab", "a0", "b0", id="e0"),
        edge("Aa", "a0", "a1", id="l0"),
    )


@every_way
@pytest.mark.parametrize(("source", "target", "word", "missing"), [("x", "b0", "from", "A"), ("a0", "a1", "to", "B")])
def test_an_edge_to_nowhere_is_refused(
    linked: Graph, way: Way, source: str, target: str, word: str, missing: str
) -> None:
    """Ids belong to a type: a node of another type with the right id does not count."""
    error = refusal(linked, lambda: way(linked, [edge("Ab", source, target, id="e9")]))

    assert codes(error) == {"orphan_edge": 1}
    (entry,) = error.details["errors"]
    assert (entry["property"], entry["line"], entry["table_key"]) == (word, 1, "edge:Ab")
    assert f"Ab {word} {(source if word == 'from' else target)!r}: node {missing} not found" in entry["message"]


@every_way
def test_both_ends_missing_are_two_errors_at_one_place(linked: Graph, way: Way) -> None:
    error = refusal(linked, lambda: way(linked, [edge("Ab", "x", "y")]))

    assert codes(error) == {"orphan_edge": 2}
    assert [entry["property"] for entry in error.details["errors"]] == ["from", "to"]


def test_an_overwrite_of_nodes_must_keep_those_that_retained_edges_use(linked: Graph) -> None:
    error = refusal(linked, lambda: load(linked, "overwrite", node("A", k="a2")))

    assert codes(error) == {"orphan_edge": 3}
    assert places(error) == []
    assert sorted((entry["table_key"], entry["row_id"]) for entry in error.details["errors"]) == [
        ("edge:Aa", "l0"),
        ("edge:Aa", "l0"),
        ("edge:Ab", "e0"),
    ]
    assert all("not found" in message for message in messages(error))


def test_an_overwrite_of_nodes_and_of_all_their_edges_is_fine(linked: Graph) -> None:
    assert load(
        linked, "overwrite", node("A", k="a2"), edge("Ab", "a2", "b2", id="new"), edge("Aa", "a2", "a2", id="loop")
    )

    assert (list(rows(linked, "A")), list(rows(linked, "Ab")), list(rows(linked, "Aa"))) == (["a2"], ["new"], ["loop"])


def test_an_overwrite_of_edges_still_sees_the_stored_nodes(linked: Graph) -> None:
    assert load(linked, "overwrite", edge("Ab", "a1", "b1", id="e1"))

    assert list(rows(linked, "Ab")) == ["e1"]


def test_an_edge_to_a_node_deleted_in_the_same_write_is_refused(linked: Graph) -> None:
    def delete_then_link() -> None:
        with linked.write() as batch:
            batch.delete("B", ids=["b2"])
            batch.insert("Ab", [{"from": "a1", "to": "b2"}])

    assert codes(refusal(linked, delete_then_link)) == {"orphan_edge": 1}


# --- cardinality


def docks(bounds: str) -> str:
    return f"node Boat {{ k: String @key }}  node Pier {{ k: String @key }}  edge Docks: Boat -> Pier @card({bounds})"


BOATS = [node("Boat", k="b1"), node("Boat", k="b2"), node("Pier", k="p1"), node("Pier", k="p2")]


@every_way
def test_more_edges_than_the_maximum_are_refused(local_root: str, way: Way) -> None:
    graph = graph_of(local_root, docks("0..1"), *BOATS, edge("Docks", "b2", "p1", id="old"))

    error = refusal(graph, lambda: way(graph, [edge("Docks", "b1", "p1", id="x"), edge("Docks", "b1", "p2", id="y")]))

    assert messages(error) == ["@card violation on edge Docks: source 'b1' has 2 edges, max 1"]


@adding
def test_stored_edges_count_towards_the_maximum(local_root: str, way: Way) -> None:
    graph = graph_of(local_root, docks("0..1"), *BOATS, edge("Docks", "b1", "p1", id="old"))

    error = refusal(graph, lambda: way(graph, [edge("Docks", "b1", "p2", id="new")]))

    assert messages(error) == ["@card violation on edge Docks: source 'b1' has 2 edges, max 1"]
    assert places(error)[0][1] == 1


@every_way
def test_a_node_without_edges_does_not_violate_the_minimum(local_root: str, way: Way) -> None:
    graph = graph_of(local_root, docks("1.."))

    way(graph, [node("Boat", k="b9")])

    assert list(rows(graph, "Boat")) == ["b9"]


@pytest.fixture
def docked(local_root: str) -> Graph:
    return graph_of(local_root, docks("1.."), *BOATS, edge("Docks", "b1", "p1", id="d1"))


def test_deleting_the_only_required_edge_is_refused(docked: Graph) -> None:
    def delete() -> None:
        with docked.write() as batch:
            batch.delete("Docks", ids=["d1"])

    error = refusal(docked, delete)

    assert messages(error) == ["@card violation on edge Docks: source 'b1' has 0 edges, min 1"]
    assert error.details["errors"][0]["row_id"] == "b1"


def test_deleting_the_boat_takes_its_edge_along(docked: Graph) -> None:
    with docked.write() as batch:
        batch.delete("Boat", ids=["b1"])

    assert rows(docked, "Docks") == {}
    assert (batch.result.affected_nodes, batch.result.affected_edges) == (1, 1)


def test_deleting_the_pier_that_is_the_only_target_is_refused(docked: Graph) -> None:
    def delete() -> None:
        with docked.write() as batch:
            batch.delete("Pier", ids=["p1"])

    assert "'b1' has 0 edges, min 1" in str(refusal(docked, delete))


@pytest.mark.parametrize("way", [WAYS["merge"], WAYS["write upsert"]], ids=["merge", "write upsert"])
def test_a_moved_edge_is_missed_where_it_was(docked: Graph, way: Way) -> None:
    error = refusal(docked, lambda: way(docked, [edge("Docks", "b2", "p1", id="d1")]))

    assert messages(error) == ["@card violation on edge Docks: source 'b1' has 0 edges, min 1"]


def test_an_overwrite_of_edges_checks_the_sources_it_empties(docked: Graph) -> None:
    error = refusal(docked, lambda: load(docked, "overwrite", edge("Docks", "b2", "p1", id="d2")))

    assert messages(error) == ["@card violation on edge Docks: source 'b1' has 0 edges, min 1"]


def test_an_overwrite_that_drops_the_source_as_well_is_fine(docked: Graph) -> None:
    assert load(docked, "overwrite", node("Boat", k="b2"), edge("Docks", "b2", "p1", id="d2"))


def test_an_edge_replaced_within_one_write_keeps_the_count(local_root: str) -> None:
    graph = graph_of(local_root, docks("1..1"), *BOATS, edge("Docks", "b1", "p1", id="d1"))

    with graph.write() as batch:
        batch.delete("Docks", ids=["d1"])
        batch.insert("Docks", [{"id": "d2", "from": "b1", "to": "p2"}])

    assert list(rows(graph, "Docks")) == ["d2"]


# --- many at once


@pytest.fixture(params=["few", "many"])
def stored_count(request: pytest.FixtureRequest) -> int:
    """Below and above the number of values that are looked up one by one."""
    return 30 if request.param == "few" else tables._LOOKUP_BY_FILTER_MAX + 30


@pytest.mark.parametrize("mode", ["append", "merge"])
def test_every_collision_is_counted_and_the_first_twenty_are_shown(
    local_root: str, stored_count: int, mode: str
) -> None:
    graph = graph_of(
        local_root,
        PEOPLE,
        *(node("P", name=f"s{number:05}", badge=f"b{number}", zone="N", slot=number) for number in range(stored_count)),
    )
    incoming = [node("P", name=f"n{number:05}", badge=f"b{number}") for number in range(stored_count)]

    error = refusal(graph, lambda: load(graph, mode, *incoming))

    assert codes(error) == {"unique_violation": stored_count}
    assert error.details["total_errors"] == stored_count
    assert places(error) == [("-", line) for line in range(1, 21)]
    assert messages(error)[19] == "@unique violation on P.badge: 'b19' is held by both 's00019' and 'n00019'"


def test_many_orphans_many_overfull_sources_and_many_existing_ids_are_all_counted(
    local_root: str, stored_count: int
) -> None:
    graph = graph_of(
        local_root,
        "node N { k: String @key }  edge E: N -> N @card(0..1)",
        *(node("N", k=f"n{number}") for number in range(stored_count)),
        *(edge("E", f"n{number}", "n0", id=f"e{number}") for number in range(stored_count)),
    )

    numbers = range(stored_count)
    again = [node("N", k=f"n{number}") for number in numbers]
    second = [edge("E", f"n{number}", "n1") for number in numbers]
    astray = [edge("E", f"n{number}", f"gone{number}", id=f"e{number}") for number in numbers]

    existing = refusal(graph, lambda: load(graph, "append", *again))
    overfull = refusal(graph, lambda: load(graph, "append", *second))
    orphans = refusal(graph, lambda: load(graph, "merge", *astray))
    dropped = refusal(graph, lambda: load(graph, "overwrite", node("N", k="n0")))

    assert (existing.kind, codes(existing)) == ("key_conflict", {"key_conflict": stored_count})
    assert codes(overfull) == {"card_violation": stored_count}
    assert codes(orphans) == {"orphan_edge": stored_count}
    assert codes(dropped) == {"orphan_edge": stored_count - 1}
    for error in (existing, overfull, orphans):
        assert places(error) == [("-", line) for line in range(1, 21)]
    assert places(dropped) == []
    assert len(messages(dropped)) == 20


def test_large_and_small_merges_of_the_same_records_give_the_same_rows(
    tmp_path_factory: pytest.TempPathFactory, local_root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = 60
    stored = [node("P", name=f"p{number}", badge=f"b{number}") for number in range(count)]
    incoming = [
        *(node("P", name=f"p{number}", badge=f"b{count - 1 - number}") for number in range(count)),
        *(edge("Owns", f"p{number}", "p0", id=f"o{number}", tag=f"t{number}") for number in range(count)),
    ]
    by_index = graph_of(local_root, PEOPLE, *stored)
    by_scan = graph_of(str(tmp_path_factory.mktemp("scan") / "graph.omni"), PEOPLE, *stored)

    load(by_index, "merge", *incoming)
    monkeypatch.setattr(tables, "_LOOKUP_BY_FILTER_MAX", 3)
    load(by_scan, "merge", *incoming)

    for type_name in ("P", "Owns"):
        assert rows(by_index, type_name) == rows(by_scan, type_name)
    assert load(by_scan, "merge", *incoming) is None
