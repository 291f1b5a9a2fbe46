"""People and who knows whom, changed again and again: `python -m support.friends_writer <uri> <seconds>`."""

import json
import random
import sys
import time

import omnigraph
from omnigraph.errors import StaleView
from omnigraph.graph import Graph

SCHEMA = """
node Person { name: String @key  age: I32? }
edge Knows: Person -> Person { since: Date? }
"""
_PEOPLE = 2_000
_EDGES = 8_000
_COMMITS_PER_SECOND = 20


def start(uri: str) -> Graph:
    """Make the graph that is changed."""
    graph = omnigraph.init(uri, SCHEMA)
    chance = random.Random(1)
    with graph.write() as batch:
        batch.insert("Person", [{"name": f"p{number}", "age": number} for number in range(_PEOPLE)])
        pairs = [(chance.randrange(_PEOPLE), chance.randrange(_PEOPLE)) for _ in range(_EDGES)]
        batch.insert("Knows", [{"id": f"k{n}", "from": f"p{a}", "to": f"p{b}"} for n, (a, b) in enumerate(pairs)])
    return graph


def change(graph: Graph, chance: random.Random, turn: int) -> None:
    """Commit a few changes around the first people, who are also the ones that are asked about."""
    some = [f"p{chance.randrange(50)}" for _ in range(3)]
    with graph.write() as batch:
        if turn % 7 == 3:
            batch.delete("Person", ids=[some[0]])
        batch.upsert("Person", [{"name": name, "age": turn} for name in {*some[1:], f"new{turn % 30}"}])
        batch.insert("Knows", [{"id": f"t{turn}", "from": some[1], "to": some[2]}])
        batch.insert("Knows", [{"id": f"u{turn}", "from": some[2], "to": f"new{turn % 30}"}])
        if turn > 4:
            batch.delete("Knows", ids=[f"t{turn - 4}", f"k{turn}"])


def main() -> None:
    uri, seconds = sys.argv[1], float(sys.argv[2])
    graph, chance, turn = omnigraph.open(uri), random.Random(2), 0
    begun = time.monotonic()
    while time.monotonic() < begun + seconds:
        try:
            change(graph, chance, turn)
        except StaleView:
            continue
        turn += 1
        time.sleep(max(0.0, begun + turn / _COMMITS_PER_SECOND - time.monotonic()))
    print(json.dumps({"commits": turn}))


if __name__ == "__main__":
    main()
