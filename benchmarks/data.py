"""Generated input: people and who knows whom, as graph NDJSON and, for the raw runs, as plain NDJSON per type."""

import json
import random
from dataclasses import dataclass
from pathlib import Path

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


def generate(directory: Path, *, nodes: int, edges: int) -> Dataset:
    """Write the same rows twice: in envelopes for a load, and bare for the raw readers."""
    chance = random.Random(7)
    made = Dataset(
        graph=directory / "graph.jsonl",
        nodes=directory / "nodes.jsonl",
        edges=directory / "edges.jsonl",
        rows=nodes + edges,
    )
    with made.graph.open("w") as graph, made.nodes.open("w") as plain:
        for number in range(nodes):
            data = {
                "name": f"p{number}",
                "age": chance.randrange(90),
                "city": f"city{chance.randrange(500)}",
                "score": chance.random(),
            }
            graph.write(json.dumps({"type": "Person", "data": data}) + "\n")
            plain.write(json.dumps({"id": data["name"], **data}) + "\n")
    with made.graph.open("a") as graph, made.edges.open("w") as plain:
        for number in range(edges):
            source, target = f"p{chance.randrange(nodes)}", f"p{chance.randrange(nodes)}"
            data = {"since": f"20{chance.randrange(10, 26)}-0{chance.randrange(1, 10)}-15", "weight": chance.random()}
            graph.write(json.dumps({"edge": "Knows", "from": source, "to": target, "data": data}) + "\n")
            plain.write(json.dumps({"id": f"e{number}", "src": source, "dst": target, **data}) + "\n")
    return made
