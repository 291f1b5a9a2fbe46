"""Variables that nothing connects: their rows are made in blocks, and too many of them are refused by name."""

from typing import Any

import pyarrow as pa
import pytest

import omnigraph
from omnigraph.errors import ResourceLimit
from omnigraph.graph import Graph
from omnigraph.query.run import products
from support.sailing import crew_graph

READS = [
    "match { $s: Sailor  $h: Ship } return { $s.name, $h.hull }",
    "match { $s: Sailor  $h: Ship } return { $s.name, $h.hull } order { $h.title desc, $s.age }",
    "match { $s: Sailor  $h: Ship } return { $s.name, $h.hull } order { $h.title desc, $s.age } limit 4",
    "match { $a: Sailor  $b: Sailor  $a.age > $b.age } return { $a.name, $b.name } order { $a.name, $b.name }",
    "match { $a: Sailor  $b: Sailor  $a.age = 7  $a.age > $b.age } return { $a.name, $b.name }",
    "match { $a: Sailor  $b: Sailor  $c: Ship  $a.age = $b.age } return { $a.name, $b.name, $c.hull }",
    "match { $a: Sailor  $b: Sailor  $a.age >= $b.age } return { $a.rank, count($b) as n, avg($b.age) } order { n }",
    "match { $a: Sailor  $b: Sailor  $h: Ship  $b servesOn $h } return { $a.name, $h.hull, $b.name }",
    "match { $s: Sailor  not { $s.age = $s.age  $a: Sailor  $b: Ship  $a.age > $b.tons } } return { $s.name }",
    "match { $a: Sailor  $b: Sailor  not { $a mentors $b } } return { $a.name, $b.name }",
    "match { $a: Sailor  $h: Ship } return { $a.name } order { nearest($h.vec, [1.0, 0.0]), $a.name } limit 4",
]


@pytest.fixture(scope="module")
def crew(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    return crew_graph(str(tmp_path_factory.mktemp("crew") / "crew.omni"))


def answer(graph: Graph, text: str) -> list[str]:
    rows = list(map(repr, graph.query(text).rows()))
    return rows if "order" in text else sorted(rows)


@pytest.mark.parametrize("text", READS)
@pytest.mark.parametrize("block", [1, 4, 7])
def test_blocks_of_any_size_give_the_same_rows(
    crew: Graph, monkeypatch: pytest.MonkeyPatch, text: str, block: int
) -> None:
    expected = answer(crew, text)

    monkeypatch.setattr(products, "BLOCK_ROWS", block)

    assert answer(crew, text) == expected
    analyzed = crew.explain(text, analyze=True)
    assert analyzed.rows == len(expected)


def test_no_more_blocks_are_made_than_a_limit_needs(crew: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    met = products._met
    monkeypatch.setattr(products, "_met", lambda *given: made.append(1) or met(*given))
    monkeypatch.setattr(products, "BLOCK_ROWS", 3)

    assert len(answer(crew, "match { $s: Sailor  $h: Ship } return { $s.name, $h.hull } limit 6")) == 6
    assert len(made) == 2


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    graph = omnigraph.init(str(tmp_path_factory.mktemp("many") / "g.omni"), "node N { k: String @key  v: I32 }")
    rows: Any = {"k": [f"n{number}" for number in range(12_000)], "v": pa.array(range(12_000), pa.int32())}
    graph.load_table(pa.table(rows), type="N", mode="append")
    return graph


def test_what_is_too_large_to_list_is_refused_with_its_size(many: Graph) -> None:
    with pytest.raises(ResourceLimit) as refused:
        many.query("match { $a: N  $b: N } return { $a.k, $b.k }")

    message = refused.value.message
    assert [word for word in ("$a and $b", "144,000,000 rows", "a limit", "count") if word not in message] == []
    assert refused.value.details == {"resource": "query_rows", "limit": 100_000_000, "actual": 144_000_000}
    text = "match { $a: N  $b: N } return { $a.k as a, $b.k as b }"
    assert len(many.query(f"{text} limit 3")) == 3
    assert many.query("match { $a: N  $b: N } return { count($a) as n }").rows() == [{"n": 144_000_000}]


def test_what_conditions_leave_of_it_is_found(many: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    few = "match { $a: N  $b: N  $a.v < 100  $a.v = $b.v } return { count($a) as n, max($b.v) as v }"
    assert many.query(few).rows() == [{"n": 100, "v": 99}]

    monkeypatch.setattr(products, "ROWS_MAX", 1_000)
    assert many.query(few).rows() == [{"n": 100, "v": 99}]
    with pytest.raises(ResourceLimit, match="nothing narrows down"):
        many.query("match { $a: N  $b: N  $a.v < 200  $a.v < $b.v } return { $a.k }")


def test_very_many_variables_that_nothing_connects_are_refused_within_some_memory(
    crew: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every product holds a block while the ones behind it are made: blocks have so many values, not so many rows."""
    held: list[int] = []
    met = products._met

    def watched(*given: Any) -> Any:
        block = met(*given)
        held.append(block.count * len(block.columns))
        return block

    monkeypatch.setattr(products, "_met", watched)
    monkeypatch.setattr(products, "BLOCK_VALUES", 1_000)
    pattern = " ".join(f"$s{number}: Sailor" for number in range(60))

    with pytest.raises(ResourceLimit, match="nothing connects its variables") as refused:
        crew.query(f"match {{ {pattern} }} return {{ $s0.name }} limit 1")

    assert refused.value.details["resource"] == "query_products"
    assert max(held) <= 1_000
