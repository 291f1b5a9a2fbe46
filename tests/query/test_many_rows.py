"""What is done differently with many rows: the result is that of doing it plainly."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import omnigraph
from omnigraph.graph import Graph
from omnigraph.query.run import arrays, blocks, execute
from omnigraph.query.run import weights as sums
from omnigraph.query.run.arrays import smallest
from omnigraph.query.run.weights import added_within

KINDS = [np.int32, np.uint64, np.float64, np.bool_]


@given(st.lists(st.integers(0, 9), min_size=40, max_size=200), st.integers(1, 9), st.sampled_from(KINDS), st.booleans())
def test_the_smallest_are_the_smallest(values: list[int], count: int, kind: Any, has_nan: bool) -> None:
    given_values = np.array(values).astype(kind)
    if has_nan and kind is np.float64:
        given_values[::3] = np.nan
    known = np.sort(given_values)[count - 1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrays, "_BLOCK", 2)

        assert smallest(given_values, count).tolist() == np.flatnonzero(given_values <= known).tolist()


@pytest.mark.parametrize("largest", [1, 200, 70_000, 1 << 31, 1 << 40, (1 << 62) // 4])
def test_weights_are_added_exactly(largest: int) -> None:
    offsets = np.array([0, 2, 2, 5, 6])
    places = np.array([0, 1, 1, 2, 0, 2], np.int32)
    weights = np.array([largest, 1, 0], np.int64)

    assert added_within(offsets, places, weights).tolist() == [largest + 1, 0, 1 + largest, 0]


@given(
    st.lists(st.integers(0, 40), max_size=12),
    st.sampled_from([0, 1, 31, 32, 255, 16_383, 16_384, 1 << 31]),
    st.integers(0, 1 << 30),
)
def test_weights_are_added_whatever_their_size_is(counts: list[int], largest: int, seed: int) -> None:
    """Lists begin and end anywhere in a word, and whole words are full of the largest that fits."""
    chance = np.random.default_rng(seed)
    weights = np.concatenate((np.array([largest]), chance.integers(0, largest + 1, 4)))
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(np.array(counts, np.int64))))
    places = (chance.integers(0, 5, offsets[-1]) * chance.integers(0, 2)).astype(np.int32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sums, "_AT_ONCE", 16)

        found = added_within(offsets, places, weights)

    expected = [int(weights[places[begin:end]].sum()) for begin, end in itertools.pairwise(offsets.tolist())]
    assert found.tolist() == expected


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    graph = omnigraph.init(
        str(tmp_path_factory.mktemp("people") / "g.omni"),
        "node Person { name: String @key  age: I32?  city: String? }\nedge Knows: Person -> Person { since: I32? }",
    )
    chance = np.random.default_rng(2)
    with graph.write() as batch:
        batch.insert(
            "Person",
            [
                {
                    "name": f"p{number}",
                    "age": None if number % 9 == 0 else int(chance.integers(0, 6)),
                    "city": None if number % 7 == 0 else f"c{number % 3}",
                }
                for number in range(40)
            ],
        )
        pairs = chance.integers(0, 40, (260, 2)).tolist()
        batch.insert("Knows", [{"from": f"p{a}", "to": f"p{b}", "since": (a + b) % 4} for a, b in pairs])
    return graph


READS = [
    "match { $a: Person $a knows $b $b knows $c $c knows $a } return { count($a) as n }",
    "match { $a: Person $a knows $b $b knows $c $c knows $a } return { $a.name, $b.name, $c.name }",
    "match { $a $m:knows $b  $b $n:knows $c  $c $o:knows $a  $m.since = $o.since } return { $a.name, $n.since }",
    "match { $a: Person $a knows $b $b.age > $a.age $b <knows> $c  $c.city = $a.city } return { $a.name, $c.name }",
    "match { $a: Person $a knows $b not { $b knows $a } $b knows $c $c.age < 3 } return { $a.city, count($c) as n }",
    'match { $a: Person { name: "p1" } $a knows $b $b knows $c $c knows $a } return { $b.name, $c.name }',
]


@pytest.mark.parametrize("read", READS)
def test_blocks_give_what_all_rows_at_once_give(people: Graph, read: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = sorted(map(str, people.query(read).rows()))
    monkeypatch.setattr(execute, "MANY", 2)
    monkeypatch.setattr(blocks, "_BLOCK", 8)
    monkeypatch.setattr(blocks, "_BLOCK_MIN", 1)

    assert sorted(map(str, people.query(read).rows())) == expected
    assert expected


@pytest.mark.parametrize("order", ["$a.age", "$a.age desc", "$a.city desc, $a.age", "$a.city, $a.name desc", "$a.name"])
@pytest.mark.parametrize("rest", ["", "$a knows $b"])
def test_a_narrowed_order_is_the_whole_order(
    people: Graph, order: str, rest: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from omnigraph.query.run import ordering

    body = f"match {{ $a: Person {rest} }} return {{ $a.name, $a.age }} order {{ {order} }}"
    everything = people.query(body).rows()
    monkeypatch.setattr(ordering, "_NARROWED_MIN", 1)
    monkeypatch.setattr(arrays, "_BLOCK", 2)

    for limit in (0, 1, 3, 8, 30):
        assert people.query(f"{body} limit {limit}").rows() == everything[:limit]
