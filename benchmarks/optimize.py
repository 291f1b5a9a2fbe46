"""`python -m benchmarks.optimize`: optimize against raw `compact_files` and `optimize_indices`, table by table.

Both start from byte-identical copies: small fragments, half of them unknown to the indexes, some rows deleted. Times of
ours include everything that the raw calls do not do: planning, checking counts, the recovery record, one commit for
all tables and the compaction of the graph's own tables.
"""

import argparse
import io
import json
import resource
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import lance

import omnigraph
from omnigraph.storage import staging

SCHEMA = """
node Person { name: String @key  age: I32 @index  city: String  bio: String }
node Place { name: String @key  note: String @index }
edge Lives: Person -> Place { since: I32 }
"""


def records(first: int, last: int) -> io.BytesIO:
    """Make people, places and edges between them."""
    lines = []
    for number in range(first, last):
        person = {"name": f"p{number}", "age": number % 90, "city": f"city{number % 500}", "bio": "x" * (number % 40)}
        lines.append(json.dumps({"type": "Person", "data": person}))
        lines.append(
            json.dumps({"type": "Place", "data": {"name": f"q{number}", "note": f"words about {number % 97}"}})
        )
        ends = {"from": f"p{number}", "to": f"q{first + number % (last - first)}"}
        lines.append(json.dumps({"edge": "Lives", **ends, "data": {"id": f"e{number}", "since": number % 100}}))
    return io.BytesIO(("\n".join(lines) + "\n").encode())


def fragmented_graph(uri: Path, *, rows: int, fragments: int) -> None:
    """Lay a graph out as many small writes would have: indexes know the first half only."""
    staging._FRAGMENT_ROWS_MAX = max(1, rows // fragments)  # noqa: SLF001 - one load instead of hundreds
    graph = omnigraph.init(str(uri), SCHEMA)
    graph.load(records(0, rows // 2), mode="append")
    graph.optimize(max_bytes=1)
    graph.load(records(rows // 2, rows), mode="append")
    with graph.write() as batch:
        batch.delete("Person", ids=[f"p{number}" for number in range(0, rows, 1_000)])


def timed(work: Callable[[], object]) -> float:
    """Return how long a piece of work takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def raw_optimize(uri: Path) -> None:
    """Compact and fold every table on its own, as one would without a graph."""
    for table in sorted([*uri.glob("nodes/*"), *uri.glob("edges/*")]):
        lance.dataset(str(table)).optimize.compact_files()
        lance.dataset(str(table)).optimize.optimize_indices()


def fragment_count(uri: Path) -> int:
    """Count the fragments of all data tables at their newest version."""
    tables = [*uri.glob("nodes/*"), *uri.glob("edges/*")]
    return sum(len(lance.dataset(str(table)).get_fragments()) for table in tables)


def main() -> None:
    """Measure and print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=300_000, help="of each of three tables")
    parser.add_argument("--fragments", type=int, default=100, help="of each of three tables")
    parser.add_argument("--engine", choices=["local", "spark"], default="local", help="where ours does its work")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        ours, raw = Path(directory, "ours.omni"), Path(directory, "raw.omni")
        fragmented_graph(ours, rows=options.rows, fragments=options.fragments)
        shutil.copytree(ours, raw)
        before = fragment_count(ours)
        graph = omnigraph.open(str(ours))
        raw_seconds, raw_again = timed(lambda: raw_optimize(raw)), timed(lambda: raw_optimize(raw))
        results = []
        our_seconds = timed(lambda: results.append(graph.optimize(engine=options.engine)))
        our_again = timed(lambda: results.append(graph.optimize()))
        ratio = f"{our_seconds / raw_seconds:.2f}× the time"
        lines = [
            f"3 tables of {options.rows:,} rows, {before} fragments, half of them unknown to the 10 indexes.",
            "",
            "| what | OmniGraph | raw Lance, table by table | ratio |",
            "|---|---|---|---|",
            f"| optimize, engine {options.engine} | {our_seconds:.2f} s | {raw_seconds:.2f} s | {ratio} |",
            f"| a second run | {our_again:.3f} s, nothing to do | {raw_again:.3f} s | |",
            f"| fragments left | {fragment_count(ours)} | {fragment_count(raw)} | |",
            f"| writers had to wait | {results[0].pause_ms / 1000:.2f} s | – | |",
        ]
        print("\n".join(lines))
        print(f"\npeak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.1f} GiB")


if __name__ == "__main__":
    main()
