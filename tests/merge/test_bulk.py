"""Merges in bulk, on the threads of this process and on Spark, mean what merges in process mean."""

import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import omnigraph
from omnigraph.base.events import EngineChosen
from omnigraph.branches.merge import ways
from omnigraph.engine.choice import EngineChoice, EngineName
from omnigraph.errors import MergeConflicts, OmniError
from omnigraph.graph import Graph
from omnigraph.storage import commit_steps
from omnigraph.writes.exchange import cutting
from support import harbor, many_cells
from support.many_cells import GROUPS
from support.merge_graphs import DIFFERENT, ages, criss_cross, make_graph, set_age
from support.merge_ways import IN_BULK, IN_PROCESS, ON_SPARK, WAYS, copy_of, refusal
from support.raw_tables import publish_unchecked_row

SPARK = pytest.param("on Spark", marks=[pytest.mark.slow, pytest.mark.timeout(900)])
BULK_WAYS = ["in bulk", "in buckets", SPARK]


@pytest.fixture(autouse=True)
def small_buckets(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut even a few rows, on Spark too: every stage of a merge meets other buckets, every table takes some commits."""
    if getattr(request.node, "callspec", None) and request.node.callspec.params.get("way") in (
        "in buckets",
        "on Spark",
    ):
        cut_small(monkeypatch)


def cut_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cutting, "_LONE_ROWS", 0)
    monkeypatch.setattr(cutting, "_BUCKET_ROWS", 40)
    monkeypatch.setattr(commit_steps, "REWRITTEN_ROWS_MAX", 2)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    return many_cells.new_graph(str(tmp_path_factory.mktemp("cells") / "graph.omni"))


@pytest.mark.parametrize("way", ["in process", *BULK_WAYS])
def test_all_pairs_of_operations_merge_as_the_table_says(table: Graph, way: str) -> None:
    outcomes = {"up": "already_up_to_date", "ff": "fast_forward", "ok": "merged"}
    for group, outcome in outcomes.items():
        target = copy_of(table, f"right-{group}", way)

        result = table.branches.merge(f"left-{group}", into=target, engine=WAYS[way])

        found = many_cells.states(table, target)
        assert result.outcome == outcome
        for cell in GROUPS[group]:
            assert found[cell.id] == (cell.right_alone if group == "up" else cell.merged), cell.id
        if group != "up":
            assert result.engine == ("spark" if way == "on Spark" else "local")
            assert table.branches.merge(f"left-{group}", into=target).outcome == "already_up_to_date"


@pytest.mark.parametrize("way", ["in process", *BULK_WAYS])
def test_all_pairs_that_conflict_are_refused_as_the_table_says(table: Graph, way: str) -> None:
    head = table.snapshot("right-conflicts").commit_id

    refused = refusal(table, "left-conflicts", "right-conflicts", WAYS[way])

    assert refused is not None
    branches = ("left-conflicts", "right-conflicts", "main")
    found = many_cells.conflicts_by_cell(table, branches, refused)
    assert found == {cell.id: sorted(cell.conflicts) for cell in GROUPS["conflicts"]}
    assert table.snapshot("right-conflicts").commit_id == head
    right_alone = {cell.id: cell.right_alone for cell in GROUPS["conflicts"]}
    states = many_cells.states(table, "right-conflicts")
    assert {cell: states[cell] for cell in right_alone} == right_alone


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    """Two sides that meet every kind of conflict at once, among rows that both changed in peace."""
    graph = omnigraph.init(str(tmp_path_factory.mktemp("rules") / "graph.omni"), harbor.SCHEMA)
    crew = [harbor.sailor(f"s{number:03d}", age=number, badge=f"b{number}") for number in range(60)]
    ships = [harbor.ship(f"S{number}") for number in range(20)]
    serving = [harbor.edge("ServesOn", f"s{number:03d}", f"S{number}", id=f"e{number}") for number in range(10)]
    graph.load(harbor.lines([*crew, *ships, *serving]), mode="append")
    graph.branches.create("review")
    for branch, value in (("review", 1), ("main", 2)):
        with graph.write(branch=branch) as batch:
            batch.insert("Sailor", [{"name": "both", "rank": "mate", "age": value}])
            batch.update("Sailor", {"age": 70 + value}, ids=["s050", "s051"])
            batch.update("Sailor", {"badge": "same"}, ids=[f"s05{1 + value}"])
            batch.insert("ServesOn", [{"from": "s040", "to": f"S{value}"}])
    with graph.write(branch="review") as batch:
        batch.update("Ship", {"tons": 3.0}, ids=["S15"])
        batch.insert("ServesOn", [{"id": "lost", "from": "s041", "to": "S16"}])
        batch.delete("Ship", ids=["S17"])
        batch.update("Sailor", {"age": 7}, ids=["s010", "s011"])
    with graph.write() as batch:
        batch.delete("Ship", ids=["S15", "S16"])
        batch.insert("ServesOn", [{"id": "stays", "from": "s042", "to": "S17"}])
        batch.update("Sailor", {"age": 8}, ids=["s020"])
    return graph


@pytest.mark.parametrize("way", BULK_WAYS)
def test_conflicts_of_every_kind_are_the_same_words_and_values(broken: Graph, way: str) -> None:
    expected = refusal(broken, "review", "main", IN_PROCESS, show_values=True)

    assert refusal(broken, "review", "main", WAYS[way], show_values=True) == expected
    assert expected is not None
    assert [(found["kind"], found["row_id"]) for found in expected["merge_conflicts"]] == [
        ("divergent_insert", "both"),
        ("divergent_update", "s050"),
        ("divergent_update", "s051"),
        ("delete_vs_update", "S15"),
        ("cardinality_violation", "s040"),
        ("orphan_edge", "stays"),
        ("unique_violation", "s052"),
        ("orphan_edge", "lost"),
    ]


def test_a_row_that_nobody_checked_does_not_pass_a_merge_in_bulk(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    graph.branches.create("review")
    publish_unchecked_row(graph, "review")

    refused = refusal(graph, "review", "main", IN_BULK)

    assert refused is not None
    assert [(found["kind"], found["row_id"]) for found in refused["merge_conflicts"]] == [
        ("value_constraint_violation", "Raw")
    ]
    assert refused == refusal(graph, "review", "main", IN_PROCESS)


def test_all_conflicts_are_counted_and_the_first_thousand_are_kept(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    graph.branches.create("review")
    for branch, age in (("review", 1), ("main", 2)):
        crew = [harbor.sailor(f"new{number:04d}", age=age) for number in range(1_100)]
        graph.load(harbor.lines(crew), mode="append", branch=branch)

    refused = refusal(graph, "review", "main", IN_BULK)

    assert refused is not None
    assert refused["merge_conflicts_total"] == 1_100
    assert [found["row_id"] for found in refused["merge_conflicts"]] == [f"new{number:04d}" for number in range(1_000)]


@pytest.mark.parametrize("way", BULK_WAYS)
def test_values_of_every_type_are_compared_and_carried_over_bit_by_bit(tmp_path: Path, way: str) -> None:
    graph = make_graph(str(tmp_path / "graph.omni"))
    refused = refusal(graph, "review", "main", WAYS[way])
    assert refused is not None
    assert {found["row_id"] for found in refused["merge_conflicts"]} == {f"≠ {name}" for name in DIFFERENT}
    graph.branches.create("more", source="review")
    with graph.write(branch="more") as batch:
        batch.update("Thing", {"payload": b"\x00\xff" * 50_000, "vector": [0.1, 0.2]}, ids=["= bytes"])
        batch.insert("Thing", [{"name": "zero", "number": -0.0, "words": [], "payload": b""}])
    before = graph.snapshot("review").table("Thing").scanner(columns=["name"], with_row_id=True).to_table()
    target = copy_of(graph, "review", way)

    graph.branches.merge("more", into=target, engine=WAYS[way])

    merged, source = (graph.snapshot(name).table("Thing") for name in (target, "more"))
    assert str(merged.to_arrow().sort_by("id").to_pylist()) == str(source.to_arrow().sort_by("id").to_pylist())
    after = merged.scanner(columns=["name"], with_row_id=True).to_table().sort_by("name").to_pylist()
    assert [row for row in after if row["name"] != "zero"] == before.sort_by("name").to_pylist()


@pytest.mark.parametrize("way", BULK_WAYS)
def test_crosswise_merged_branches_merge_in_bulk(tmp_path: Path, way: str) -> None:
    graph = harbor.new_graph(str(tmp_path / "graph.omni"))
    criss_cross(graph)
    graph.branches.create("quarrel", source="one")
    set_age(graph, "one", "Cy", 20)
    set_age(graph, "quarrel", "Ana", 52)
    with graph.write(branch="two") as batch:
        batch.insert("Sailor", [{"name": "Eve", "rank": "mate", "age": 1}])
        batch.delete("Mentors", ids=["m1"])

    refused = refusal(graph, "quarrel", "two", WAYS[way])
    assert refused is not None
    assert [(found["kind"], found["row_id"]) for found in refused["merge_conflicts"]] == [("divergent_update", "Ana")]
    result = graph.branches.merge("one", into="two", engine=WAYS[way])

    assert result.outcome == "merged"
    assert ages(graph, "two") == {"Ana": 51, "Bo": 35, "Cy": 20, "Eve": 1}
    assert graph.snapshot("two").table("Mentors").count_rows() == 1


@pytest.mark.parametrize("changed", [3, 700], ids=["looked up", "picked out of a scan"])
def test_updated_entities_keep_their_row_ids_wherever_the_source_has_them(local_root: str, changed: int) -> None:
    graph = harbor.new_graph(local_root)
    crew = [harbor.sailor(f"s{number:04d}", age=1) for number in range(1_000)]
    graph.load(harbor.lines(crew), mode="append")
    graph.branches.create("review")
    names = [f"s{number:04d}" for number in range(0, 1_000, 1_000 // changed)]
    random.Random(5).shuffle(names)
    with graph.write(branch="review") as batch:
        batch.upsert("Sailor", [{"name": name, "rank": "mate", "age": 2} for name in names])
        batch.insert("Sailor", [{"name": f"a new one {number}", "rank": "mate"} for number in range(5)])
    graph.optimize(branch="review")  # old and new rows lie in one file
    with graph.write() as batch:
        batch.update("Sailor", {"age": 3}, ids=["Bo"])
    before = row_ids(graph)

    result = graph.branches.merge("review", engine=IN_BULK)

    after = row_ids(graph)
    assert [(table.inserted, table.updated) for table in result.tables] == [(5, len(names))]
    assert {name: after[name] for name in before} == before
    assert len(set(after.values())) == len(before) + 5
    ages = graph.snapshot().table("Sailor").to_arrow(["name", "age"]).to_pylist()
    assert {row["name"] for row in ages if row["age"] == 2} == set(names)


def row_ids(graph: Graph) -> dict[str, int]:
    rows = graph.snapshot().table("Sailor").scanner(columns=["name"], with_row_id=True).to_table().to_pylist()
    return {row["name"]: row["_rowid"] for row in rows}


@pytest.mark.parametrize("way", ["in process", "in bulk"])
def test_a_table_that_a_branch_has_never_written_follows_its_parent_without_a_copy(local_root: str, way: str) -> None:
    graph = harbor.new_graph(local_root)
    graph.branches.create("b0")
    graph.branches.create("b1", source="b0")
    with graph.write(branch="b0") as batch:
        batch.update("Sailor", {"age": 1}, ids=["Ana"])

    result = graph.branches.merge("b0", into="b1", engine=WAYS[way])

    assert graph.snapshot("b0").tables == graph.snapshot("b1").tables
    assert [(table.table_key, table.updated) for table in result.tables] == [("node:Sailor", 1)]


def test_a_dry_run_in_bulk_writes_nothing_and_says_what_the_run_does(store_root: str) -> None:
    graph = harbor.new_graph(store_root)
    graph.branches.create("review")
    with graph.write(branch="review") as batch:
        batch.update("Sailor", {"age": 51}, ids=["Ana"])
        batch.delete("Ship", ids=["S1"])
    files = harbor.files_of(graph)

    preview = omnigraph.open(store_root, read_only=True).branches.merge("review", dry_run=True, engine=IN_BULK)

    assert harbor.files_of(graph) == files
    result = graph.branches.merge("review", engine=IN_BULK)
    assert (result.outcome, result.tables) == (preview.outcome, preview.tables)
    assert {table.table_key: (table.updated, table.deleted) for table in result.tables} == {
        "edge:ServesOn": (0, 1),
        "node:Sailor": (1, 0),
        "node:Ship": (0, 1),
    }
    assert graph.snapshot().table("Sailor").to_arrow(["age"], where=[("name", "=", "Ana")])["age"].to_pylist() == [51]


def test_nothing_to_merge_starts_no_engine(local_root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = harbor.new_graph(local_root)
    graph.branches.create("review")
    monkeypatch.setattr(ways, "open_engine", None)

    result = graph.branches.merge("review", engine=ON_SPARK)

    assert (result.outcome, result.engine, result.engine_reason) == (
        "already_up_to_date",
        "local",
        "nothing to compare",
    )


def test_the_size_of_the_changes_decides_the_way_and_not_that_of_the_table(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    crew = [harbor.sailor(f"s{number}", age=1, badge=f"badge {number}") for number in range(5_000)]
    graph.load(harbor.lines(crew), mode="append")
    graph.branches.create("review")
    with graph.write(branch="review") as batch:
        batch.update("Sailor", {"age": 2}, ids=["s7", "s8"])
    graph.optimize(branch="review")  # all files are new now, and three rows are not as they were
    chosen: list[Any] = []
    limited = EngineChoice(engine=EngineName.AUTO, spark_min_bytes=10_000)

    graph.branches.merge("review", dry_run=True, engine=limited, events=chosen.append)

    (event,) = [event for event in chosen if isinstance(event, EngineChosen)]
    assert event.engine == "local"
    assert event.reason.endswith("B, below 9.8 KiB")


NAMES = ("a", "b", "c", "d", "e")
people = st.sampled_from(NAMES)
values = st.integers(0, 2)
changes = st.one_of(
    st.tuples(st.just("person"), people, values),
    st.tuples(st.just("without"), people, values),
    st.tuples(st.just("edge"), st.tuples(people, people), values),
    st.tuples(st.just("named edge"), people, values),
    st.tuples(st.just("without edge"), people, values),
)
RANDOM_SCHEMA = """
node Person { name: String @key  age: I32?  badge: I32? @unique }
edge Knows: Person -> Person @card(0..3) { since: I32? }
"""


def write(graph: Graph, branch: str, change: tuple[str, Any, int]) -> None:
    """Carry out one random change; one that the graph refuses is none."""
    what, who, value = change
    try:
        with graph.write(branch=branch) as batch:
            if what == "person":
                batch.upsert("Person", [{"name": who, "age": value, "badge": random.Random(who).choice((None, value))}])
            elif what == "without":
                batch.delete("Person", ids=[who])
            elif what == "edge":
                batch.insert("Knows", [{"from": who[0], "to": who[1], "since": value}])
            elif what == "named edge":
                batch.upsert("Knows", [{"id": f"k{value}", "from": who, "to": "a", "since": value}])
            else:
                batch.delete("Knows", ids=[f"k{value}"])
    except OmniError:
        pass


@pytest.fixture(scope="module")
def random_graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    graph = omnigraph.init(str(tmp_path_factory.mktemp("random") / "graph.omni"), RANDOM_SCHEMA)
    with graph.write() as batch:
        batch.insert("Person", [{"name": name, "age": 0} for name in NAMES[:3]])
        batch.insert("Knows", [{"id": "k0", "from": "b", "to": "a", "since": 0}])
    return graph


@settings(max_examples=10, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(left=st.lists(changes, min_size=1, max_size=5), right=st.lists(changes, max_size=5))
def test_random_branches_merge_alike_in_process_and_in_bulk(
    random_graph: Graph, left: list[tuple[str, Any, int]], right: list[tuple[str, Any, int]]
) -> None:
    graph = random_graph
    run = len(graph.branches.list())
    source, target = graph.branches.create(f"source{run}"), graph.branches.create(f"target{run}")
    for branch, side in ((source, left), (target, right)):
        for change in side:
            write(graph, branch, change)
    found = []
    for way, choice in (("in process", IN_PROCESS), ("in bulk", IN_BULK), ("in buckets", IN_BULK)):
        into = copy_of(graph, target, way)
        with pytest.MonkeyPatch.context() as patched:
            if way == "in buckets":
                cut_small(patched)
                patched.setattr(cutting, "_BUCKET_ROWS", 2)
            try:
                result = graph.branches.merge(source, into=into, engine=choice)
                outcome: object = (result.outcome, result.tables)
            except MergeConflicts as conflicts:
                outcome = conflicts.details
        found.append((outcome, harbor.content(graph, branch=into)))

    assert found[0] == found[1] == found[2]
