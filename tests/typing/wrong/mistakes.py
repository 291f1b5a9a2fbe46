"""One mistake per marked line."""

import omnigraph
from omnigraph import Graph


def mistakes(graph: Graph) -> None:
    graph.load("a.jsonl", mode="replace")  # mistake: arg-type
    graph.load("a.jsonl")  # mistake: call-arg
    graph.load("a.jsonl", "merge")  # mistake: call-arg
    omnigraph.init("a.omni", schema=None)  # mistake: arg-type
    omnigraph.open("a.omni", readonly=True)  # mistake: call-arg
    graph.snapshot(version="3")  # mistake: arg-type
    graph.snapshot(7)  # mistake: arg-type
    graph.snapshot().table("Sailor").to_arrow(limit="5")  # mistake: arg-type
    graph.snapshot().to_spark(None, "Sailor", where=[("age", "==", 1)])  # mistake: list-item
    graph.sql("select 1", "main")  # mistake: call-arg
    with graph.write() as batch:
        batch.delete("Sailor", ["Di"])  # mistake: call-arg
        batch.update("Sailor", {"age": 1}, where=[("age", "==", 1)])  # mistake: list-item
    print(graph.load("a.jsonl", mode="merge").commit.graph_version)  # mistake: union-attr
    graph.uri = "elsewhere"  # mistake: misc
    print(graph.commits().graph_version)  # mistake: attr-defined
    print(omnigraph.Grpah)  # mistake: attr-defined
