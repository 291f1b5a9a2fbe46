"""What a commit costs after thousands of commits, with optimize every now and then.

Commits to the old graph take turns with the first commits to a new one, so that whatever else the machine does slows
both down. Both begin right after an optimize, so that both have as many small fragments in front of them.
"""

import io
import json
import resource
import statistics
from functools import partial
from pathlib import Path

import omnigraph
from benchmarks.figures import Figure, Unit, once

SCHEMA = """
node Person { name: String @key  age: I32 @index }
edge Knows: Person -> Person
"""
_COMMITS = 5_000
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


def peak_mib() -> int:
    """Return the peak memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


def grow(graph: omnigraph.Graph, commits: int) -> None:
    """Commit again and again, with an optimize every now and then."""
    for turn in range(commits):
        one_commit(graph, turn)
        if turn % _WINDOW == _WINDOW - 1:
            graph.optimize()


def measure(directory: Path) -> list[Figure]:
    """Compare a graph with a long history with a new one, commit by commit: five to ten minutes."""
    old = new_graph(directory / "old.omni")
    grow(old, _WINDOW)
    young_peak = peak_mib()
    grow(old, _COMMITS)
    old_peak = peak_mib()
    new = new_graph(directory / "new.omni")
    grow(new, _WINDOW)
    times: dict[str, list[float]] = {"old": [], "new": []}
    for turn in range(_COMMITS + _WINDOW, _COMMITS + 2 * _WINDOW):
        times["old"].append(once(partial(one_commit, old, turn)))
        times["new"].append(once(partial(one_commit, new, turn)))
    return [
        Figure(
            what=f"one-row commit after {_COMMITS:,} commits with an optimize every {_WINDOW}, median of {_WINDOW}",
            ours=statistics.median(times["old"]),
            other=statistics.median(times["new"]),
            compared="the same on a new graph",
            goal=1.5,
        ),
        Figure(
            what=f"optimize after {_COMMITS:,} commits, {_WINDOW} of them new",
            ours=once(old.optimize),
            other=once(new.optimize),
            compared="the same on a new graph",
        ),
        Figure(
            what=f"peak memory of the writer over {_COMMITS:,} commits",
            ours=old_peak,
            other=young_peak,
            compared=f"after the first {_WINDOW}",
            unit=Unit.MEBIBYTES,
        ),
    ]
