"""All cells of the pair table in few merges: every cell has people and an edge of its own, told apart by a number.

What an operation writes is recorded once and then written for all cells together, commit by commit, so that a whole
table costs four merges instead of a hundred.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import omnigraph
from omnigraph.graph import Graph
from support import harbor
from support.merge_pairs import CELLS, LEFT_VALUE, OPERATIONS, PEOPLE, SCHEMA, Cell, State

GROUPS = {
    "up": [cell for cell in CELLS if cell.spelled == "up"],
    "ff": [cell for cell in CELLS if cell.spelled == "ff"],
    "ok": [cell for cell in CELLS if cell.spelled == "ok"],
    "conflicts": [cell for cell in CELLS if cell.conflicts],
}
_NAMES = ("name", "id", "from", "to")


@dataclass
class Recorder:
    """Stands in for a graph and its batches, and remembers each commit as the calls that it was made with."""

    suffix: str
    commits: list[list[tuple[str, tuple[Any, ...], dict[str, Any]]]] = field(default_factory=list)

    @contextmanager
    def write(self, *, branch: str) -> Iterator["Recorder"]:
        self.commits.append([])
        yield self

    def insert(self, type_name: str, rows: Sequence[dict[str, Any]]) -> None:
        renamed = [{key: self._named(key, value) for key, value in row.items()} for row in rows]
        self.commits[-1].append(("insert", (type_name, renamed), {}))

    def update(self, type_name: str, values: dict[str, Any], *, ids: Sequence[str]) -> None:
        self.commits[-1].append(("update", (type_name, values), {"ids": [self._named("id", id_) for id_ in ids]}))

    def delete(self, type_name: str, *, ids: Sequence[str]) -> None:
        self.commits[-1].append(("delete", (type_name,), {"ids": [self._named("id", id_) for id_ in ids]}))

    def _named(self, key: str, value: Any) -> Any:
        return f"{value}{self.suffix}" if key in _NAMES else value


def suffix(cell: Cell) -> str:
    return f"@{CELLS.index(cell)}"


def new_graph(uri: str) -> Graph:
    """Make a graph with everybody, and for each group of cells a branch for all left and one for all right sides."""
    graph = omnigraph.init(uri, SCHEMA)
    records = [{"type": "Person", "data": {"name": f"{name}{suffix(cell)}"}} for cell in CELLS for name in PEOPLE]
    records += [
        harbor.edge("Knows", f"Bob{suffix(cell)}", f"Carol{suffix(cell)}", id=f"bc{suffix(cell)}") for cell in CELLS
    ]
    graph.load(harbor.lines(records), mode="append")
    for group, cells in GROUPS.items():
        write_all(graph, f"left-{group}", [(cell, cell.left, LEFT_VALUE) for cell in cells])
        write_all(graph, f"right-{group}", [(cell, cell.right, cell.right_value) for cell in cells])
    return graph


def write_all(graph: Graph, branch: str, operations: list[tuple[Cell, str, int]]) -> None:
    graph.branches.create(branch)
    recorders = []
    for cell, name, value in operations:
        recorder = Recorder(suffix(cell))
        OPERATIONS[name].write(recorder, branch, value)
        recorders.append(recorder)
    for number in range(max(len(recorder.commits) for recorder in recorders)):
        with graph.write(branch=branch) as batch:
            for recorder in recorders:
                for verb, arguments, options in recorder.commits[number] if number < len(recorder.commits) else ():
                    getattr(batch, verb)(*arguments, **options)


def states(graph: Graph, branch: str) -> dict[str, State]:
    """Read the state of every cell."""
    snapshot = graph.snapshot(branch)
    people = snapshot.table("Person").to_arrow(["name", "age"]).to_pylist()
    edges = snapshot.table("Knows").to_arrow(["src", "dst", "since"]).to_pylist()
    found: dict[str, State] = {}
    for cell in CELLS:
        end = suffix(cell)
        of_cell = State(
            people=frozenset((bare(row["name"]), row["age"]) for row in people if row["name"].endswith(end)),
            edges=frozenset(
                (bare(row["src"]), bare(row["dst"]), row["since"]) for row in edges if row["src"].endswith(end)
            ),
        )
        counted = [sum(row[key].endswith(end) for row in rows) for rows, key in ((people, "name"), (edges, "src"))]
        assert counted == [len(of_cell.people), len(of_cell.edges)], f"{cell.id}: something is there twice"
        found[cell.id] = of_cell
    return found


def bare(name: str) -> str:
    return name.partition("@")[0]


def conflicts_by_cell(graph: Graph, branches: Sequence[str], document: dict[str, Any]) -> dict[str, list[Any]]:
    """Sort conflicts by cell, with edges spelled as their endpoints: ids of edges are made up."""
    endpoints = {
        row["id"]: f"{bare(row['src'])}->{bare(row['dst'])}@{row['src'].partition('@')[2]}"
        for branch in branches
        for row in graph.snapshot(branch).table("Knows").to_arrow(["id", "src", "dst"]).to_pylist()
    }
    assert document["merge_conflicts_total"] == len(document["merge_conflicts"])
    found: dict[str, list[Any]] = {cell.id: [] for cell in GROUPS["conflicts"]}
    for conflict in document["merge_conflicts"]:
        who, _, number = endpoints.get(conflict["row_id"], conflict["row_id"]).partition("@")
        found[CELLS[int(number)].id].append((conflict["kind"], who))
    return {cell: sorted(conflicts) for cell, conflicts in found.items()}
