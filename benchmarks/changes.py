"""`python -m benchmarks.changes`: what it costs to see 50 changes in tables of growing size, or in growing histories.

`--commits 200 1000` measures polls over histories of so many one-row commits, of which every fifth is an update with
`--updates`: processor time, since that says more than the clock on a machine that others use.

Both ways of comparing are measured on the same two states, beside a raw full join of the two tables in DuckDB, which
is what finding the changes costs without knowing anything about them.
"""

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa

import omnigraph
from omnigraph.changes.compare import TableState, changed_by_content, changed_by_history
from omnigraph.changes.paging import PageLimits
from omnigraph.graph import Graph

SCHEMA = "node Person { name: String @key  age: I32  bio: String }"
CHANGES = 50


def people(numbers: range, *, older: int = 0) -> pa.Table:
    """Make people whose age tells whether they changed."""
    return pa.table(
        {
            "name": [f"p{number:08d}" for number in numbers],
            "age": pa.array([number % 90 + older for number in numbers], pa.int32()),
            "bio": [f"what {number} did" for number in numbers],
        }
    )


def changed_graph(uri: str, rows: int) -> Graph:
    """Make a graph whose newest commit changed few of many people."""
    graph = omnigraph.init(uri, SCHEMA)
    with graph.write() as batch:
        batch.insert("Person", people(range(rows)))
    with graph.write() as batch:
        batch.upsert("Person", people(range(0, rows, rows // CHANGES), older=1))
    return graph


def state_at(graph: Graph, address: str) -> TableState:
    """Open the people of a snapshot."""
    table = graph.snapshot_at(address).table("Person")
    return TableState(entity=table.entity, table=table._table)  # noqa: SLF001 - no public way to a raw table


def raw_join(before: pa.Table, after: pa.Table) -> int:
    """Join everything with everything."""
    statement = """
        SELECT count(*) FROM before FULL OUTER JOIN after USING (id)
        WHERE before.age IS DISTINCT FROM after.age OR before.bio IS DISTINCT FROM after.bio
    """
    with duckdb.connect() as connection:
        connection.register("before", before)
        connection.register("after", after)
        ((found,),) = connection.sql(statement).fetchall()
    return int(found)


def best_ms(work: Callable[[], int], *, rounds: int) -> float:
    """Return the best of several rounds in milliseconds; the others met somebody else on the machine."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        found = work()
        times.append(time.perf_counter() - start)
        if found != CHANGES:
            raise SystemExit(f"{found} changes were found instead of {CHANGES}")
    return min(times) * 1_000


def measure(rows: int, *, rounds: int) -> str:
    """Measure one size and return a line of the table."""
    root = Path(tempfile.mkdtemp())
    try:
        graph = changed_graph(str(root / "graph.omni"), rows)
        context = graph._context  # noqa: SLF001 - the parts of a diff are measured one by one
        before, after = state_at(graph, "main~1"), state_at(graph, "main")
        history = best_ms(lambda: len(changed_by_history(context, before, after) or ()), rounds=rounds)
        content = best_ms(lambda: changed_by_content(context, before, after).num_rows, rounds=rounds)
        whole = best_ms(lambda: sum(1 for _ in graph.diff("main~1", "main")), rounds=rounds)
        raw = best_ms(lambda: raw_join(before.table.read(), after.table.read()), rounds=rounds)
    finally:
        shutil.rmtree(root)
    return f"| {rows:,} | {history:.0f} | {content:.0f} | {whole:.0f} | {raw:.0f} |"


def long_graph(uri: str, commits: int, *, has_updates: bool) -> Graph:
    """Make a graph of one-row commits."""
    graph = omnigraph.init(uri, SCHEMA)
    for number in range(commits):
        is_update = has_updates and number % 5 == 4
        with graph.write() as batch:
            batch.upsert("Person", people(range(number - is_update, number - is_update + 1), older=int(is_update)))
    return omnigraph.open(uri)


def cpu_ms(work: Callable[[], object], *, rounds: int) -> float:
    """Return the least processor time of several rounds in milliseconds."""
    times = []
    for _ in range(rounds):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times) * 1_000


def measure_history(commits: int, *, rounds: int, has_updates: bool) -> str:
    """Measure one length of history and return a line of the table."""
    limits = PageLimits(changes=CHANGES)
    root = Path(tempfile.mkdtemp())
    try:
        graph = long_graph(str(root / "graph.omni"), commits, has_updates=has_updates)
        poll = graph.changes.poll
        line = graph.commits(limit=CHANGES + 1)
        newest, last = (f"after:{line[place].graph_commit_id}" for place in (1, CHANGES))
        end = poll().cursor
        figures = [
            cpu_ms(lambda: poll(start="beginning", limits=limits), rounds=rounds),
            cpu_ms(lambda: poll(start=last, limits=limits), rounds=rounds),
            cpu_ms(lambda: poll(start=newest, limits=limits), rounds=rounds),
            cpu_ms(lambda: poll(cursor=end, limits=limits), rounds=rounds),
            cpu_ms(lambda: graph.changes.of_commit(line[1].graph_commit_id).page(), rounds=rounds),
        ]
    finally:
        shutil.rmtree(root)
    return f"| {commits:,} | {' | '.join(f'{figure:.1f}' for figure in figures)} |"


def main() -> None:
    """Measure and print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--commits", type=int, nargs="+", help="measure polls over histories of so many commits")
    parser.add_argument("--updates", action="store_true", help="let every fifth commit change a row")
    options = parser.parse_args()
    if options.commits:
        print(f"| one-row commits | first {CHANGES}, ms | last {CHANGES} | newest one | nothing new | of one commit |")
        print("| ---: | ---: | ---: | ---: | ---: | ---: |")
        for commits in options.commits:
            print(measure_history(commits, rounds=options.rounds, has_updates=options.updates), flush=True)
        return
    print(f"| rows, {CHANGES} changed | by history, ms | by content, ms | diff with images, ms | raw full join, ms |")
    print("| ---: | ---: | ---: | ---: | ---: |")
    for rows in options.rows:
        print(measure(rows, rounds=options.rounds), flush=True)


if __name__ == "__main__":
    main()
