"""`python -m benchmarks.history`: what a commit costs after thousands of commits, with optimize every now and then.

Commits to the old graph take turns with the first commits to a new one, so that whatever else the machine does slows
both down. Both begin right after an optimize, so that both have as many small fragments in front of them.
"""

import argparse
import io
import json
import resource
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import omnigraph
from benchmarks.core import Figure, rows

SCHEMA = """
node Person { name: String @key  age: I32 @index }
edge Knows: Person -> Person
"""
_WINDOW = 50
"""Commits between two runs of optimize, and how many are compared."""
_PEOPLE = 1_000


def one_commit(graph: omnigraph.Graph, turn: int) -> None:
    """Commit a change of one person, and now and then an edge."""
    records = [{"type": "Person", "data": {"name": f"p{turn % _PEOPLE}", "age": turn % 90}}]
    if turn % 10 == 0:
        records.append({"edge": "Knows", "from": f"p{turn % _PEOPLE}", "to": "p0", "data": {"id": f"k{turn}"}})
    graph.load(io.BytesIO("\n".join(map(json.dumps, records)).encode()), mode="merge")


def new_graph(uri: Path) -> omnigraph.Graph:
    """Make a graph in which everybody is already known, so that commits change people from the first one on."""
    graph = omnigraph.init(str(uri), SCHEMA)
    people = [{"type": "Person", "data": {"name": f"p{number}", "age": 99}} for number in range(_PEOPLE)]
    graph.load(io.BytesIO("\n".join(map(json.dumps, people)).encode()), mode="append")
    graph.optimize()
    return graph


def milliseconds(work: Callable[[], object]) -> float:
    """Return how long a piece of work took."""
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1_000


def peak_mib() -> int:
    """Return the peak memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


def grow(graph: omnigraph.Graph, commits: int) -> None:
    """Commit again and again, with an optimize every now and then."""
    for turn in range(commits):
        one_commit(graph, turn)
        if turn % _WINDOW == _WINDOW - 1:
            graph.optimize()


def history_figures(directory: Path, *, commits: int) -> list[Figure]:
    """Compare a graph with a long history with a new one, commit by commit."""
    old = new_graph(directory / "old.omni")
    grow(old, _WINDOW)
    young_peak = peak_mib()
    grow(old, commits)
    old_peak = peak_mib()
    new = new_graph(directory / "new.omni")
    grow(new, _WINDOW)
    times: dict[str, list[float]] = {"old": [], "new": []}
    for turn in range(commits + _WINDOW, commits + 2 * _WINDOW):
        times["old"].append(milliseconds(lambda turn=turn: one_commit(old, turn)))
        times["new"].append(milliseconds(lambda turn=turn: one_commit(new, turn)))
    long, short = (statistics.median(times[which]) for which in ("old", "new"))
    optimized = [milliseconds(graph.optimize) for graph in (old, new)]
    return [
        Figure(
            what=f"one-row commit after {commits:,} commits with an optimize every {_WINDOW}, median of {_WINDOW}",
            ours=f"{long:.0f} ms",
            raw=f"{short:.0f} ms (the same on a new graph)",
            ratio=f"{long / short:.2f}× the time",
        ),
        Figure(
            what=f"optimize after {commits:,} commits, {_WINDOW} of them new",
            ours=f"{optimized[0]:.0f} ms",
            raw=f"{optimized[1]:.0f} ms (the same on a new graph)",
            ratio=f"{optimized[0] / optimized[1]:.2f}× the time",
        ),
        Figure(
            what=f"peak memory of the writer over {commits:,} commits",
            ours=f"{old_peak} MiB",
            raw=f"{young_peak} MiB after {_WINDOW}",
            ratio=f"{old_peak / young_peak:.1f}×",
        ),
    ]


def measure(directory: Path) -> list[Figure]:
    """Take the measurements for the table in the README: five to ten minutes."""
    return history_figures(directory, commits=5_000)


def main() -> None:
    """Measure and print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--commits", type=int, default=5_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        found = history_figures(Path(directory), commits=options.commits)
    print(rows(found))


if __name__ == "__main__":
    main()
