"""Shortest paths as patterns: how many hops, from either end, and in every place where a property can stand."""

from typing import Any

import pytest

from omnigraph.errors import QueryExecution
from omnigraph.graph import Graph
from omnigraph.language.query.formatting import format_queries
from omnigraph.query.sql.answers import answer_with_duckdb
from support.graphs import edge, graph_of, node
from support.sailing import crew_graph

SAILOR = '$s: Sailor { name: "%s" }'
ALL = ("Ana", "Bo", "Cy", "Di", "Ed")
# The same ends as without the path, each with the fewest hops that the bounds allow.
HOPS = [
    ("Ana", "$s $p:shortest mentors{1,3} $x", {"Bo": 1, "Cy": 1, "Di": 2}),
    ("Ana", "$s $p:shortest mentors{1,1} $x", {"Bo": 1, "Cy": 1}),
    ("Ana", "$s $p:shortest mentors{2,2} $x", {"Bo": 2, "Di": 2}),
    ("Ana", "$s $p:shortest mentors{3,3} $x", {}),
    ("Bo", "$s $p:shortest mentors{1,2} $x", {"Bo": 1, "Di": 1}),
    ("Di", "$s $p:shortest mentors{1,9} $x", {"Bo": 1}),
    ("Di", "$s $p:shortest mentors{2,9} $x", {"Bo": 2}),
    ("Cy", "$s $p:shortest <mentors>{1,9} $x", {"Ana": 1, "Bo": 2, "Di": 3}),
    ("Bo", "$s $p:shortest <mentors>{2,2} $x", {"Cy": 2}),
    ("Di", "$x $p:shortest mentors{1,5} $s", {"Ana": 2, "Bo": 1}),
    ("Bo", "$x $p:shortest mentors{2,2} $s", {"Ana": 2, "Di": 2}),
]


@pytest.fixture(scope="module")
def crew(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    return crew_graph(str(tmp_path_factory.mktemp("crew") / "crew.omni"))


def tuples(graph: Graph, text: str, **values: Any) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in graph.query(text, params=values).rows()]


@pytest.mark.parametrize(("name", "pattern", "expected"), HOPS)
def test_hops_are_the_same_wherever_the_search_starts(
    crew: Graph, name: str, pattern: str, expected: dict[str, int]
) -> None:
    one = tuples(crew, f"match {{ {SAILOR % name} {pattern} }} return {{ $x.name, $p.hops }}")
    many = tuples(crew, f"match {{ {pattern} }} return {{ $s.name, $x.name, $p.hops }}")
    closed = tuples(crew, f"match {{ $s: Sailor $x: Sailor {pattern} }} return {{ $s.name, $x.name, $p.hops }}")
    ends = {
        other: hops
        for other in ALL
        for start, hops in tuples(
            crew, f'match {{ $x: Sailor {{ name: "{other}" }} {pattern} }} return {{ $s.name, $p.hops }}'
        )
        if start == name
    }
    both = {
        other: hops
        for other in ALL
        for (hops,) in tuples(
            crew, f'match {{ {SAILOR % name} $x: Sailor {{ name: "{other}" }} {pattern} }} return {{ $p.hops }}'
        )
    }

    assert dict(one) == expected
    assert len(one) == len(expected)
    assert {x: hops for start, x, hops in many if start == name} == expected
    assert sorted(many) == sorted(closed)
    assert ends == both == expected


@pytest.mark.parametrize(("name", "pattern", "expected"), HOPS)
def test_a_database_counts_the_same_hops(crew: Graph, name: str, pattern: str, expected: dict[str, int]) -> None:
    text = f"match {{ {SAILOR % name} {pattern} }} return {{ $x.name, $p.hops }} order {{ $x.name }}"
    with crew.snapshot() as snapshot:
        rows = answer_with_duckdb(snapshot, crew._asking.asked(snapshot, text, None, {}))

    assert [tuple(row.values()) for row in rows.to_pylist()] == sorted(expected.items())
    assert rows.schema == crew.query(text).to_arrow().schema


def test_hops_stand_where_a_property_can(crew: Graph) -> None:
    pattern = f"{SAILOR % 'Ana'} $s $p:shortest <mentors>{{1,4}} $x"

    assert tuples(crew, f"match {{ {pattern} $p.hops > 1 }} return {{ $x.name }}") == [("Di",)]
    assert tuples(crew, f"match {{ {pattern} not {{ $p.hops = 1 }} }} return {{ $x.name }}") == [("Di",)]
    assert tuples(crew, f"match {{ {pattern} }} return {{ $x.name }} order {{ $p.hops desc, $x.name }} limit 2") == [
        ("Di",),
        ("Bo",),
    ]
    assert tuples(crew, f"match {{ {pattern} }} return {{ $p.hops as h, count($x) as n }} order {{ h }}") == [
        (1, 2),
        (2, 1),
    ]
    everybody = "match { $a $p:shortest mentors{1,4} $b } return { max($p.hops), sum($p.hops), avg($p.hops) }"
    assert tuples(crew, everybody) == [(2, 7.0, 7 / 6)]
    assert crew.query(f"match {{ {pattern} }} return {{ $p.hops }} limit 0").to_arrow().schema.field(0).type == "int64"


def test_two_paths_are_compared(crew: Graph) -> None:
    text = "match { $a: Sailor $b: Sailor $c: Sailor $a $p:shortest mentors{1,3} $b $a $q:shortest mentors{1,3} $c "
    nearer = f"{text} $p.hops < $q.hops }} return {{ $a.name, $b.name, $c.name }} order {{ $b.name }}"

    assert tuples(crew, nearer) == [("Ana", "Bo", "Di"), ("Ana", "Cy", "Di")]


def test_a_path_along_an_edge_between_types_has_one_hop(crew: Graph) -> None:
    text = "match { %s $s $p:shortest servesOn%s $h } return { $h.hull, $p.hops }"

    assert tuples(crew, text % (SAILOR % "Ana", "{1,3}")) == [("S1", 1)]
    assert tuples(crew, text % (SAILOR % "Ana", "{2,3}")) == []


def test_the_word_alone_changes_nothing(crew: Graph) -> None:
    text = "match {{ $a {}mentors{{1,2}} $b }} return {{ $a.name, $b.name }} order {{ $a.name, $b.name }}"

    assert tuples(crew, text.format("shortest ")) == tuples(crew, text.format(""))
    assert tuples(crew, text.format("$_:shortest ")) == tuples(crew, text.format(""))


def test_an_edge_may_still_be_called_shortest(tmp_path: Any) -> None:
    graph = graph_of(
        str(tmp_path / "road.omni"),
        "node N { k: String @key }\nedge Shortest: N -> N",
        *(node("N", k=name) for name in "abcd"),
        *(edge("Shortest", *ends) for ends in ("ab", "bc", "cd", "ad")),
    )

    assert tuples(graph, 'match { $a: N { k: "c" } $a shortest $b } return { $b.k }') == [("d",)]
    far = 'match { $a: N { k: "a" } $a $p:shortest shortest{1,3} $b } return { $b.k, $p.hops } order { $b.k }'
    assert tuples(graph, far) == [("b", 1), ("c", 2), ("d", 1)]


def test_the_plan_says_what_is_searched_for(crew: Graph) -> None:
    steps = crew.explain(f"match {{ {SAILOR % 'Ana'} $s $p:shortest mentors{{1,3}} $x }} return {{ $p.hops }}").steps

    assert [step.text for step in steps] == [
        'find $s: Sailor by name = "Ana"',
        "go from $s to $x along $s -$p:shortest Mentors{1,3}-> $x",
        "return $p.hops",
    ]


def test_hops_are_a_whole_number_to_lint(crew: Graph) -> None:
    text = "query q() { match { $a $p:shortest mentors{1,3} $b } return { $p.hops, min($p.hops) as least } }"
    (query,) = crew.lint(text).results

    assert query.operation is not None
    assert [(column.name, column.kind, column.nullable) for column in query.operation.result] == [
        ("p.hops", "bigint", False),
        ("least", "bigint", True),
    ]


def test_the_formatter_keeps_the_word_and_the_blank_behind_it() -> None:
    text = "match{$a $p : shortest   mentors {1,3}$b  $a shortest< mentors >{1,2} $b}return{$p.hops}"

    assert format_queries(text, source="q.gq") == (
        "match {\n    $a $p:shortest mentors{1,3} $b\n    $a shortest <mentors>{1,2} $b\n}\nreturn { $p.hops }\n"
    )


def test_sql_says_how_many_hops_it_follows(crew: Graph) -> None:
    text = "match { $a $p:shortest mentors{1,40} $b } return { $p.hops }"
    with crew.snapshot() as snapshot, pytest.raises(QueryExecution, match="32"):
        answer_with_duckdb(snapshot, crew._asking.asked(snapshot, text, None, {}))
    assert len(tuples(crew, text)) == 6
