"""Mutations: the table of the contract, what each statement means, and that nothing happens when one fails."""

import base64
import json
import re
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

import omnigraph
from omnigraph.base import clock, faults
from omnigraph.errors import (
    ConstraintViolation,
    ExternalBlobDenied,
    InvalidName,
    InvalidTarget,
    MixedMutation,
    ParamError,
    PreconditionFailed,
    QueryExecution,
    QueryNotFound,
    QuerySelection,
    QueryTypeError,
    ReadSetConflict,
    ResourceLimit,
    WrongVerb,
)
from omnigraph.graph import Graph
from omnigraph.query.mutate import run
from omnigraph.writes import protocol
from omnigraph.writes.budget import WriteLimits
from support.graphs import column, edge, graph_of, load, node, refusal, rows
from support.sailing import change, crew_graph


@pytest.fixture(scope="module", params=["scanned", "indexed", "partly indexed"])
def template(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example graph without indexes, with them, and with rows that came after they were built."""
    root = tmp_path_factory.mktemp("template") / "graph.omni"
    graph = crew_graph(str(root))
    if request.param == "partly indexed":
        change(graph, 'update Sailor set { age: 1 } where name = "Ed"')
    if request.param != "scanned":
        graph.optimize()
    if request.param == "partly indexed":
        change(graph, 'update Sailor set { age: 34 } where name = "Ed"')
    return root


@pytest.fixture
def crew(template: Path, local_root: str) -> Graph:
    return omnigraph.open(str(shutil.copytree(template, local_root)))


@pytest.fixture
def scanned(local_root: str) -> Graph:
    return crew_graph(local_root)


@contextmanager
def once_at(point: str, action: Callable[[], object], *, times: int = 1) -> Iterator[list[str]]:
    """Do something the first times the write protocol passes a point; yields the points passed."""
    passed: list[str] = []
    is_acting = False

    def reach(name: str) -> None:
        nonlocal is_acting
        if is_acting:
            return
        passed.append(name)
        if name == point and passed.count(name) <= times:
            is_acting = True
            action()
            is_acting = False

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(faults, "reach", reach)
        yield passed


# --- the table of the contract

COUNTED = {
    'insert Sailor { name: "Fi", rank: "mate" }': (1, 0),
    'insert Sailor { name: "Bo", rank: "captain" }': (1, 0),
    "update Sailor set { age: 35 } where age = 34": (2, 0),
    'update Sailor set { age: null } where name = "Bo"': (1, 0),
    'delete Sailor where name = "Ana"': (1, 4),
    'delete Mentors where from = "Ana"': (0, 3),
    'delete Sailor where age = 34 delete Sailor where rank = "mate"': (2, 6),
    'insert Mentors { from: "Ed", to: "Gil" } insert Sailor { name: "Gil", rank: "mate" }': (1, 1),
}


@pytest.mark.parametrize("body", COUNTED)
def test_a_mutation_counts_what_it_affects_and_makes_one_commit(crew: Graph, body: str) -> None:
    before = crew.snapshot()

    result = change(crew, body)

    assert (result.affected_nodes, result.affected_edges) == COUNTED[body]
    assert result.commit is not None
    assert (result.commit.kind, result.commit.parent_commit_id) == ("mutation", before.commit_id)
    assert crew.snapshot().graph_version == before.graph_version + 1
    assert crew.verify(deep=True).is_clean


def test_what_matches_nothing_makes_no_commit(crew: Graph) -> None:
    before = crew.snapshot().commit_id

    for body in ('update Sailor set { age: 9 } where name = "Zed"', 'delete Mentors where from = "Zed"'):
        result = change(crew, body)

        assert (result.affected_nodes, result.affected_edges, result.commit) == (0, 0, None)
    assert crew.snapshot().commit_id == before


REFUSED = {
    'insert ServesOn { from: "Ana", to: "S2" }': ("@card violation on edge ServesOn", "Ana", "2 edges", "max 1"),
    'insert Mentors { from: "Ed", to: "Zed" }': ("to", "Zed", "Sailor", "not found"),
    'insert Mentors { from: "Zed", to: "Ed" }': ("from", "Zed", "Sailor", "not found"),
}


@pytest.mark.parametrize("body", REFUSED)
def test_a_broken_rule_leaves_the_graph_as_it_was(crew: Graph, body: str) -> None:
    error = refusal(crew, lambda: change(crew, body))

    assert isinstance(error, ConstraintViolation)
    assert [word for word in REFUSED[body] if word not in str(error)] == []


def test_an_enum_value_from_a_parameter_is_judged_when_it_is_there(scanned: Graph) -> None:
    query = 'query q($r: String) { insert Sailor { name: "H", rank: $r } }'

    error = refusal(scanned, lambda: scanned.mutate(query, r="cook"))

    assert isinstance(error, ConstraintViolation)
    assert (error.details["rule"], error.details["row_id"]) == ("invalid_enum", "H")
    assert all(word in str(error) for word in ("invalid enum value", "cook", "Sailor.rank"))


def test_what_does_not_fit_the_schema_is_refused_with_its_code(scanned: Graph) -> None:
    for body, code in {
        'update Sailor set { name: "X" } where name = "Bo"': "T31",
        'update Mentors set { note: "x" } where from = "Ana"': "T16",
        'insert Saylor { name: "x" }': "T10",
    }.items():
        error = refusal(scanned, lambda body=body: change(scanned, body))
        assert isinstance(error, QueryTypeError)
        assert str(error).startswith(f"{code}:")
    mixed = refusal(scanned, lambda: change(scanned, 'insert Ship {hull:"S" title:"t"} delete Ship where hull = "S"'))
    assert isinstance(mixed, MixedMutation)
    assert "branch" in str(mixed)


# --- insert


def test_an_insert_of_an_existing_key_replaces_the_whole_entity(local_root: str) -> None:
    graph = graph_of(
        local_root,
        'node A { k: String @key  n: I32? @default(7)  day: Date @default("2020-02-29")  s: String?  photo: Blob? }',
        node("A", k="a", n=1, day="2021-01-01", s="x", photo="base64:aGk="),
    )

    change(graph, 'insert A { k: "a", photo: null }')
    assert rows(graph, "A")["a"] == {"k": "a", "n": 7, "day": date(2020, 2, 29), "s": None, "photo": None}

    change(graph, 'insert A { k: "a", n: null }')
    assert column(graph, "A", "n") == {"a": None}


def test_keyless_nodes_and_edges_are_always_new(scanned: Graph) -> None:
    body = 'insert Mentors { from: "Ed", to: "Ed", note: "self" }'

    change(scanned, f"{body} {body}")

    new = [identity for identity, row in rows(scanned, "Mentors").items() if row["note"] == "self"]
    assert len(new) == 2
    assert all(re.fullmatch("[0-9A-HJKMNP-TV-Z]{26}", identity) for identity in new)


def test_a_composite_key_finds_its_entity(local_root: str) -> None:
    graph = graph_of(local_root, "node P { a: I32  b: String  v: I32?  @key(a, b) }", node("P", a=1, b="x", v=1))

    change(graph, 'insert P { a: 1, b: "x", v: 2 } insert P { a: 1, b: "y" }')

    assert column(graph, "P", "v") == {'["1","x"]': 2, '["1","y"]': None}


def test_an_omitted_embed_vector_stays_while_its_text_does(local_root: str) -> None:
    schema = 'node Doc { slug: String @key  text: String?  vec: Vector(2) @embed("text") }'
    docs = [node("Doc", slug=slug, text=slug, vec=[1, 0]) for slug in ("same", "other", "null")]
    graph = graph_of(local_root, schema, *docs)

    change(
        graph,
        'insert Doc { slug: "same", text: "same" } insert Doc { slug: "other", text: "new" } '
        'insert Doc { slug: "null", text: "null", vec: null } insert Doc { slug: "fresh", text: "x" }',
    )
    assert column(graph, "Doc", "vec") == {"same": [1.0, 0.0], "other": None, "null": None, "fresh": None}

    change(
        graph,
        'insert Doc { slug: "new", text: "a", vec: [0, 1] } insert Doc { slug: "new", text: "a" } '
        'update Doc set { text: "changed" } where slug = "same"',
    )
    assert column(graph, "Doc", "vec")["new"] == [0.0, 1.0]
    assert column(graph, "Doc", "vec")["same"] == [1.0, 0.0]


def test_a_node_type_comes_before_an_edge_type_of_the_same_name(local_root: str) -> None:
    graph = graph_of(local_root, "node Twin { n: I32 }\nedge Twin: Twin -> Twin")

    assert change(graph, "insert Twin { n: 1 }").affected_nodes == 1


# --- statements see each other


def test_statements_see_what_came_before_them(scanned: Graph) -> None:
    result = change(
        scanned,
        'insert Sailor { name: "Fi", rank: "mate", age: 34 } '
        "update Sailor set { age: 40 } where age = 34 "
        'insert Sailor { name: "Fi", rank: "captain" } '
        "update Sailor set { age: 41 } where age = 40",
    )

    assert result.affected_nodes == 1 + 3 + 1 + 2
    ages = column(scanned, "Sailor", "age")
    assert (ages["Fi"], ages["Bo"], ages["Ed"]) == (None, 41, 41)


def test_an_inserted_key_keeps_its_last_image(scanned: Graph) -> None:
    result = change(
        scanned,
        'insert Ship { hull: "S9", title: "a", tons: 1 } insert Ship { hull: "S8", title: "x" } '
        'insert Ship { hull: "S9", title: "b" } insert Ship { hull: "S9", title: "c" }',
    )

    assert result.affected_nodes == 4
    assert column(scanned, "Ship", "title")["S9"] == "c"
    assert column(scanned, "Ship", "tons")["S9"] is None


def test_rules_hold_for_the_final_state_only(local_root: str) -> None:
    graph = graph_of(
        local_root,
        "node A { k: String @key  badge: String? @unique  n: I32?  r: enum(x, y)  @range(n, 0..9) }",
        node("A", k="a", badge="one", r="x"),
        node("A", k="b", badge="two", r="x"),
    )

    change(
        graph,
        'update A set { badge: null } where k = "a" update A set { badge: "one" } where k = "b" '
        'update A set { n: 99 } where k = "a" update A set { n: 5 } where n = 99',
    )
    assert column(graph, "A", "badge") == {"a": None, "b": "one"}

    error = refusal(graph, lambda: change(graph, 'update A set { badge: "one" } where k = "a"'))
    assert all(word in str(error) for word in ("@unique violation on A.badge", "one", "'a'", "'b'"))
    query = 'query q($r: String?, $n: I32) { update A set { r: $r, n: $n } where k = "a" }'
    missing = refusal(graph, lambda: graph.mutate(query, r=None, n=1))
    assert (missing.details["rule"], missing.details["property"]) == ("missing_required", "r")
    ranged = refusal(graph, lambda: graph.mutate(query, r="x", n=10))
    assert "@range violation on A.n" in str(ranged)


def test_entities_that_several_deletes_mean_count_once(scanned: Graph) -> None:
    result = change(
        scanned,
        'delete Mentors where from = "Ana" delete Sailor where name = "Ana" delete Sailor where id = "Ana" '
        'delete Mentors where to = "Bo"',
    )

    assert (result.affected_nodes, result.affected_edges) == (1, 6)  # m1, m2, m6, one ServesOn, m4, m5
    assert set(rows(scanned, "Mentors")) == {"m3"}


def test_a_deleted_node_takes_the_edges_of_all_types_along(local_root: str) -> None:
    graph = graph_of(
        local_root,
        "node A { k: String @key }\nnode B { k: String @key }\nedge E: A -> B\nedge F: B -> A\nedge G: A -> A",
        *(node(kind, k=key) for kind in "AB" for key in "xy"),
        edge("E", "x", "x", id="e1"),
        edge("E", "y", "x", id="e2"),
        edge("F", "x", "x", id="f1"),
        edge("F", "x", "y", id="f2"),
        edge("G", "x", "x", id="g1"),
        edge("G", "y", "x", id="g2"),
    )

    result = change(graph, 'delete A where k = "x"')

    assert (result.affected_nodes, result.affected_edges) == (1, 4)
    assert (set(rows(graph, "B")), set(rows(graph, "E")), set(rows(graph, "F"))) == ({"x", "y"}, {"e2"}, {"f2"})
    assert rows(graph, "G") == {}
    assert graph.verify(deep=True).is_clean


def test_removing_a_required_edge_is_refused_unless_its_source_goes_too(local_root: str) -> None:
    graph = graph_of(
        local_root,
        "node Boat { k: String @key }\nnode Pier { k: String @key }\nedge Docks: Boat -> Pier @card(1..)",
        node("Boat", k="b1"),
        node("Pier", k="p1"),
        edge("Docks", "b1", "p1"),
    )

    for body in ('delete Docks where from = "b1"', 'delete Pier where k = "p1"'):
        error = refusal(graph, lambda body=body: change(graph, body))
        assert all(word in str(error) for word in ("Docks", "b1", "0 edges", "min 1"))
    assert change(graph, 'insert Boat { k: "b2" }').commit is not None
    assert change(graph, 'delete Boat where k = "b1"').affected_edges == 1


# --- values

TYPED = (
    "node T { k: String @key  i: I32?  l: I64?  u: U32?  b: U64?  f: F32?  d: F64?  on: Bool?  day: Date?  at: "
    "DateTime?  names: [String]?  sizes: [F64]?  counts: [I32]?  v: Vector(2)?  photo: Blob? }"
)


@pytest.fixture
def typed(local_root: str) -> Graph:
    return graph_of(local_root, TYPED)


def test_values_become_what_the_property_stores(typed: Graph) -> None:
    change(
        typed,
        'insert T { k: "x" i: -5 l: -9223372036854775808 u: 4294967295 b: 18446744073709551615 f: 3 d: 7 on: true '
        'day: date("2031-7-15") at: datetime("2031-07-15 08:30+02:00") names: ["a", ""] sizes: [1, 2.5] counts: [] '
        'v: [1, 0.5] photo: "base64:aGk=" }',
    )

    assert rows(typed, "T")["x"] == {
        "k": "x",
        "i": -5,
        "l": -(2**63),
        "u": 2**32 - 1,
        "b": 2**64 - 1,
        "f": 3.0,
        "d": 7.0,
        "on": True,
        "day": date(2031, 7, 15),
        "at": datetime(2031, 7, 15, 6, 30, tzinfo=UTC),
        "names": ["a", ""],
        "sizes": [1.0, 2.5],
        "counts": [],
        "v": [1.0, 0.5],
        "photo": b"hi",
    }


def test_parameters_of_a_program_may_be_its_own_values(typed: Graph) -> None:
    query = (
        "query q($d: Date, $t: DateTime, $v: Vector(2), $b: Blob, $n: [String], $f: F64, $none: I32?) "
        '{ insert T { k: "x" day: $d at: $t v: $v photo: $b names: $n f: $f i: $none } }'
    )

    typed.mutate(
        query, d=date(2020, 1, 2), t=datetime(2020, 1, 2, 3, tzinfo=UTC), v=(0.25, 1), b=b"\x00", n=["a"], f=0.1
    )

    row = rows(typed, "T")["x"]
    assert (row["day"], row["at"], row["v"]) == (date(2020, 1, 2), datetime(2020, 1, 2, 3, tzinfo=UTC), [0.25, 1.0])
    assert (row["photo"], row["names"], round(row["f"], 6), row["i"]) == (b"\x00", ["a"], 0.1, None)


UNSTORABLE = {
    "float into integer": ("$v: F64", "i: $v", 3.0, ("T.i", "I32", "whole number")),
    "floats into integers": ("$v: [F64]", "counts: $v", [3.0], ("T.counts", "I32", "whole number")),
    "too large": ("$v: I64", "i: $v", 2**31, ("T.i", "out of range", "-2147483648 to 2147483647")),
    "negative": ("$v: I32", "u: $v", -1, ("T.u", "out of range", "0 to 4294967295")),
    "too large for F32": ("$v: F64", "f: $v", 1e39, ("T.f", "out of range", "F32")),
    "no base64": ("$v: String", "photo: $v", "base64:???", ("T.photo", "base64")),
}


@pytest.mark.parametrize("case", UNSTORABLE)
def test_a_value_that_a_property_cannot_hold_is_refused_by_its_name(typed: Graph, case: str) -> None:
    declared, assignment, value, words = UNSTORABLE[case]

    error = refusal(
        typed, lambda: typed.mutate(f'query q({declared}) {{ insert T {{ k: "x" {assignment} }} }}', v=value)
    )

    assert isinstance(error, QueryExecution)
    assert str(error).startswith("query: ")
    assert [word for word in words if word not in str(error)] == []


def test_a_reference_to_another_object_is_no_blob(typed: Graph) -> None:
    error = refusal(typed, lambda: change(typed, 'insert T { k: "x", photo: "s3://bucket/secret?key=1" }'))

    assert isinstance(error, ExternalBlobDenied)
    assert "T.photo" in str(error)
    assert "secret" not in json.dumps(error.document())
    assert error.details["uri"] == "s3://…"


def test_an_update_keeps_the_blobs_and_lists_that_it_does_not_assign(typed: Graph) -> None:
    blob = bytes(range(256)) * 400
    typed.mutate('query q($p: Blob) { insert T { k: "x" photo: $p names: ["a"] v: [1, 2] } }', p=blob)

    change(typed, 'update T set { i: 1 } where k = "x"')
    row = rows(typed, "T")["x"]
    assert (row["photo"], row["names"], row["v"], row["i"]) == (blob, ["a"], [1.0, 2.0], 1)

    spelled = base64.b64encode(b"other").decode()
    change(typed, f'update T set {{ photo: "base64:{spelled}" }} where i = 1')
    assert rows(typed, "T")["x"]["photo"] == b"other"


def test_now_is_one_moment_also_when_the_write_starts_over(typed: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    moments = iter(range(1_000, 2_000))
    monkeypatch.setattr(run.clock, "now_ms", lambda: next(moments))
    other = omnigraph.open(typed.uri)

    with once_at("write.after_stage", lambda: load(other, "append", node("T", k="z"))) as passed:
        change(typed, 'insert T { k: "x", at: now() } insert T { k: "y", at: now() }')

    assert passed.count("write.after_stage") == 2
    times = column(typed, "T", "at")
    assert times["x"] == times["y"] == datetime.fromtimestamp(1, UTC)


def test_a_change_that_changes_nothing_makes_no_commit(scanned: Graph) -> None:
    """As everywhere: a write that leaves every column as it was moves no version."""
    result = change(scanned, "update Sailor set { age: 34 } where age = 34")

    assert (result.affected_nodes, result.commit) == (2, None)


# --- who else writes


def test_inserts_start_over_when_the_head_moved(scanned: Graph) -> None:
    other = omnigraph.open(scanned.uri)

    with once_at("write.after_stage", lambda: change(other, 'insert Sailor { name: "Zoe", rank: "mate", age: 3 }')):
        result = change(scanned, 'insert Sailor { name: "Zoe", rank: "captain" }')

    assert result.commit is not None
    assert rows(scanned, "Sailor")["Zoe"]["rank"] == "captain"
    assert rows(scanned, "Sailor")["Zoe"]["age"] is None


def test_inserts_are_judged_by_what_won(scanned: Graph) -> None:
    other = omnigraph.open(scanned.uri)

    with (
        once_at("write.after_stage", lambda: change(other, 'insert ServesOn { from: "Di", to: "S1" }')),
        pytest.raises(ConstraintViolation, match="@card"),
    ):
        change(scanned, 'insert ServesOn { from: "Di", to: "S2" }')

    assert [row["dst"] for row in rows(scanned, "ServesOn").values() if row["src"] == "Di"] == ["S1"]


def test_an_insert_that_lost_once_is_prepared_again_at_its_gates(scanned: Graph) -> None:
    """Where nobody can overtake it; before, it prepares without holding anybody up."""
    other = omnigraph.open(scanned.uri)

    with once_at("write.after_stage", lambda: load(other, "append", node("Ship", hull="Z", title="t"))) as passed:
        change(scanned, 'insert Sailor { name: "Fi", rank: "mate" }')

    attempts = [point for point in passed if point in {"write.after_stage", "write.after_gates"}]
    assert attempts == ["write.after_stage", "write.after_gates", "write.after_gates", "write.after_stage"]
    assert "Fi" in rows(scanned, "Sailor")


def test_inserts_that_take_long_to_prepare_give_up_after_five_attempts(
    scanned: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They never hold the gates for so long that others would give up waiting for them."""
    monkeypatch.setattr(protocol, "_AT_THE_GATES_SECONDS", 0.0)
    monkeypatch.setattr(protocol, "_LONG_AT_THE_GATES_SECONDS", 0.0)
    other = omnigraph.open(scanned.uri)
    names = iter(range(100))

    def interfere() -> None:
        load(other, "append", node("Ship", hull=f"Z{next(names)}", title="t"))

    with once_at("write.after_stage", interfere, times=50) as passed, pytest.raises(ReadSetConflict) as caught:
        change(scanned, 'insert Sailor { name: "Fi", rank: "mate" }')

    assert passed.count("write.after_stage") == 5
    assert "refresh and retry" in str(caught.value)
    assert "Fi" not in rows(scanned, "Sailor")


def test_the_last_attempt_of_a_long_insert_is_made_at_its_gates(
    scanned: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "_AT_THE_GATES_SECONDS", 0.0)
    other = omnigraph.open(scanned.uri)
    names = iter(range(100))

    def interfere() -> None:
        load(other, "append", node("Ship", hull=f"Z{next(names)}", title="t"))

    with once_at("write.after_stage", interfere, times=4) as passed:
        change(scanned, 'insert Sailor { name: "Fi", rank: "mate" }')

    assert passed.count("write.after_stage") == 5
    assert "Fi" in rows(scanned, "Sailor")


@pytest.mark.parametrize(
    "body",
    [
        "update Sailor set { age: 1 } where age = 34",
        'delete Sailor where name = "Ana"',
        'insert Ship { hull: "S9", title: "t" } update Ship set { tons: 1 } where hull = "S9"',
    ],
)
def test_updates_and_deletes_fail_when_the_head_moved(scanned: Graph, body: str) -> None:
    other = omnigraph.open(scanned.uri)
    before = rows(scanned, "Sailor"), rows(scanned, "Mentors")

    with (
        once_at("write.after_stage", lambda: load(other, "append", node("Ship", hull="Z", title="t"))),
        pytest.raises(ReadSetConflict) as caught,
    ):
        change(scanned, body)

    assert (caught.value.exit_code, caught.value.effect) == (5, "none")
    assert (rows(scanned, "Sailor"), rows(scanned, "Mentors")) == before
    assert scanned.pending_operations() == []
    assert change(scanned, body).commit is not None


# --- only if the head is still the one that was seen


def test_a_precondition_lets_a_write_pass_while_it_holds(scanned: Graph) -> None:
    head = scanned.snapshot().commit_id

    result = change(scanned, "update Sailor set { age: 35 } where age = 34", if_commit=head)

    assert result.commit is not None
    stale = refusal(scanned, lambda: change(scanned, 'delete Ship where hull = "S3"', if_commit=head))
    assert isinstance(stale, PreconditionFailed)
    assert (stale.exit_code, stale.details) == (4, {"expected": head, "actual": result.commit.graph_commit_id})
    assert "precondition_failure" in stale.document()


@pytest.mark.parametrize("body", ['insert Sailor { name: "Fi", rank: "mate" }', "delete Sailor where age = 34"])
def test_a_head_that_moves_while_the_write_is_prepared_breaks_the_precondition(scanned: Graph, body: str) -> None:
    head = scanned.snapshot().commit_id
    other = omnigraph.open(scanned.uri)

    with (
        once_at("write.after_stage", lambda: load(other, "append", node("Ship", hull="Z", title="t"))),
        pytest.raises(PreconditionFailed) as caught,
    ):
        change(scanned, body, if_commit=head)

    assert caught.value.details["actual"] == scanned.snapshot().commit_id
    assert {"Bo", "Ed"} <= set(rows(scanned, "Sailor"))
    assert "Fi" not in rows(scanned, "Sailor")


def test_a_precondition_holds_for_what_changes_nothing_too(scanned: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    head = scanned.snapshot().commit_id
    other = omnigraph.open(scanned.uri)
    body = 'delete Ship where hull = "none"'
    assert change(scanned, body, if_commit=head).commit is None

    prepare = run.MutationWriter.prepare

    def prepare_and_lose(writer, capture, identity):
        prepared = prepare(writer, capture, identity)
        load(other, "append", node("Ship", hull="Z", title="t"))
        return prepared

    monkeypatch.setattr(run.MutationWriter, "prepare", prepare_and_lose)
    with pytest.raises(PreconditionFailed):
        change(scanned, body, if_commit=head)


@pytest.mark.parametrize("given", ["*", 'W/"01J9ZK3V6Q0T8M7R5N2B4C6D8E"', "main", "main~1", "01J9ZK", ""])
def test_only_a_whole_commit_id_is_a_precondition(scanned: Graph, given: str) -> None:
    error = refusal(scanned, lambda: change(scanned, 'delete Ship where hull = "S3"', if_commit=given))

    assert isinstance(error, InvalidName)
    assert error.exit_code == 2


def test_counting_with_preconditions_loses_nothing(scanned: Graph) -> None:
    """Everybody reads, adds one and writes only if nobody else did; the last number is the number of successes."""
    change(scanned, 'update Ship set { tons: 0 } where hull = "S1"')
    query = 'query q($t: F64) { update Ship set { tons: $t } where hull = "S1" }'

    def add_one(_: int) -> int:
        graph = omnigraph.open(scanned.uri)
        for attempt in range(100):
            seen = graph.snapshot()
            (tons,) = seen.table("Ship").to_arrow(["tons"], where=[("hull", "=", "S1")])["tons"].to_pylist()
            try:
                graph.mutate(query, t=tons + 1, if_commit=seen.commit_id)
            except PreconditionFailed:
                continue
            return attempt
        raise AssertionError("never the first of all")

    with ThreadPoolExecutor(3) as pool:
        attempts = list(pool.map(add_one, range(9)))

    assert column(scanned, "Ship", "tons")["S1"] == 9.0, attempts
    assert scanned.verify().is_clean


# --- what surrounds a mutation

SEVERAL = """
query add($n: String) { insert Sailor { name: $n, rank: "mate" } }
query all() { match { $s: Sailor } return { $s.name } }
"""


def test_one_query_of_a_text_is_chosen_by_its_name(scanned: Graph) -> None:
    assert scanned.mutate(SEVERAL, "add", n="Fi").query_name == "add"
    assert scanned.mutate(SEVERAL, "add", params={"n": "Gil"}).affected_nodes == 1
    none_chosen = refusal(scanned, lambda: scanned.mutate(SEVERAL, n="x"))
    unknown = refusal(scanned, lambda: scanned.mutate(SEVERAL, "ad", n="x"))
    read = refusal(scanned, lambda: scanned.mutate(SEVERAL, "all"))

    assert isinstance(none_chosen, QuerySelection)
    assert (none_chosen.exit_code, none_chosen.details["names"]) == (2, ["add", "all"])
    assert isinstance(unknown, QueryNotFound)
    assert "not found" in str(unknown)
    assert isinstance(read, WrongVerb)
    assert (read.details["query"], read.details["actual"]) == ("all", "read")


def test_parameters_are_checked_before_anything_is_read(scanned: Graph) -> None:
    for values, word in (({}, "missing"), ({"n": 3}, "String"), ({"n": "x", "m": 1}, "`$m`")):
        error = refusal(scanned, lambda values=values: scanned.mutate(SEVERAL, "add", **values))
        assert isinstance(error, ParamError)
        assert word in str(error)
    with pytest.raises(InvalidTarget):
        scanned.mutate(SEVERAL, "add", params={"n": "x"}, n="y")


def test_a_commit_says_who_made_it_and_why(scanned: Graph) -> None:
    result = change(scanned, 'delete Ship where hull = "S3"', actor="act-ines", message="scrapped")

    assert result.actor_id == "act-ines"
    commit = scanned.commit("main")
    assert (commit.graph_commit_id, commit.actor_id, commit.message) == (
        result.commit.graph_commit_id,
        "act-ines",
        "scrapped",
    )


def test_a_mutation_of_a_branch_leaves_main_alone(scanned: Graph) -> None:
    scanned.branches.create("review")

    result = change(scanned, 'delete Sailor where name = "Ana"', branch="review")

    assert (result.branch, result.commit.graph_branch) == ("review", "review")
    assert "Ana" in rows(scanned, "Sailor")
    assert "Ana" not in rows(scanned, "Sailor", branch="review")
    assert change(scanned, 'update Sailor set { age: 1 } where name = "Ana"', branch="review").commit is None
    scanned.branches.merge("review")
    assert "Ana" not in rows(scanned, "Sailor")
    assert scanned.verify(deep=True, all_branches=True).is_clean


def test_a_graph_that_is_open_to_read_is_not_changed(scanned: Graph) -> None:
    reader = omnigraph.open(scanned.uri, read_only=True)

    with pytest.raises(InvalidTarget, match="read-only"):
        change(reader, 'delete Ship where hull = "S3"')


@pytest.mark.parametrize(
    ("limits", "resource"),
    [(WriteLimits(rows=3, bytes=1 << 20), "mutation_rows"), (WriteLimits(rows=100, bytes=40), "mutation_bytes")],
)
@pytest.mark.parametrize(
    "body", ['delete Sailor where name = "Ana"', "update Sailor set { age: 1 } where age != 1", "insert"]
)
def test_a_mutation_that_is_too_large_is_refused_before_any_effect(
    scanned: Graph, monkeypatch: pytest.MonkeyPatch, limits: WriteLimits, resource: str, body: str
) -> None:
    monkeypatch.setattr(run, "MUTATION_LIMITS", limits)
    if body == "insert":
        body = " ".join(f'insert Ship {{ hull: "Z{number}", title: "t" }}' for number in range(4))

    error = refusal(scanned, lambda: change(scanned, body))

    assert isinstance(error, ResourceLimit)
    assert error.details["resource"] == resource
    assert error.details["actual"] > error.details["limit"]


def test_the_time_of_now_is_that_of_the_clock(typed: Graph) -> None:
    before = clock.now_ms()

    change(typed, 'insert T { k: "x", at: now() }')

    moment = column(typed, "T", "at")["x"]
    assert datetime.fromtimestamp(before / 1000, UTC) <= moment <= datetime.now(UTC) + timedelta(seconds=1)


@pytest.mark.parametrize("value", [10**5000, object(), [{1, 2}]], ids=["digits", "object", "set"])
def test_a_value_that_json_cannot_spell_is_an_error_of_its_parameter(tmp_path, value):
    graph = crew_graph(str(tmp_path / "crew.omni"))

    with pytest.raises(ParamError, match=r"\$n"):
        graph.mutate("query q($n: I32?) { update Sailor set { age: $n } where age > 0 }", n=value)


def test_an_array_that_holds_itself_is_an_error_of_its_parameter(tmp_path):
    graph = crew_graph(str(tmp_path / "crew.omni"))
    endless: list[object] = []
    endless.append(endless)

    with pytest.raises(ParamError, match=r"\$n"):
        graph.mutate('query q($n: [String]) { update Sailor set { tags: $n } where name = "Bo" }', n=endless)
