"""Every example of the language's contract, on the graph of sailors."""

from datetime import date
from typing import Any

import pytest

from omnigraph.graph import Graph
from support.sailing import crew_graph

SAILOR = '$s: Sailor { name: "%s" }'


@pytest.fixture(scope="module")
def crew(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    return crew_graph(str(tmp_path_factory.mktemp("crew") / "crew.omni"))


def tuples(graph: Graph, text: str, **values: Any) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in graph.query(text, params=values).rows()]


def names(graph: Graph, match: str, column: str = "$s.name") -> list[str]:
    return sorted(name for (name,) in tuples(graph, f"match {{ {match} }} return {{ {column} }}"))


REACHED = [
    ("Ana", "$s mentors $x", "Bo Cy"),
    ("Ana", "$s mentors{1,2} $x", "Bo Cy Di"),
    ("Ana", "$s mentors{2,2} $x", "Bo Di"),
    ("Ana", "$s mentors{3,3} $x", ""),
    ("Bo", "$s mentors $x", "Bo Di"),
    ("Bo", "$s mentors{2,2} $x", ""),
    ("Di", "$s mentors{2,2} $x", "Bo"),
    ("Bo", "$s <mentors> $x", "Ana Bo Di"),
    ("Bo", "$s <mentors>{2,2} $x", "Cy"),
    ("Cy", "$s <mentors>{1,2} $x", "Ana Bo"),
    ("Bo", "$x mentors $s", "Ana Bo Di"),
    ("Bo", "$x mentors{2,2} $s", "Ana Di"),
]


@pytest.mark.parametrize(("name", "pattern", "expected"), REACHED)
def test_what_a_sailor_reaches(crew: Graph, name: str, pattern: str, expected: str) -> None:
    assert names(crew, f"{SAILOR % name} {pattern}", "$x.name") == expected.split()


@pytest.mark.parametrize(("name", "pattern", "expected"), REACHED)
def test_the_same_wherever_the_search_starts(crew: Graph, name: str, pattern: str, expected: str) -> None:
    """All pairs at once, and from the other end, as the key of the other end says."""
    every = tuples(crew, f"match {{ $s: Sailor $x: Sailor {pattern} }} return {{ $s.name, $x.name }}")
    by_end = [
        other
        for other in ("Ana", "Bo", "Cy", "Di", "Ed")
        if name in names(crew, f'$x: Sailor {{ name: "{other}" }} {pattern}')
    ]

    assert sorted(reached for start, reached in every if start == name) == expected.split()
    assert by_end == expected.split()


def test_only_a_node_with_a_self_loop_meets_itself(crew: Graph) -> None:
    assert names(crew, "$s mentors $s") == ["Bo"]
    assert names(crew, "$s mentors{1,5} $s") == ["Bo"]
    assert names(crew, "$s mentors{2,5} $s") == []


def test_a_cycle_does_not_lead_back(tmp_path: Any) -> None:
    from support.graphs import edge, graph_of, node

    graph = graph_of(
        str(tmp_path / "ring.omni"),
        "node N { k: String @key }\nedge E: N -> N",
        *(node("N", k=name) for name in "abc"),
        *(edge("E", *ends) for ends in ("ab", "bc", "ca")),
    )

    assert names(graph, '$s: N { k: "a" } $s e{1,5} $x', "$x.k") == ["b", "c"]


@pytest.mark.parametrize(("bounds", "expected"), [("{1,3}", ["S1"]), ("{2,3}", []), ("", ["S1"])])
def test_an_edge_between_types_goes_one_hop(crew: Graph, bounds: str, expected: list[str]) -> None:
    assert names(crew, f"{SAILOR % 'Ana'} $s servesOn{bounds} $h", "$h.hull") == expected


def test_a_pattern_may_be_read_backwards(crew: Graph) -> None:
    assert names(crew, '$h: Ship { hull: "S1" } $h servesOn $s') == ["Ana", "Bo"]


def test_a_bound_edge_gives_a_row_per_edge(crew: Graph) -> None:
    pupils = tuples(crew, f"match {{ {SAILOR % 'Ana'} $s $m:mentors $x }} return {{ $x.name, $m.since }}")
    around = tuples(crew, f"match {{ {SAILOR % 'Bo'} $s $m:<mentors> $x }} return {{ $x.name, $m.since }}")

    assert sorted(pupils, key=str) == [("Bo", date(2019, 3, 1)), ("Bo", date(2020, 6, 15)), ("Cy", None)]
    assert sorted(name for name, _ in around) == ["Ana", "Ana", "Bo", "Di", "Di"]


@pytest.mark.parametrize(
    ("clause", "expected"),
    [
        ("$s.age > 30", "Ana Bo Ed"),
        ("$s.age != 34", "Ana Di"),
        ("$s.age = 34.5", ""),
        ("$s.age > 99999999999999999", ""),
        ("$s.age < 99999999999999999", "Ana Bo Di Ed"),
        ("not { $s.age = $s.age }", "Cy"),
        ('$s.tags contains "nav"', "Ana Bo"),
        ('$s.bio contains "ice"', "Ana"),
        ('$s.name starts_with "A"', "Ana"),
        ('$s.bio starts_with "%"', ""),
        ('$s.bio contains ""', "Ana Bo Di Ed"),
        ('"the Ice age" contains $s.bio', "Ed"),
        ("not { $s servesOn $_ }", "Di Ed"),
        ("not { $s mentors $x  $x.age < 30 }", "Ana Cy Di Ed"),
        ("not { $s mentors{2,2} $x }", "Bo Cy Ed"),
        ("not { $s <mentors> $_ }", "Ed"),
        ('not { $s servesOn $h  not { $h.title contains "Sea" } }', "Cy Di Ed"),
        ('not { $s: Sailor { rank: "mate" } }', "Ana Cy Di"),
        ('$s: Sailor { rank: "mate", tags: "nav" }', "Bo"),
        ('$s.id = "Di"', "Di"),
        ("1 = 2", ""),
        ("1 = 1.0", "Ana Bo Cy Di Ed"),
    ],
)
def test_clauses_after_a_binding(crew: Graph, clause: str, expected: str) -> None:
    assert names(crew, f"$s: Sailor {clause}") == expected.split()


def test_null_parameters_match_nothing(crew: Graph) -> None:
    text = "query q($none: I32?) { match { $s: Sailor $s.age = $none } return { $s.name } }"

    assert tuples(crew, text) == tuples(crew, text, none=None) == []
    assert [name for (name,) in tuples(crew, text, none=50)] == ["Ana"]


def test_unconnected_clauses_multiply(crew: Graph) -> None:
    assert len(tuples(crew, "match { $s: Sailor $h: Ship } return { $s.name, $h.hull }")) == 15
    assert tuples(crew, "match { $s: Sailor $h: Ship } return { count($h) as n }") == [(15,)]


def test_rows_are_not_deduplicated(crew: Graph) -> None:
    assert names(crew, "$s: Sailor $s mentors $_") == ["Ana", "Ana", "Bo", "Bo", "Di"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "match { $s: Sailor } return { count($s), count($s.age), sum($s.age), avg($s.age) }",
            [(5, 4, 140.0, 35.0)],
        ),
        (
            "match { $s: Sailor } return { min($s.age), max($s.age), min($s.name), max($s.rank) }",
            [(22, 50, "Ana", "mate")],
        ),
        (
            "match { $s mentors $x } return { $s.name, count($x) as n } order { n desc }",
            [("Ana", 2), ("Bo", 2), ("Di", 1)],
        ),
        (
            "match { $s $m:mentors $x } return { $s.name, count($x) as n, count($m.since) as d } order { $s.name }",
            [("Ana", 3, 2), ("Bo", 2, 2), ("Di", 1, 0)],
        ),
        (
            'match { $s: Sailor { rank: "captain" } $s.age < 10 } return { count($s) as n, avg($s.age) as a }',
            [(0, None)],
        ),
        ('match { $s: Sailor { name: "Zed" } } return { $s.rank, count($s) as n }', []),
        (
            "match { $s: Sailor } return { $s.age, count($s) as n } order { n desc }",
            [(34, 2), (None, 1), (22, 1), (50, 1)],
        ),
        (
            "match { $s: Sailor } return { $s.tags, count($s) as n } order { n }",
            [(None, 1), ([], 1), (["ice"], 1), (["ice", "nav"], 1), (["nav"], 1)],
        ),
        (
            "match { $s mentors $x $x mentors $y } return { $s.name, count($y) as ways } order { $s.name }",
            [("Ana", 2), ("Bo", 3), ("Di", 2)],
        ),
        ("match { $s: Sailor } return { $s.name } order { $s.age }", [("Cy",), ("Di",), ("Bo",), ("Ed",), ("Ana",)]),
        (
            "match { $s: Sailor } return { $s.name } order { $s.age desc }",
            [("Ana",), ("Bo",), ("Ed",), ("Di",), ("Cy",)],
        ),
        ("match { $s: Sailor } return { $s.name } order { $s.age desc } limit 2", [("Ana",), ("Bo",)]),
        ("match { $s: Sailor } return { $s.name as who } order { who desc } limit 1", [("Ed",)]),
        ("match { $s: Sailor } return { $s.name } order { $s.id } limit 0", []),
        (
            'match { $s: Sailor { name: "Ana" } $s $m:mentors $x } return { $x.name, $m.since } order { $s.age }',
            [("Bo", date(2019, 3, 1)), ("Cy", None), ("Bo", date(2020, 6, 15))],
        ),
    ],
)
def test_columns_groups_and_order(crew: Graph, text: str, expected: list[tuple[Any, ...]]) -> None:
    assert tuples(crew, text) == expected


def test_what_can_be_returned(crew: Graph) -> None:
    found = crew.query(
        'query q($p: [I32]) { match { $h: Ship { hull: "S1" } } return { $h, $p, 3, "x" as text, $h.vec, now() } }',
        p=[1, 2],
    )

    assert found.columns == ("h", "p", "literal", "text", "h.vec", "now")
    (row,) = found.rows()
    assert row["h"] == {"id": "S1", "hull": "S1", "title": "Northern Star", "tons": 1200.5, "vec": [1.0, 0.0]}
    assert (row["p"], row["literal"], row["text"], row["h.vec"]) == ([1, 2], 3, "x", [1.0, 0.0])
    assert row["now"].tzinfo is not None


def test_a_result_without_rows_keeps_its_types(crew: Graph) -> None:
    body = "return { $s.name, $s.age, $s.tags, $s, count($s.age) as n }"
    some = crew.query(f"match {{ $s: Sailor }} {body}")
    none = crew.query(f'match {{ $s: Sailor {{ name: "Zed" }} }} {body}')

    assert (len(some), len(none)) == (5, 0)
    assert some.schema.equals(none.schema)
    assert [str(field.type) for field in none.schema][:2] == ["string", "int32"]


def test_a_sum_that_no_float_holds_is_refused(tmp_path: Any) -> None:
    from omnigraph.errors import QueryExecution
    from support.graphs import graph_of, node

    graph = graph_of(str(tmp_path / "big.omni"), "node N { f: F64 }", node("N", f=1.7e308), node("N", f=1.7e308))

    with pytest.raises(QueryExecution, match="query: a sum"):
        graph.query("match { $n: N } return { sum($n.f) as total }")
    assert tuples(graph, "match { $n: N } return { max($n.f) as most }") == [(1.7e308,)]
