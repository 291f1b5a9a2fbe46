"""Every pair of operations on two branches: the outcome, the conflicts and the state are exactly those of the table."""

import io
import json

import pytest

import omnigraph
from omnigraph.errors import MergeConflicts
from omnigraph.graph import Graph
from support.merge_pairs import BASE, CELLS, LEFT_VALUE, OPERATIONS, PEOPLE, SCHEMA, Cell, State

MIRRORED = {"ff": "up", "up": "ff"}


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    """A graph with one branch per operation and value, which every cell copies."""
    graph = omnigraph.init(str(tmp_path_factory.mktemp("pairs") / "graph.omni"), SCHEMA)
    records = [{"type": "Person", "data": {"name": name}} for name in PEOPLE]
    records.append({"edge": "Knows", "from": "Bob", "to": "Carol", "data": {"id": "bc"}})
    graph.load(io.BytesIO("".join(json.dumps(record) + "\n" for record in records).encode()), mode="append")
    sources = {("left", cell.left, LEFT_VALUE) for cell in CELLS}
    targets = {("right", cell.right, cell.right_value) for cell in CELLS}
    for side, name, value in sorted(sources | targets):
        branch = graph.branches.create(branch_of(side, name, value))
        OPERATIONS[name].write(graph, branch, value)
    return graph


def branch_of(side: str, operation: str, value: int) -> str:
    return f"{side}-{list(OPERATIONS).index(operation)}-{value}"


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.id)
def test_a_pair_of_operations_merges_as_the_table_says(graph: Graph, cell: Cell) -> None:
    source = branch_of("left", cell.left, LEFT_VALUE)
    target = f"cell-{CELLS.index(cell)}"
    graph.branches.create(target, source=branch_of("right", cell.right, cell.right_value))
    head = graph.snapshot(target).commit_id
    assert State.of(graph, target) == cell.right_alone

    if cell.conflicts:
        with pytest.raises(MergeConflicts) as refused:
            graph.branches.merge(source, into=target)
        assert conflicts_of(graph, source, target, refused.value) == sorted(cell.conflicts)
        assert State.of(graph, target) == cell.right_alone
        assert graph.snapshot(target).commit_id == head
        return
    result = graph.branches.merge(source, into=target)

    assert result.outcome == cell.outcome
    assert State.of(graph, target) == (cell.right_alone if cell.outcome == "already_up_to_date" else cell.merged)
    if cell.outcome == "already_up_to_date":
        assert (result.commit, graph.snapshot(target).commit_id) == (None, head)
    else:
        assert (result.commit.parent_commit_id, result.commit.merged_parent_commit_id) == (
            head,
            graph.snapshot(source).commit_id,
        )
        assert graph.branches.merge(source, into=target).outcome == "already_up_to_date"
    assert State.of(graph, source) == cell.left_alone


def conflicts_of(graph: Graph, source: str, target: str, refused: MergeConflicts) -> list[tuple[str, str]]:
    """Spell the conflicts with edges as their endpoints: ids of edges are made up."""
    endpoints = {
        row["id"]: f"{row['src']}->{row['dst']}"
        for branch in (source, target, "main")
        for row in graph.snapshot(branch).table("Knows").to_arrow(["id", "src", "dst"]).to_pylist()
    }
    found = refused.details["merge_conflicts"]
    assert refused.details["merge_conflicts_total"] == len(found)
    return sorted((conflict["kind"], endpoints.get(conflict["row_id"], conflict["row_id"])) for conflict in found)


def test_swapped_sides_have_the_mirrored_outcome() -> None:
    by_sides = {(cell.left, cell.right, cell.right_value): cell for cell in CELLS}

    for cell in CELLS:
        mirror = by_sides[cell.right, cell.left, cell.right_value]
        if "none" not in (cell.left, cell.right):
            assert mirror.spelled == cell.spelled
            assert cell.conflicts or mirror.merged.people == cell.merged.people or cell.right_value != LEFT_VALUE
        elif cell.left != cell.right:
            assert MIRRORED[mirror.spelled] == cell.spelled


def test_the_base_is_what_the_fixture_loads(graph: Graph) -> None:
    assert State.of(graph, "main") == BASE
