"""Reads at the edges of what can be asked: ends that are known both, counts without end, values that nothing holds."""

import pytest

from omnigraph.errors import InvalidTarget, ParamError, QueryExecution
from omnigraph.graph import Graph
from support.sailing import crew_graph

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


def test_what_is_no_text_is_no_query(crew: Graph) -> None:
    for text, name in ((["match"], None), (b"match", None), ("match { $s: Sailor } return { $s.name }", ["q"])):
        with pytest.raises(InvalidTarget, match="not"):
            crew.query(text, name)  # type: ignore[call-overload]
