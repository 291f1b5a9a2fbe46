"""Reads at the edges of what can be asked: ends that are known both, counts without end, values that nothing holds."""

from pathlib import Path

import pytest

from omnigraph.errors import HistoricalVersionReclaimed, InvalidTarget, ParamError, QueryExecution
from omnigraph.graph import Graph
from omnigraph.query.asking import Asking
from omnigraph.query.sql.answers import answer_with_duckdb
from support.graphs import graph_of, node
from support.sailing import change, crew_graph

NAMES = ("Ana", "Bo", "Cy", "Di", "Ed")


@pytest.fixture(scope="module")
def crew(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    return crew_graph(str(tmp_path_factory.mktemp("crew") / "g.omni"))


def names(crew: Graph, clauses: str) -> list[str]:
    return sorted(row["x.name"] for row in crew.query(f"match {{ {clauses} }} return {{ $x.name }}"))


@pytest.mark.parametrize("word", ["mentors{1,2}", "mentors{2,3}", "<mentors>{1,2}", "<mentors>{1,3}", "<mentors>{2,2}"])
def test_a_bounded_traversal_between_known_ends_finds_what_it_finds_from_one(crew: Graph, word: str) -> None:
    for start in NAMES:
        left = f'$s: Sailor {{ name: "{start}" }}'
        reached = names(crew, f"{left}  $s {word} $x")
        pupils = names(crew, f"{left}  $s mentors $x")

        assert [end for end in NAMES if names(crew, f'{left}  $x: Sailor {{ name: "{end}" }}  $s {word} $x')] == reached
        assert names(crew, f"{left}  $s mentors $x  $s {word} $x") == sorted({*reached} & {*pupils})


def test_a_count_that_no_integer_holds_is_an_error(crew: Graph) -> None:
    strangers = " ".join(f"$v{place}: Sailor" for place in range(29))

    for columns in ("count($v1) as n", "$v0.name, count($v1) as n"):
        with pytest.raises(QueryExecution, match=r"^query: a count"):
            crew.query(f"match {{ {strangers} }} return {{ {columns} }}")


def test_a_large_count_is_exact(crew: Graph) -> None:
    strangers = " ".join(f"$v{place}: Sailor" for place in range(26))

    rows = crew.query(f"match {{ {strangers} }} return {{ $v0.name, count($v1) as n }}").rows()

    assert {row["n"] for row in rows} == {5**25}


def test_a_match_without_variables_is_one_row_or_none(crew: Graph) -> None:
    assert [row["n"] for row in crew.query('match { 1 = 1 } return { count("x") as n }')] == [1]
    assert [row["n"] for row in crew.query('match { 1 = 2 } return { count("x") as n }')] == [0]
    assert [row["literal"] for row in crew.query("match { 1 = 1 } return { 5 }")] == [5]


@pytest.mark.parametrize("declared", ["I64", "F64", "String", "[I64]"])
def test_a_number_of_thousands_of_digits_is_refused_by_name(crew: Graph, declared: str) -> None:
    given = [10**5000] if declared == "[I64]" else 10**5000
    text = f"query q($n: {declared}) {{ match {{ $s: Sailor }} return {{ $n }} }}"

    with pytest.raises(ParamError, match=r"\$n"):
        crew.query(text, n=given)
    with pytest.raises(ParamError, match=r"\$n"):
        crew.query(text, n={"deep": 10**5000})


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ("[-1, 18446744073709551615]", [-1.0, 18446744073709551615.0]),
        ("[0.5, 9007199254740993]", [0.5, 9007199254740992.0]),
        ("[1, 18446744073709551615]", [1, 18446744073709551615]),
    ],
)
def test_a_list_of_numbers_has_the_type_that_holds_them_all(crew: Graph, written: str, found: list[float]) -> None:
    (row,) = crew.query(f"match {{ $s: Sailor }} return {{ {written} as many }} limit 1")

    assert row["many"] == found


@pytest.mark.parametrize("listed", [[], ["mate"], ["captain", "mate", "nobody"]])
@pytest.mark.parametrize("name", ["rank", "bio", "name", "id"])
def test_one_of_many_texts_is_one_that_equals_any(crew: Graph, name: str, listed: list[str]) -> None:
    values = listed if name == "rank" else [*listed, "Ana", "Ice"]
    text = f"query q($many: [String]) {{ match {{ $s: Sailor $many contains $s.{name} }} return {{ $s.id as id }} }}"
    every = crew.query(f"match {{ $s: Sailor }} return {{ $s.id as id, $s.{name} as value }}").rows()

    found = crew.query(text, many=values)

    assert {row["id"] for row in found} == {row["id"] for row in every if row["value"] in values}


def test_what_is_no_text_is_no_query(crew: Graph) -> None:
    for text, name in ((["match"], None), (b"match", None), ("match { $s: Sailor } return { $s.name }", ["q"])):
        with pytest.raises(InvalidTarget, match="not"):
            crew.query(text, name)  # type: ignore[call-overload]


def answers_of_duckdb(crew: Graph, text: str, **values: object) -> list[dict[str, object]]:
    snapshot = crew.snapshot()
    found: list[dict[str, object]] = answer_with_duckdb(
        snapshot, Asking().asked(snapshot, text, None, values)
    ).to_pylist()
    return found


@pytest.mark.parametrize("text", ["match { 1 = 1 } return { 5 }", 'match { 1 = 2 } return { count("x") as n }'])
def test_a_match_without_variables_is_the_same_in_sql(crew: Graph, text: str) -> None:
    assert answers_of_duckdb(crew, text) == crew.query(text).rows()


def test_a_traversal_of_any_length_ends_and_sql_says_where_it_does_not(crew: Graph) -> None:
    text = "match { $s mentors{1,99999999999} $x } return { $s.name, $x.name } order { $s.name, $x.name }"
    few = text.replace("99999999999", "9")

    assert crew.query(text).rows() == crew.query(few).rows() == answers_of_duckdb(crew, few)
    with pytest.raises(QueryExecution, match=r"^query: Mentors is followed for up to 99999999999 hops"):
        answers_of_duckdb(crew, text)


MEASURES = """
node Measure {
    name: String @key
    much: F64?
    day: Date?
    days: [Date]?
    at: DateTime?
    times: [DateTime]?
    small: [F32]?
}
"""


@pytest.fixture(scope="module")
def measures(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    uri = str(tmp_path_factory.mktemp("measures") / "g.omni")
    now = "2020-01-01T10:00:00Z"
    one = node("Measure", name="a", much=1e308, day="2020-01-01", days=["2020-01-01"], at=now, times=[now], small=[0.5])
    return graph_of(uri, MEASURES, one, node("Measure", name="b", much=1e308, day="2020-01-02", days=[]))


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ('$m.days contains date("2020-01-01")', ["a"]),
        ("$m.days contains $m.day", ["a"]),
        ('[date("2020-01-02")] contains $m.day', ["b"]),
        ('$m.times contains datetime("2020-01-01T10:00:00Z")', ["a"]),
        ("$m.times contains $m.at", ["a"]),
        ("$m.small contains 0.5", ["a"]),
        (f"$m.small contains {'9' * 60}.0", []),
    ],
)
def test_members_of_lists_are_found_the_same_in_sql(measures: Graph, condition: str, found: list[str]) -> None:
    text = f"match {{ $m: Measure  {condition} }} return {{ $m.name }}"

    assert [row["m.name"] for row in measures.query(text)] == found
    assert [row["m.name"] for row in answers_of_duckdb(measures, text)] == found


@pytest.mark.parametrize("function", ["sum", "avg"])
def test_a_sum_that_no_float_holds_is_an_error_in_sql_too(measures: Graph, function: str) -> None:
    text = f"match {{ $m: Measure }} return {{ {function}($m.much) as much }}"

    for answer in (measures.query, lambda asked: answers_of_duckdb(measures, asked)):
        with pytest.raises(QueryExecution, match=r"^query: a sum"):
            answer(text)


def test_a_state_that_cleanup_took_is_named_by_its_type(tmp_path: Path) -> None:
    graph = crew_graph(str(tmp_path / "g.omni"))
    change(graph, 'update Sailor set { age: 35 } where name = "Bo"')
    graph.optimize()
    graph.cleanup(keep=1, confirm=True)

    with pytest.raises(HistoricalVersionReclaimed, match="node:Sailor") as caught:
        graph.query("match { $s: Sailor } return { $s.name }", snapshot="main~2")

    assert caught.value.details["table_key"] == "node:Sailor"


def test_a_node_of_an_algorithm_is_two_texts(crew: Graph) -> None:
    for odd in (("Sailor", 5), ("Sailor",), "Sailor"):
        with pytest.raises(InvalidTarget, match="A node is"):
            crew.algorithms().shortest_path(odd, ("Sailor", "Di"))  # type: ignore[arg-type]
