"""Generated input: people and who knows whom, as graph NDJSON and, for the raw runs, as plain NDJSON per type."""

import random
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from omnigraph.storage import data_files

SCHEMA = """
node Person { name: String @key  age: I32  city: String  score: F64 }
edge Knows: Person -> Person { since: Date  weight: F64 }
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """Paths of one generated data set."""

    graph: Path
    nodes: Path
    edges: Path
    rows: int

    @property
    def bytes(self) -> int:
        """Size of the graph file."""
        return self.graph.stat().st_size


def fragments_of(rows: int) -> AbstractContextManager[object]:
    """Let one load write fragments of so few rows, as hundreds of small loads would have."""
    return patch.object(data_files, "_FRAGMENT_ROWS_MAX", max(1, rows))


def generate(directory: Path, *, nodes: int, edges: int) -> Dataset:
    """Write the same rows twice: in envelopes for a load, and bare for the raw readers."""
    made = Dataset(
        graph=directory / "graph.jsonl",
        nodes=directory / "nodes.jsonl",
        edges=directory / "edges.jsonl",
        rows=nodes + edges,
    )
    chance = random.Random(7)
    with made.graph.open("w") as graph, made.nodes.open("w") as plain:
        for number in range(nodes):
            city, score = chance.randrange(500), chance.random()
            data = f'"name": "p{number}", "age": {number % 90}, "city": "city{city}", "score": {score}'
            graph.write(f'{{"type": "Person", "data": {{{data}}}}}\n')
            plain.write(f'{{"id": "p{number}", {data}}}\n')
    with made.graph.open("a") as graph, made.edges.open("w") as plain:
        for number in range(edges):
            source, target = f"p{int(chance.random() * nodes)}", f"p{int(chance.random() * nodes)}"
            data = f'"since": "20{number % 16 + 10}-0{number % 9 + 1}-15", "weight": {chance.random()}'
            graph.write(f'{{"edge": "Knows", "from": "{source}", "to": "{target}", "data": {{{data}}}}}\n')
            plain.write(f'{{"id": "e{number}", "src": "{source}", "dst": "{target}", {data}}}\n')
    return made
