"""`python -m benchmarks.history`: what a commit costs after thousands of commits, with optimize every now and then.

A long-lived writer and a raw Lance table take turns, so that whatever else the machine does slows both down: the
growth of our commits is to be read beside the growth of an append to a small raw table in the same minutes.
"""

import argparse
import io
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import lance
import pyarrow as pa

import omnigraph
from benchmarks.core import Figure, table

SCHEMA = """
node Person { name: String @key  age: I32 @index }
edge Knows: Person -> Person
"""
_WINDOW = 50
_PEOPLE = 1_000


def one_commit(graph: omnigraph.Graph, turn: int) -> None:
    """Commit one person, new or changed, and now and then an edge."""
    records = [{"type": "Person", "data": {"name": f"p{turn % _PEOPLE}", "age": turn % 90}}]
    if turn % 10 == 0:
        records.append({"edge": "Knows", "from": f"p{turn % _PEOPLE}", "to": "p0", "data": {"id": f"k{turn}"}})
    graph.load(io.BytesIO("\n".join(map(json.dumps, records)).encode()), mode="merge")


def raw_append(directory: Path, turn: int) -> None:
    """Append one row to a raw table that is begun anew before it has a history."""
    lance.write_dataset(pa.table({"id": [turn]}), str(directory / f"raw-{turn // _WINDOW}.lance"), mode="append")


def milliseconds(work: Callable[[], object]) -> float:
    """Return how long a piece of work took."""
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1_000


def history_figures(directory: Path, *, commits: int, optimize_every: int) -> list[Figure]:
    """Commit thousands of times; compare the first commits with the last ones."""
    graph = omnigraph.init(str(directory / "history.omni"), SCHEMA)
    ours: list[float] = []
    raw: list[float] = []
    optimized: list[float] = []
    for turn in range(commits):
        ours.append(milliseconds(lambda turn=turn: one_commit(graph, turn)))
        if turn < _WINDOW or turn >= commits - _WINDOW:
            raw.append(milliseconds(lambda turn=turn: raw_append(directory, turn)))
        if turn % optimize_every == optimize_every - 1:
            optimized.append(milliseconds(graph.optimize))
    first, last = statistics.median(ours[:_WINDOW]), statistics.median(ours[-_WINDOW:])
    raw_first, raw_last = statistics.median(raw[:_WINDOW]), statistics.median(raw[_WINDOW:])
    early, late = optimized[1], statistics.median(optimized[-3:])
    return [
        Figure(
            what=f"one-row commit after {commits:,} commits, optimize every {optimize_every}, median of {_WINDOW}",
            ours=f"{last:.1f} ms (the first {_WINDOW}: {first:.1f} ms)",
            raw=f"{raw_last:.1f} ms (then: {raw_first:.1f} ms, an append to a new raw table)",
            ratio=f"{last / first:.2f}× the first ones",
        ),
        Figure(
            what=f"optimize after {commits:,} commits, {optimize_every} of them new",
            ours=f"{late:.0f} ms (the second run: {early:.0f} ms)",
            raw="–",
            ratio=f"{late / early:.2f}× the second run",
        ),
    ]


def measure(directory: Path) -> list[Figure]:
    """Take the measurements for the table in the README: five minutes."""
    return history_figures(directory, commits=5_000, optimize_every=100)


def main() -> None:
    """Measure and print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--commits", type=int, default=5_000)
    parser.add_argument("--optimize-every", type=int, default=100)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        found = history_figures(Path(directory), commits=options.commits, optimize_every=options.optimize_every)
    print(table(found))


if __name__ == "__main__":
    main()
