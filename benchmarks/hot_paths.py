"""What programs do again and again: rows as Arrow, rows by id, a look at history, a merge, one row at a time.

`python -m benchmarks.hot_paths` measures all of it within a minute; `python -m benchmarks.hot_paths merge 5000` takes
minutes to make a history of so many commits first.
"""

import io
import json
import statistics
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pyarrow as pa

import omnigraph
from benchmarks.figures import Figure, once, seconds, spell_table
from omnigraph.engine.local import LocalEngine

SCHEMA = """
node Person { name: String @key  age: I32? @index  score: F64?  city: String? }
edge Knows: Person -> Person
"""
_ROWS = 100_000
_COMMITS = 300
_CHANGES = 10
_ONE_ROW_COMMITS = 60


def people(count: int, *, age: int = 1) -> pa.Table:
    """Make up people as Arrow rows."""
    names = [f"p{number:07d}" for number in range(count)]
    ages = pa.array([age] * count, pa.int32())
    return pa.table({"name": names, "age": ages, "score": [number / 7 for number in range(count)], "city": names})


def measure(directory: Path) -> list[Figure]:
    """Measure all of it."""
    return [
        *measure_upserts(directory),
        measure_take(directory),
        measure_groups(),
        measure_one_row(directory),
        *measure_history(directory, _COMMITS),
    ]


def measure_upserts(directory: Path) -> list[Figure]:
    """Write rows from memory, and change a property of all of them."""
    graph = omnigraph.init(str(directory / "upserts.omni"), SCHEMA)

    def upsert(age: int) -> None:
        with graph.write() as batch:
            batch.upsert("Person", people(_ROWS, age=age))

    def update() -> None:
        with graph.write() as batch:
            batch.update("Person", {"city": "x"}, where=[("age", ">=", 0)])

    first = once(partial(upsert, 1))
    loaded = omnigraph.init(str(directory / "loaded.omni"), SCHEMA)
    other = once(lambda: loaded.load_table(people(_ROWS), type="Person", mode="append"))
    return [
        Figure(
            what=f"`upsert` of {_ROWS:,} new Arrow rows",
            ours=first,
            other=other,
            compared="`load_table` of the same rows",
            rows=_ROWS,
        ),
        Figure(what=f"`upsert` over {_ROWS:,} rows that exist", ours=once(partial(upsert, 2)), rows=_ROWS),
        Figure(what=f"`update` of a property of {_ROWS:,} rows", ours=once(update), rows=_ROWS),
    ]


def measure_take(directory: Path) -> Figure:
    """Fetch half of the rows of a table by their ids."""
    graph = omnigraph.init(str(directory / "take.omni"), SCHEMA)
    graph.load_table(people(2 * _ROWS), type="Person", mode="append")
    snapshot = graph.snapshot()
    (table,) = [snapshot.table(pin.table_key) for pin in snapshot.tables if pin.table_key == "node:Person"]
    stored = table._table  # noqa: SLF001 — what writes and merges call
    row_ids = stored.read(["id"], with_row_ids=True)["_rowid"].combine_chunks()
    wanted = row_ids.filter(pa.array([number % 2 == 0 for number in range(len(row_ids))]))
    return Figure(
        what=f"`take` of {_ROWS:,} rows by id out of {2 * _ROWS:,}",
        ours=seconds(lambda: stored.take(wanted, ["id", "age", "score"])),
        other=seconds(lambda: stored.read(["id", "age", "score"])),
        compared="reading all of them",
        rows=_ROWS,
    )


def measure_groups() -> Figure:
    """Hand the rows of a table to tasks, group by group."""
    count, groups = 1_000_000, 400
    rows = pa.table({"key": pa.array([number % groups for number in range(count)]), "value": list(range(count))})
    engine = LocalEngine()

    def group() -> None:
        found = engine.map_groups({"rows": rows}, "SELECT * FROM rows", by="key", function=lambda _, part: len(part))
        assert sum(found) == count

    return Figure(
        what=f"{count:,} rows to {groups} groups",
        ours=seconds(group),
        other=seconds(lambda: engine.sql({"rows": rows}, "SELECT * FROM rows ORDER BY key")),
        compared="sorting them",
        rows=count,
    )


def one_row(graph: omnigraph.Graph, turn: int) -> None:
    """Commit one row."""
    record = {"type": "Person", "data": {"name": f"n{turn}", "age": turn % 90}}
    graph.load(io.BytesIO(json.dumps(record).encode()), mode="merge")


def measure_one_row(directory: Path) -> Figure:
    """Commit one row at a time on a handle that stays open."""
    graph = omnigraph.init(str(directory / "one.omni"), SCHEMA)
    return Figure(
        what="one-row commit, a long-lived handle",
        ours=statistics.median(once(partial(one_row, graph, turn)) for turn in range(_ONE_ROW_COMMITS)),
        goal=0.03,
    )


def measure_history(directory: Path, commits: int) -> list[Figure]:
    """Look at the newest commit and merge a few changes, with a long and with a short history."""
    graphs = {count: grown(directory / f"{count}.omni", count) for count in (50, commits)}
    newest = {count: seconds(partial(_newest, graph.uri), repeat=9) for count, graph in graphs.items()}
    merges: dict[int, list[float]] = {count: [] for count in graphs}
    for turn in range(9):
        for count, graph in graphs.items():
            merges[count].append(merge_seconds(graph, turn))
    return [
        Figure(
            what=f"`commits(limit=1)` after {commits:,} commits, opening included",
            ours=newest[commits],
            other=newest[50],
            compared="after 50",
        ),
        Figure(
            what=f"merge of {_CHANGES} changes after {commits:,} commits",
            ours=statistics.median(merges[commits]),
            other=statistics.median(merges[50]),
            compared="after 50",
            goal=1.3,
        ),
    ]


def grown(uri: Path, commits: int) -> omnigraph.Graph:
    """Make a graph with so many commits, optimized every now and then, or open the one that is there."""
    if uri.exists():
        return omnigraph.open(str(uri))
    graph = omnigraph.init(str(uri), SCHEMA)
    for turn in range(commits):
        one_row(graph, turn)
        if turn % 50 == 49:
            graph.optimize()
    return graph


def merge_seconds(graph: omnigraph.Graph, turn: int) -> float:
    """Return how long merging a branch with a few changes takes on a handle that has just been opened."""
    name = f"b{turn}-{len(graph.branches.list())}"
    graph.branches.create(name)
    with graph.write(branch=name) as batch:
        batch.upsert("Person", [{"name": f"{name}-{number}", "age": number} for number in range(_CHANGES)])
    fresh = omnigraph.open(graph.uri)
    taken = once(lambda: fresh.branches.merge(name))
    graph.branches.delete(name)
    return taken


def _newest(uri: str) -> object:
    return omnigraph.open(uri, read_only=True).commits(limit=1)


def main() -> None:
    """Measure everything, or one part of it."""
    parts: dict[str, Callable[[Path], list[Figure]]] = {
        "upsert": measure_upserts,
        "take": lambda directory: [measure_take(directory)],
        "groups": lambda _: [measure_groups()],
        "one": lambda directory: [measure_one_row(directory)],
        "merge": lambda directory: measure_history(directory, int(sys.argv[2]) if len(sys.argv) > 2 else _COMMITS),
    }
    chosen = parts[sys.argv[1]] if len(sys.argv) > 1 else measure
    kept = sys.argv[3] if len(sys.argv) > 3 else None
    with tempfile.TemporaryDirectory() as directory:
        print(spell_table(chosen(Path(kept or directory))))


if __name__ == "__main__":
    main()
