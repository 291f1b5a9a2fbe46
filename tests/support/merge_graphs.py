"""Graphs whose branches are ready to be merged, by whichever way a test takes."""

import omnigraph
from omnigraph.graph import Graph

SCHEMA = """
node Thing {
    name: String @key
    text: String?
    number: F64?
    words: [String]?
    vector: Vector(2)?
    time: DateTime?
    payload: Blob?
    _row_note: String?
}
"""
EQUAL = {
    "zeros": ("number", 0.0, -0.0),
    "one instant": ("time", "2020-01-01T12:00:00Z", "2020-01-01T14:00:00+02:00"),
    "bytes": ("payload", b"same", b"same"),
    "lists": ("words", ["a", "b"], ["a", "b"]),
    "vectors": ("vector", [0.5, 1.0], [0.5, 1.0]),
    "both null": ("text", None, None),
}
DIFFERENT = {
    "null and the empty text": ("text", None, ""),
    "a list and its spelling": ("words", ["a, b"], ["a", "b"]),
    "null and the empty list": ("words", None, []),
    "texts with a boundary inside": ("words", ["a", "bc"], ["ab", "c"]),
    "bytes of equal length": ("payload", b"abcd", b"abce"),
    "vectors": ("vector", [0.5, 1.0], [0.5, 1.0000001]),
    "numbers": ("number", 0.1, 0.1 + 1e-16),
    "a property that looks like a system column": ("_row_note", "x", "y"),
}
START = {"text": "old", "number": 9.0, "words": ["old"], "vector": [9.0, 9.0], "payload": b"old"}


def make_graph(uri: str) -> Graph:
    """Make a graph in which `review` and `main` gave every case another spelling of its values."""
    graph = omnigraph.init(uri, SCHEMA)
    with graph.write() as batch:
        names = [*(f"= {name}" for name in EQUAL), *(f"≠ {name}" for name in DIFFERENT)]
        batch.insert("Thing", [{"name": name, **START} for name in names])
    graph.branches.create("review")
    for branch, side in (("review", 1), ("main", 2)):
        with graph.write(branch=branch) as batch:
            for sign, cases in (("=", EQUAL), ("≠", DIFFERENT)):
                for name, case in cases.items():
                    batch.update("Thing", {case[0]: case[side]}, ids=[f"{sign} {name}"])
    return graph


def set_age(graph: Graph, branch: str, name: str, age: int) -> None:
    with graph.write(branch=branch) as batch:
        batch.update("Sailor", {"age": age}, ids=[name])


def ages(graph: Graph, branch: str = "main") -> dict[str, int | None]:
    rows = graph.snapshot(branch).table("Sailor").to_arrow(["name", "age"]).to_pylist()
    return {row["name"]: row["age"] for row in rows}


def criss_cross(graph: Graph) -> None:
    """Merge two branches into each other at once: their heads have two best common ancestors then."""
    graph.branches.create("one")
    graph.branches.create("two")
    set_age(graph, "one", "Ana", 51)
    set_age(graph, "two", "Bo", 35)
    graph.branches.create("one-before", source="one")
    graph.branches.merge("two", into="one")
    graph.branches.merge("one-before", into="two")
