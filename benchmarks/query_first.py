"""`python -m benchmarks.query_first ours|image|ladybug SMALL LARGE KEY`: the first question of a process.

Imports aside: the same question to a small graph comes before, so that everything it needs is imported. Prints the
seconds and the number of rows as JSON. `image` builds an image of everything first, which others find on disk.
"""

import importlib
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import omnigraph

ONE_HOP = "query q($k: String) { match { $a: Person { name: $k } $a knows $b } return { $b.name, $b.age } }"
ONE_HOP_CYPHER = "MATCH (a:Person {name: $k})-[:Knows]->(b:Person) RETURN b.name, b.age"


def ask_ours(uri: str, key: str) -> int:
    """Open a graph and ask."""
    import omnigraph

    return len(omnigraph.open(uri).query(ONE_HOP, k=key))


def ask_image(uri: str, key: str) -> int:
    """Build an image of everything, and ask."""
    import omnigraph

    graph = omnigraph.open(uri)
    build_image(graph)
    return len(graph.query(ONE_HOP, k=key))


def build_image(graph: "omnigraph.Graph") -> None:
    """Build what people and their edges have in an image, so that no question is looked up instead."""
    from omnigraph.catalog.model import EdgeType, NodeType, TableKey
    from omnigraph.query.access import Direction
    from omnigraph.query.opening import open_image

    with graph.snapshot() as snapshot:
        types = snapshot.catalog.type_by_table_key
        image = open_image(snapshot)
        people, knows = types[TableKey("node:Person")], types[TableKey("edge:Knows")]
        assert isinstance(people, NodeType)
        assert isinstance(knows, EdgeType)
        for name in ("name", "age", "city"):
            image.nodes(people).column(name)
        for direction in Direction:
            image.edges(knows).neighbours(0, direction)


def ask_ladybug(path: str, key: str) -> int:
    """Open a database and ask."""
    ladybug: Any = importlib.import_module("ladybug")
    with ladybug.Database(path) as database, ladybug.Connection(database) as connection:
        return len(connection.execute(ONE_HOP_CYPHER, {"k": key}).get_all())


def main() -> None:
    """Ask twice, and time the second."""
    whom, small, large, key = sys.argv[1:]
    ask = {"ours": ask_ours, "image": ask_image, "ladybug": ask_ladybug}[whom]
    ask(small, key)
    assert Path(large).exists()
    begun = time.perf_counter()
    rows = ask(large, key)
    print(json.dumps({"seconds": time.perf_counter() - begun, "rows": rows}))


if __name__ == "__main__":
    main()
