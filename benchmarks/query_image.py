"""The in-memory image of a snapshot: building it, following a commit, finding it on disk again, and what it takes.

Beside it stands what a reader would do without: read the two columns of the edges from Lance.
"""

import os
import random
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

import omnigraph
from benchmarks.figures import Figure, Unit, once, seconds
from omnigraph.query.access import Direction
from omnigraph.query.image.disk import DiskCache
from omnigraph.query.image.graph_image import GraphImage
from omnigraph.query.image.images import Images
from omnigraph.query.image.shelf import Shelf

SCHEMA = """
node Person { name: String @key  age: I32  city: String }
edge Knows: Person -> Person
"""
_PEOPLE_SHARE = 10
"""So many edges per person."""
_EDGES = 1_000_000
_EDGES_LARGE = 10_000_000
_COMMITS = 7
_CHUNK = 2_000_000


def new_graph(uri: Path, edges: int) -> omnigraph.Graph:
    """Make a graph of people who know each other at random."""
    graph = omnigraph.init(str(uri), SCHEMA)
    people = edges // _PEOPLE_SHARE
    chance = np.random.default_rng(1)
    names = pa.array([f"person-{number}" for number in range(people)])
    cities = pa.array([f"city-{number}" for number in chance.integers(0, 200, people)])
    ages = pa.array(chance.integers(0, 90, people), pa.int32())
    graph.load_table(pa.table({"name": names, "age": ages, "city": cities}), type="Person", mode="append")
    for start in range(0, edges, _CHUNK):
        ends = [names.take(pa.array(chance.integers(0, people, min(_CHUNK, edges - start)))) for _ in range(2)]
        graph.load_table(pa.table({"from": ends[0], "to": ends[1]}), type="Knows", mode="append")
    graph.optimize()
    return graph


def commit(graph: omnigraph.Graph, chance: random.Random, people: int) -> None:
    """Commit ten new edges."""
    pairs = [(chance.randrange(people), chance.randrange(people)) for _ in range(10)]
    with graph.write() as batch:
        batch.insert("Knows", [{"from": f"person-{a}", "to": f"person-{b}"} for a, b in pairs])


def one_hop(graph: omnigraph.Graph, images: Images, directions: tuple[Direction, ...] = (Direction.OUT,)) -> None:
    """Ask what a small query asks: a key, its neighbours, a column of them."""
    snapshot = graph.snapshot()
    image = GraphImage(graph._context, snapshot._pinned, snapshot.catalog, images)  # noqa: SLF001 — what queries do
    types = snapshot.catalog.type_by_table_key
    people, knows = image.nodes(types["node:Person"]), image.edges(types["edge:Knows"])
    person = people.find("person-17")
    for direction in directions:
        people.column("age").take(knows.neighbours(person, direction))


def figures(directory: Path, edges: int) -> list[Figure]:
    """Measure at a number of edges."""
    graph = new_graph(directory / "g.omni", edges)
    people = edges // _PEOPLE_SHARE
    cache = DiskCache(directory / "cache", 8 << 30)
    shelf = Shelf(8 << 30)
    kept = Images(shelf)
    size = f"{edges:,} edges"

    lance = once(lambda: graph.snapshot().table("Knows").to_arrow(["src", "dst"]))
    built = once(lambda: one_hop(graph, kept, (*Direction,)))
    used = shelf.used_bytes
    writing = once(lambda: one_hop(graph, Images(Shelf(8 << 30), cache)))
    cold = seconds(lambda: one_hop(graph, Images(Shelf(8 << 30), DiskCache(directory / "cache", 8 << 30))))
    without = once(lambda: one_hop(graph, Images(Shelf(8 << 30))))
    chance, following = random.Random(2), []
    for _ in range(_COMMITS):
        commit(graph, chance, people)
        begun = time.process_time()
        one_hop(graph, kept, (*Direction,))
        following.append(time.process_time() - begun)
    warm = seconds(lambda: [one_hop(graph, kept) for _ in range(1_000)]) / 1_000
    print(f"{size}: a hop on a followed image, its snapshot included, {warm * 1e6:.0f} µs")
    return [
        Figure(
            what=f"image of {size}, both directions",
            ours=built,
            other=lance,
            compared="reading both ends of all edges from Lance",
            rows=edges,
        ),
        Figure(what=f"first hop of a new process, {size}, image on disk", ours=cold, other=without, compared="without"),
        Figure(what=f"first hop of a new process, {size}, which keeps its image on disk", ours=writing),
        Figure(
            what=f"processor time until a commit of ten edges is seen by the next hop, {size}",
            ours=sorted(following)[len(following) // 2],
            goal=0.01,
        ),
        Figure(
            what=f"memory of an image of {size}, both directions",
            ours=used / 2**20,
            unit=Unit.MEBIBYTES,
            note=f"{used / edges:.1f} bytes per edge",
        ),
    ]


def measure(directory: Path) -> list[Figure]:
    """Measure a million edges."""
    return figures(directory, _EDGES)


def measure_large(directory: Path) -> list[Figure]:
    """Measure ten million edges."""
    return figures(directory, _EDGES_LARGE)


def main() -> None:
    """Print the figures of a million edges, or of as many as `EDGES` says."""
    import tempfile

    with tempfile.TemporaryDirectory() as directory:
        edges = int(os.environ.get("EDGES", str(_EDGES)))
        for figure in figures(Path(directory), edges):
            other = f", {figure.compared} {figure.spell(figure.other)}" if figure.other is not None else ""
            print(
                f"{figure.what}: {figure.ours * (1 if figure.unit is Unit.MEBIBYTES else 1e3):.2f}{other} {figure.note}"
            )


if __name__ == "__main__":
    main()
