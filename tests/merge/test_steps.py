"""A table that gets many rows at once takes several commits of Lance's: the graph shows one change, and all of it."""

from collections import Counter

import pytest

from omnigraph.graph import Graph
from omnigraph.manifest.snapshot import TablePin
from omnigraph.storage import commit_steps
from omnigraph.storage.commit_steps import in_steps
from support import harbor
from support.leftovers import clean_up, find_leftovers
from support.merge_ways import IN_BULK, IN_PROCESS
from support.raw_tables import dataset_of

CREW = 300
UPDATED = 120
DELETED = 30
INSERTED = 25


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commit_steps, "REWRITTEN_ROWS_MAX", 20)


@pytest.mark.parametrize(
    ("rows", "steps"),
    [
        ([], [0]),
        ([20], [20]),
        ([21], [21]),
        ([10, 10, 10], [20, 10]),
        ([20] * 3, [20, 20, 20]),
        ([20] * 64, [80] * 16),
        ([10**6, 1], [10**6, 1]),
    ],
    ids=str,
)
def test_files_are_divided_among_sixteen_commits_at_most(rows: list[int], steps: list[int]) -> None:
    assert [sum(step) for step in in_steps(rows, rows)] == steps


def two_sides(uri: str) -> Graph:
    """A graph whose branch `review` updated, removed and added sailors, while another one changed on `main`."""
    names = [f"s{number:03d}" for number in range(CREW)]
    graph = harbor.new_graph(uri, [harbor.sailor(name, age=number) for number, name in enumerate(names)])
    graph.branches.create("review")
    graph.branches.create("trial")
    with graph.write(branch="review") as batch:
        batch.upsert("Sailor", [{"name": name, "rank": "captain"} for name in reversed(names[:UPDATED])])
        batch.delete("Sailor", ids=names[UPDATED : UPDATED + DELETED])
        batch.insert("Sailor", [{"name": f"new{number}", "rank": "mate"} for number in range(INSERTED)])
    with graph.write() as batch:
        batch.update("Sailor", {"age": 77}, ids=[names[-1]])
    return graph


def sailors(graph: Graph, branch: str) -> TablePin:
    return next(pin for pin in graph.snapshot(branch).tables if pin.type_name == "Sailor")


def operations(graph: Graph, branch: str) -> Counter[tuple[str, str]]:
    """Count what the newest commit of a branch did, as the change feed tells it."""
    commit = graph.commits(branch, limit=1)[0].graph_commit_id
    return Counter((change.op, change.type.name) for change in graph.changes.of_commit(commit))


@pytest.mark.parametrize("target", ["main", "trial"], ids=["own table", "first touch"])
def test_a_merge_in_steps_is_one_change_with_its_history_as_if_it_had_been_one(local_root: str, target: str) -> None:
    graph = two_sides(local_root)
    beside = graph.branches.create(f"beside-{target}", source=target)
    pin = sailors(graph, target)
    ids = {row["name"]: row["_rowid"] for row in rows(graph, target)}

    result = graph.branches.merge("review", into=target, engine=IN_BULK)

    graph.branches.merge("review", into=beside, engine=IN_PROCESS)
    assert sailors(graph, target).version - pin.version == -(-(UPDATED + INSERTED) // 20)
    assert [(table.inserted, table.updated, table.deleted) for table in result.tables] == [(INSERTED, UPDATED, DELETED)]
    assert harbor.content(graph, branch=target) == harbor.content(graph, branch=beside)
    assert operations(graph, target) == operations(graph, beside)
    assert operations(graph, target).total() == UPDATED + INSERTED + DELETED
    after = rows(graph, target)
    kept = {row["name"]: row["_rowid"] for row in after if row["name"] in ids}
    assert kept == {name: ids[name] for name in kept}
    made = {row["name"]: row["_row_created_at_version"] for row in after}
    assert {made[name] for name in kept} == {made["s299"]}, "what was updated is as old as what was not"
    assert min(version for name, version in made.items() if name not in ids) > pin.version
    assert graph.verify(deep=True, all_branches=True).problems == ()


def rows(graph: Graph, branch: str) -> list[dict[str, object]]:
    columns = ["name", "_row_created_at_version"]
    found = graph.snapshot(branch).table("Sailor").scanner(columns=columns, with_row_id=True).to_table().to_pylist()
    return list(found)


def test_a_table_whose_every_row_is_replaced_loses_its_old_files_in_the_last_step(local_root: str) -> None:
    graph = harbor.new_graph(local_root, [harbor.sailor(f"s{number:03d}") for number in range(CREW)])
    graph.branches.create("review")
    with graph.write(branch="review") as batch:
        batch.update("Sailor", {"age": 5}, where=[])
    with graph.write() as batch:
        batch.insert("Note", [{"text": "so that the branch does not only follow"}])
    pin = sailors(graph, "main")

    graph.branches.merge("review", engine=IN_BULK)

    assert sailors(graph, "main").version - pin.version == CREW // 20
    assert set(operations(graph, "main")) == {("update", "Sailor")}
    assert {row["_row_created_at_version"] for row in rows(graph, "main")} == {pin.version}
    assert graph.snapshot().table("Sailor").to_arrow(["age"])["age"].to_pylist() == [5] * CREW


def test_states_in_between_are_nobodys_and_cleanup_removes_them(local_root: str) -> None:
    graph = two_sides(local_root)
    graph.branches.merge("review", engine=IN_BULK)
    graph.branches.delete("review")
    graph.branches.delete("trial")
    content, pin = harbor.content(graph), sailors(graph, "main")
    graph.optimize()

    clean_up(graph)

    left = {entry["version"] for entry in dataset_of(graph, sailors(graph, "main")).versions()}
    assert min(left) >= pin.version
    assert harbor.content(graph) == content
    assert find_leftovers(graph) == []


def test_a_large_load_that_updates_rows_takes_steps_too(local_root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("omnigraph.pipeline.load.inputs.IN_MEMORY_BYTES_MAX", -1)
    graph = harbor.new_graph(local_root, [harbor.sailor(f"s{number:03d}", age=1) for number in range(CREW)])
    pin = sailors(graph, "main")

    changed = [harbor.sailor(f"s{number:03d}", age=2) for number in range(UPDATED)]
    graph.load(harbor.lines([*changed, harbor.sailor("new")]), mode="merge")

    assert sailors(graph, "main").version - pin.version == -(-(UPDATED + 1) // 20)
    assert operations(graph, "main") == {("update", "Sailor"): UPDATED, ("insert", "Sailor"): 1}
    assert {row["_row_created_at_version"] for row in rows(graph, "main") if row["name"] != "new"} == {pin.version}
