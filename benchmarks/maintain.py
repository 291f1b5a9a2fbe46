"""A cluster of many graphs of which few need work: one `maintain` beside one process per graph.

What is compared with is what people write into a crontab today: `omnigraph optimize` for every graph, one after the
other. Both begin with the same files. That exactly the graphs in need are touched is for the tests to show; here it is
only checked.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import omnigraph
from benchmarks.figures import Figure, once

SCHEMA = "node Person { name: String @key  age: I32? @index }\nedge Knows: Person -> Person\n"
_GRAPHS, _DUE, _LOADS, _ROWS = 50, 5, 8, 200
_GOAL = 0.2
_PROGRAM = str(Path(sys.executable).parent / "omnigraph")


def measure(directory: Path) -> list[Figure]:
    """Time the run that has work, the one after it, and one that finds nothing changed."""
    return _measure(directory, _GRAPHS, _DUE)


def measure_small(directory: Path) -> list[Figure]:
    """Do the same with few graphs, to see that it runs."""
    return _measure(directory, 6, 1)


def _measure(directory: Path, graphs: int, due: int) -> list[Figure]:
    ours, theirs = directory / "ours", directory / "theirs"
    _make_cluster(ours, graphs, due, directory)
    shutil.copytree(ours, theirs)
    one_by_one = once(lambda: _optimize_each(theirs))
    again = once(lambda: _optimize_each(theirs))
    times = [once(lambda: _maintain(ours)) for _ in range(3)]
    done = [
        len(run["graphs"]) - run["graphs"].count("nothing_due") - run["graphs"].count("unchanged")
        for run in _journal(ours)
    ]
    if done != [due, 0, 0]:
        raise AssertionError(f"the runs worked on {done} graphs, not on {due} and then none")
    what = f"maintain a cluster of {graphs} graphs"
    compared = f"{graphs} processes of `omnigraph optimize`"
    return [
        Figure(
            what=f"{what}, {due} of which need work", ours=times[0], other=one_by_one, compared=compared, goal=_GOAL
        ),
        Figure(what=f"{what}, nothing changed since", ours=times[2], other=again, compared=compared, goal=_GOAL),
    ]


def _make_cluster(root: Path, graphs: int, due: int, directory: Path) -> None:
    """Make one graph in order and one with work, and copy them: a graph may be copied as a whole."""
    fine = _make_graph(directory / "fine.omni")
    fine.optimize()
    stale = _make_graph(directory / "stale.omni")
    stale.optimize()
    _load(stale, range(1, _LOADS))
    for number in range(graphs):
        # Those in need are spread over the cluster.
        is_due = number % (graphs // due) == 0 and number // (graphs // due) < due
        shutil.copytree((stale if is_due else fine).uri, root / "graphs" / f"g{number:02}.omni")
    ledger = {"version": 1, "applied_revision": {"resources": {f"graph.g{number:02}": {} for number in range(graphs)}}}
    (root / "__cluster").mkdir()
    (root / "__cluster" / "state.json").write_text(json.dumps(ledger))


def _make_graph(path: Path) -> omnigraph.Graph:
    graph = omnigraph.init(str(path), SCHEMA)
    _load(graph, range(1))
    return graph


def _load(graph: omnigraph.Graph, loads: range) -> None:
    for load in loads:
        with graph.write() as batch:
            batch.insert("Person", [{"name": f"{load}-{number}", "age": number} for number in range(_ROWS)])
            batch.insert("Knows", [{"from": f"{load}-{number}", "to": f"{load}-0"} for number in range(1, _ROWS)])


def _optimize_each(root: Path) -> None:
    for graph in sorted((root / "graphs").iterdir()):
        subprocess.run([_PROGRAM, "optimize", str(graph), "--engine", "local"], check=True, capture_output=True)


def _maintain(root: Path) -> None:
    subprocess.run([_PROGRAM, "maintain", "--cluster", str(root), "--engine", "local"], check=True, capture_output=True)


def _journal(root: Path) -> list[dict[str, list[str]]]:
    """Return what became of each graph, by run, oldest first."""
    shown = subprocess.run(
        [_PROGRAM, "maintain", "--cluster", str(root), "--journal", "--json"], check=True, capture_output=True
    )
    runs = json.loads(shown.stdout)["runs"]
    return [{"graphs": [graph["status"] for graph in run["graphs"]]} for run in reversed(runs)]
