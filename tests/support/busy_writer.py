"""A writer at full speed: `python -m support.busy_writer <uri> <commits>`; prints every title as it must be then."""

import json
import random
import sys

import omnigraph
from omnigraph.errors import StaleView


def write(graph: omnigraph.Graph, gone: str | None, number: int, title: str) -> None:
    """Commit one change; a head that moved meanwhile is the one refusal that a writer has to expect."""
    while True:
        try:
            with graph.write() as batch:
                if gone is not None:
                    batch.delete("Book", ids=[gone])
                batch.upsert("Book", [{"slug": f"b{number}", "title": title}])
        except StaleView:
            continue
        return


def main() -> None:
    uri, commits = sys.argv[1], int(sys.argv[2])
    chance = random.Random(11)
    graph = omnigraph.open(uri)
    titles = {row["id"]: row["title"] for row in graph.snapshot().table("Book").to_arrow(["id", "title"]).to_pylist()}
    for turn in range(commits):
        gone = chance.choice(sorted(titles)) if turn % 3 == 2 else None
        if gone is not None:
            del titles[gone]
        number, title = chance.randrange(40), f"{chance.choice(['early', 'late'])} words of turn {turn}"
        write(graph, gone, number, title)
        titles[f"b{number}"] = title
    print(json.dumps(titles))


if __name__ == "__main__":
    main()
