"""`python -m benchmarks.merge`: what a three-way merge costs, by the size of the tables and by the size of the changes.

Both sides change as many people and add as many edges; half of the edges are the same on both sides. A fast-forward
replays the same changes with nothing on the other side. The second figure is what changes on the target per second.
"""

import argparse
import io
import json
import resource
import tempfile
import time
from pathlib import Path

import omnigraph

SCHEMA = """
node Person { name: String @key  age: I32?  city: String }
edge Knows: Person -> Person { since: I32? }
"""


def people(rows: int) -> io.BytesIO:
    """Make people who all live somewhere."""
    lines = (
        json.dumps({"type": "Person", "data": {"name": f"p{number}", "age": 1, "city": f"city{number % 500}"}})
        for number in range(rows)
    )
    return io.BytesIO(("\n".join(lines) + "\n").encode())


def change(graph: omnigraph.Graph, branch: str, *, first: int, count: int, edges_from: int) -> None:
    """Change people from `first` on, and add as many edges from `edges_from` on."""
    with graph.write(branch=branch) as batch:
        batch.upsert(
            "Person",
            [{"name": f"p{number}", "age": 2, "city": "elsewhere"} for number in range(first, first + count)],
        )
        batch.insert(
            "Knows",
            [
                {"from": f"p{number}", "to": f"p{number + 1}", "since": number}
                for number in range(edges_from, edges_from + count)
            ],
        )


def measure(directory: Path, *, rows: int, changes: int) -> str:
    """Merge once three ways and once fast-forward; return a row of the table."""
    graph = omnigraph.init(str(directory / f"{rows}-{changes}.omni"), SCHEMA)
    graph.load(people(rows), mode="append")
    for name in ("source", "forward", "other"):
        graph.branches.create(name)
    change(graph, "source", first=0, count=changes, edges_from=0)
    change(graph, "other", first=changes, count=changes, edges_from=changes // 2)
    seconds = []
    for target in ("other", "forward"):
        start = time.perf_counter()
        result = graph.branches.merge("source", into=target)
        seconds.append(time.perf_counter() - start)
        applied = sum(table.inserted + table.updated + table.deleted for table in result.tables)
    three_way, forward = seconds
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    return f"| {rows:,} | {changes:,} | {three_way:.2f} s | {forward:.2f} s | {applied / forward:,.0f} | {peak:,} MiB |"


def main() -> None:
    """Print one row per size of table and of change."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 300_000])
    parser.add_argument("--changes", type=int, nargs="+", default=[50, 50_000])
    arguments = parser.parse_args()
    print("| rows | changes per side and type | three-way | fast-forward | changes/s | peak memory |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as directory:
        for changes in arguments.changes:
            for rows in arguments.rows:
                if 2 * changes < rows:
                    print(measure(Path(directory), rows=rows, changes=changes), flush=True)


if __name__ == "__main__":
    main()
