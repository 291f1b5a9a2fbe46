"""`python -m benchmarks.query_first ours|ladybug SMALL LARGE KEY`: the first question of a process, imports aside.

The same question to a small graph comes before, so that everything is imported that it needs. Prints the seconds and
the number of rows as JSON.
"""

import importlib
import json
import sys
import time
from pathlib import Path
from typing import Any

ONE_HOP = "query q($k: String) { match { $a: Person { name: $k } $a knows $b } return { $b.name, $b.age } }"
ONE_HOP_CYPHER = "MATCH (a:Person {name: $k})-[:Knows]->(b:Person) RETURN b.name, b.age"


def ask_ours(uri: str, key: str) -> int:
    """Open a graph and ask."""
    import omnigraph

    return len(omnigraph.open(uri).query(ONE_HOP, k=key))


def ask_ladybug(path: str, key: str) -> int:
    """Open a database and ask."""
    ladybug: Any = importlib.import_module("ladybug")
    with ladybug.Database(path) as database, ladybug.Connection(database) as connection:
        return len(connection.execute(ONE_HOP_CYPHER, {"k": key}).get_all())


def main() -> None:
    """Ask twice, and time the second."""
    whom, small, large, key = sys.argv[1:]
    ask = ask_ladybug if whom == "ladybug" else ask_ours
    ask(small, key)
    assert Path(large).exists()
    begun = time.perf_counter()
    rows = ask(large, key)
    print(json.dumps({"seconds": time.perf_counter() - begun, "rows": rows}))


if __name__ == "__main__":
    main()
