"""Ten million edges: an image within its budget, a commit that the next query sees, and the ways without an image.

Every child process has a budget of its own and answers the same questions, and all answers must be equal.
"""

import os
import random
import statistics
import time
from pathlib import Path
from typing import Any

import pyarrow as pa

import omnigraph
from benchmarks.figures import Figure, Unit, apart, once
from benchmarks.query_first import build_image
from benchmarks.query_image import commit, new_graph
from omnigraph.graphs.snapshot import stored_table

_EDGES = 10_000_000
_EDGES_SMALL = 200_000
_BUDGET_BYTES, _BUDGET_BYTES_PER_EDGE = 64 << 20, 60
_COMMITS = 7
_HOPS = 50

FRIENDS = """query friends($name: String) {
    match { $p: Person { name: $name } $p knows $x } return { $x.name, $x.age } order { $x.name }
}"""
BACK = """query back($name: String) {
    match { $p: Person { name: $name } $x knows $p } return { $x.name } order { $x.name }
}"""
OLD = 'match { $p: Person $p.age > 88 $p.city = "city-7" } return { $p.name } order { $p.name }'
CITIES = "match { $p: Person $p knows $x $x.age > 85 } return { $p.city, count($x) as n } order { n desc, $p.city }"


def _opened(uri: str, budget_bytes: int) -> omnigraph.Graph:
    os.environ["OMNIGRAPH_CACHE_BYTES"] = str(budget_bytes)
    os.environ["OMNIGRAPH_DISK_CACHE_BYTES"] = "0"
    return omnigraph.open(uri)


def _answers(graph: omnigraph.Graph) -> list[Any]:
    small = [graph.query(text, name=f"person-{number}").rows() for text in (FRIENDS, BACK) for number in range(3)]
    return [*small, graph.query(OLD).rows(), graph.query(CITIES).rows()]


def _looked_up(uri: str, budget_bytes: int) -> dict[str, float]:
    """Return how long a hop by look-ups takes, and the same questions asked of Lance."""
    graph = _opened(uri, budget_bytes)
    asked = [f"person-{7 * number}" for number in range(_HOPS)]
    graph.query(FRIENDS, name="person-1")
    times = [once(lambda name=name: graph.query(FRIENDS, name=name)) for name in asked]
    if graph.explain(FRIENDS).way.name != "look-ups":
        raise RuntimeError("look-ups were to be measured")
    with graph.snapshot() as snapshot:
        people, knows = stored_table(snapshot, "node:Person"), stored_table(snapshot, "edge:Knows")

    def lance(name: str) -> None:
        people.lookup("id", pa.array([name]), ["id"])
        ends = knows.lookup("src", pa.array([name]), ["dst"])
        people.lookup("id", ends["dst"].combine_chunks(), ["id", "age"])

    hop = [once(lambda name=name: knows.lookup("src", pa.array([name]), ["src", "dst"])) for name in asked]
    return {
        "ours": statistics.median(times),
        "lance": statistics.median([once(lambda name=name: lance(name)) for name in asked]),
        "hop": statistics.median(hop),
    }


def _built(uri: str, budget_bytes: int) -> dict[str, Any]:
    """Return how long an image takes, its peak of memory, and what a commit costs the next query."""
    graph = _opened(uri, budget_bytes)
    graph.query("match { $p: Person } return { count($p) as n }")
    pa.default_memory_pool().release_unused()
    Path("/proc/self/clear_refs").write_text("5")  # the highest from here on
    before = _memory_bytes("VmRSS")
    busy = time.process_time()
    seconds = once(lambda: build_image(graph))
    busy = time.process_time() - busy
    peak = _memory_bytes("VmHWM") - before
    if graph.explain(CITIES).way.reason != "it is at hand":
        raise RuntimeError("the image was to be measured")
    chance, people, following = random.Random(2), graph.snapshot().table("Person").pin.row_count, []
    answers = _answers(graph)
    for _ in range(_COMMITS):
        commit(graph, chance, people)
        begun = time.process_time()
        graph.query(FRIENDS, name="person-17")
        following.append(time.process_time() - begun)
    return {
        "seconds": seconds,
        "busy": busy,
        "peak": peak,
        "asking": once(lambda: graph.query(CITIES)),
        "answers": answers,
        "following": statistics.median(following),
    }


def _without(uri: str, budget_bytes: int) -> dict[str, Any]:
    """Return the answers without an image, and how long the question about everything takes."""
    graph = _opened(uri, budget_bytes)
    answers = _answers(graph)
    return {
        "answers": answers,
        "seconds": once(lambda: graph.query(CITIES)),
        "ways": sorted({graph.explain(text).way.name for text in (FRIENDS, BACK, OLD, CITIES)}),
    }


def _memory_bytes(which: str) -> int:
    """Return how much memory this process has, or has had at most; a child inherits what `getrusage` says."""
    lines = Path("/proc/self/status").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith(f"{which}:"))
    return int(line.split()[1]) * 1_024


def figures(directory: Path, edges: int) -> list[Figure]:
    """Measure at a number of edges."""
    uri = str(directory / "g.omni")
    new_graph(Path(uri), edges)
    budget = _BUDGET_BYTES + _BUDGET_BYTES_PER_EDGE * edges
    size = f"{edges:,} edges"
    too_small = edges // 2
    looked_up = apart(_looked_up, uri, too_small)
    without = apart(_without, uri, too_small)
    built = apart(_built, uri, budget)
    if without["answers"] != built["answers"]:
        raise RuntimeError("answers with and without an image differ")
    print(f"{size}: without an image by {' and '.join(without['ways'])}, one look-up {looked_up['hop'] * 1e3:.2f} ms")
    return [
        Figure(
            what=f"hop from a key by look-ups, {size}, no image",
            ours=looked_up["ours"],
            other=looked_up["lance"],
            compared="the same look-ups with Lance",
        ),
        Figure(
            what=f"image of {size} in both directions",
            ours=built["seconds"],
            rows=edges,
            note=f"{built['busy']:.1f} s of processor",
        ),
        Figure(
            what=f"aggregate over one hop of all people, {size}, image in memory",
            ours=built["asking"],
            other=without["seconds"],
            compared="without an image, by DuckDB",
        ),
        Figure(
            what=f"peak of memory of building it, {size}",
            ours=built["peak"] / 2**20,
            other=budget / 2**20,
            compared="the budget",
            goal=1.0,
            unit=Unit.MEBIBYTES,
            note=f"{built['peak'] / edges:.0f} bytes per edge",
        ),
        Figure(
            what=f"processor time of the hop after a commit of ten edges, {size}",
            ours=built["following"],
            goal=0.01,
        ),
    ]


def measure(directory: Path) -> list[Figure]:
    """Measure ten million edges."""
    return figures(directory, _EDGES)


def measure_small(directory: Path) -> list[Figure]:
    """See that it runs."""
    return figures(directory, _EDGES_SMALL)
