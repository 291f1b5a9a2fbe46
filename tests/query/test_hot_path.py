"""What keeps small queries fast: little is called for them, and what is at hand is neither lost nor kept too long."""

import gc
import pickle
import sys
import weakref
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import omnigraph
from omnigraph.errors import BranchNotFound
from omnigraph.graph import Graph
from omnigraph.query.check import check_query
from omnigraph.query.choosing import choose_query
from omnigraph.query.image.shelf import Shelf
from omnigraph.query.plan.liveness import read_later
from omnigraph.query.plan.planner import plan_read
from omnigraph.query.run.arrays import WIDTHS, is_among, maker_of_one
from support.sailing import crew_graph

BY_KEY = "query q($k: String) { match { $s: Sailor { name: $k } } return { $s.name, $s.age } }"
ONE_HOP = "query q($k: String) { match { $s: Sailor { name: $k } $s mentors $x } return { $x.name } }"


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return crew_graph(str(tmp_path / "crew.omni"))


class Block:
    """Something of a size, to be kept on a shelf."""

    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes


def calls_of(work: Callable[[], object]) -> Counter[str]:
    """Count the Python functions that work calls, once everything is known."""
    for _ in range(3):
        work()
    calls: Counter[str] = Counter()

    def note(frame: Any, event: str, _: object) -> None:
        if event == "call":
            calls[f"{frame.f_code.co_filename}:{frame.f_code.co_name}"] += 1

    gc.collect()
    gc.disable()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
        gc.enable()
    return calls


# --- how much is called


def test_a_question_about_one_key_calls_little(graph: Graph) -> None:
    snapshot = graph.snapshot()

    by_key = calls_of(lambda: snapshot.query(BY_KEY, k="Ana").to_arrow())
    one_hop = calls_of(lambda: snapshot.query(ONE_HOP, k="Ana").to_arrow())

    assert by_key.total() <= 32, by_key
    assert one_hop.total() <= 31, one_hop


def test_an_unchanged_head_costs_few_calls_more(graph: Graph) -> None:
    graph.branches.create("trial")

    on_main = calls_of(lambda: graph.query(BY_KEY, k="Ana").to_arrow())
    on_branch = calls_of(lambda: graph.query(BY_KEY, k="Ana", branch="trial").to_arrow())
    prepared = graph.prepare(BY_KEY)
    again = calls_of(lambda: prepared.run(k="Ana").to_arrow())

    assert on_main.total() <= 46, on_main
    assert on_branch.total() <= 48, on_branch
    assert again.total() <= 47, again


def test_nothing_is_imported_on_the_way(graph: Graph) -> None:
    calls = calls_of(lambda: graph.query(ONE_HOP, k="Ana").to_arrow())

    assert not [call for call in calls if "importlib" in call]


# --- heads


def test_a_head_is_the_same_snapshot_until_somebody_commits(graph: Graph) -> None:
    reader = omnigraph.open(graph.uri)
    reader.query(BY_KEY, k="Ana")
    before = reader._heads.newest("main")
    assert reader._heads.newest("main") is before

    graph.mutate('query q() { update Sailor set { age: 77 } where name = "Ana" }')

    assert reader.query(BY_KEY, k="Ana").rows()[0]["s.age"] == 77
    assert reader._heads.newest("main") is not before


def test_a_branch_that_is_made_again_is_another_one(graph: Graph) -> None:
    reader = omnigraph.open(graph.uri)
    graph.branches.create("trial")
    graph.mutate('query q() { update Sailor set { age: 78 } where name = "Ana" }', branch="trial")
    assert reader.query(BY_KEY, k="Ana", branch="trial").rows()[0]["s.age"] == 78

    graph.branches.delete("trial")
    with pytest.raises(BranchNotFound):
        reader.query(BY_KEY, k="Ana", branch="trial")
    graph.branches.create("trial")

    expected = graph.query(BY_KEY, k="Ana").rows()
    assert reader.query(BY_KEY, k="Ana", branch="trial").rows() == expected


# --- what is at hand


def test_what_is_at_hand_counts_as_used() -> None:
    shelf = Shelf(300)
    hot = shelf.get("hot", lambda: Block(100))
    shelf.get("cold", lambda: Block(100))
    at_hand = shelf.new_shortcuts()
    shelf.keep_at_hand(at_hand, "mine", lambda: hot)

    shelf.get("more", lambda: Block(200))

    assert shelf.find("hot") is hot
    assert shelf.find("cold") is None


def test_what_the_shelf_takes_off_is_at_hand_no_more() -> None:
    shelf = Shelf(100)
    at_hand = shelf.new_shortcuts()
    gone = weakref.ref(shelf.keep_at_hand(at_hand, "mine", lambda: shelf.get("a", lambda: Block(100))))

    newest = shelf.get("b", lambda: Block(100))

    assert not at_hand
    assert gone() is None
    assert shelf.find("b") is newest


def test_what_went_while_it_was_found_is_not_kept() -> None:
    shelf = Shelf(100)
    at_hand = shelf.new_shortcuts()

    def find() -> Block:
        found = shelf.get("a", lambda: Block(100))
        shelf.get("b", lambda: Block(100))
        return found

    shelf.keep_at_hand(at_hand, "mine", find)

    assert not at_hand


# --- what comes out


@pytest.mark.parametrize("kind", [*WIDTHS, pa.bool_(), pa.string(), pa.list_(pa.int32())], ids=str)
def test_one_value_as_an_array(kind: pa.DataType) -> None:
    values: list[Any] = [0, 1, 2**31 - 1, None]
    if kind == pa.string():
        values = ["", "é", "x" * 300, None]
    elif kind == pa.bool_():
        values = [True, False, None]
    elif pa.types.is_list(kind):
        values = [[], [1, None], None]
    elif pa.types.is_floating(kind):
        values = [0.5, -2.0, None]
    make = maker_of_one(kind)

    for value in values:
        made = make(value)
        made.validate(full=True)
        assert made.equals(pa.array([value], kind))


def test_a_row_takes_no_column_along(tmp_path: Path) -> None:
    graph = omnigraph.init(str(tmp_path / "g.omni"), "node P { name: String @key  text: String }")
    graph.load_table(
        pa.table({"name": [f"p{n}" for n in range(20_000)], "text": ["x" * 20] * 20_000}), type="P", mode="append"
    )

    found = graph.query('match { $p: P { name: "p7" } } return { $p.name, $p.text }').to_arrow()

    assert found.to_pylist() == [{"p.name": "p7", "p.text": "x" * 20}]
    assert len(pickle.dumps(found)) < 5_000
    assert found.get_total_buffer_size() < 1_000


def test_variables_that_nobody_reads_again(graph: Graph) -> None:
    catalog = graph.snapshot().catalog
    text = 'match { $a: Sailor { name: "Ana" } $a mentors $b $b mentors $c $c mentors $d } return { $d.name, $b.age }'
    chosen = choose_query(text, verb="query")
    read = check_query(chosen.syntax, catalog, source=chosen.source)

    later = read_later(plan_read(read, lambda _: 10))  # type: ignore[arg-type]  # it is a read

    assert ["".join(sorted(names)) for names in later] == ["abcd", "bcd", "bcd", "bd"]


def test_what_stands_behind_the_last_one_is_not_among_them() -> None:
    assert is_among(np.array([0, 3, 9, 5]), np.array([3, 5])).tolist() == [False, True, False, True]
    assert is_among(np.array([1, 2]), np.zeros(0, np.int64)).tolist() == [False, False]
