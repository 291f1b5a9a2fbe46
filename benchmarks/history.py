"""`python -m benchmarks.history`: what a commit costs after thousands of commits, with optimize every now and then.

The first commits are compared with the last ones between two runs of optimize, so that both have as many small
fragments in front of them. Wall time depends on what else the machine does meanwhile; the time on the processor, which
is printed beside it, hardly does.
"""

import argparse
import io
import json
import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import omnigraph
from benchmarks.core import Figure, table

SCHEMA = """
node Person { name: String @key  age: I32 @index }
edge Knows: Person -> Person
"""
_WINDOW = 50
"""Commits between two runs of optimize, and how many of them are compared."""
_PEOPLE = 1_000


def one_commit(graph: omnigraph.Graph, turn: int) -> None:
    """Commit one person, new or changed, and now and then an edge."""
    records = [{"type": "Person", "data": {"name": f"p{turn % _PEOPLE}", "age": turn % 90}}]
    if turn % 10 == 0:
        records.append({"edge": "Knows", "from": f"p{turn % _PEOPLE}", "to": "p0", "data": {"id": f"k{turn}"}})
    graph.load(io.BytesIO("\n".join(map(json.dumps, records)).encode()), mode="merge")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What one piece of work took."""

    wall_ms: float
    processor_ms: float


def cost_of(work: Callable[[], object]) -> Cost:
    """Measure a piece of work."""
    wall, processor = time.perf_counter(), time.process_time()
    work()
    return Cost(wall_ms=(time.perf_counter() - wall) * 1_000, processor_ms=(time.process_time() - processor) * 1_000)


def median(costs: Sequence[Cost]) -> Cost:
    """Return the medians of both clocks."""
    return Cost(
        wall_ms=statistics.median(cost.wall_ms for cost in costs),
        processor_ms=statistics.median(cost.processor_ms for cost in costs),
    )


def history_figures(directory: Path, *, commits: int) -> list[Figure]:
    """Commit thousands of times; compare the first commits with the last ones."""
    graph = omnigraph.init(str(directory / "history.omni"), SCHEMA)
    ours: list[Cost] = []
    optimized: list[Cost] = []
    peaks: list[int] = []
    for turn in range(commits):
        ours.append(cost_of(lambda turn=turn: one_commit(graph, turn)))
        if turn % _WINDOW == _WINDOW - 1:
            optimized.append(cost_of(graph.optimize))
            peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10)
    first, last = median(ours[:_WINDOW]), median(ours[-_WINDOW:])
    early, late = median(optimized[1:4]), median(optimized[-3:])
    return [
        Figure(
            what=f"one-row commit after {commits:,} commits, optimize every {_WINDOW}, medians of {_WINDOW}",
            ours=f"{last.wall_ms:.0f} ms ({last.processor_ms:.0f} ms of processor)",
            raw=f"{first.wall_ms:.0f} ms ({first.processor_ms:.0f} ms of processor), the first {_WINDOW}",
            ratio=f"{last.wall_ms / first.wall_ms:.2f}× the time ({last.processor_ms / first.processor_ms:.2f}×)",
        ),
        Figure(
            what=f"optimize after {commits:,} commits, {_WINDOW} of them new",
            ours=f"{late.wall_ms:.0f} ms",
            raw=f"{early.wall_ms:.0f} ms, the second run",
            ratio=f"{late.wall_ms / early.wall_ms:.2f}× the time ({late.processor_ms / early.processor_ms:.2f}×)",
        ),
        Figure(
            what=f"peak memory of the writer over {commits:,} commits",
            ours=f"{peaks[-1]} MiB",
            raw=f"{peaks[0]} MiB after {_WINDOW}",
            ratio=f"{peaks[-1] / peaks[0]:.1f}×",
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
    print(table(found))


if __name__ == "__main__":
    main()
