"""Read a snapshot in Spark, whose own types a program may have or not."""

from typing import Any

from omnigraph import Graph


def frames(graph: Graph, spark: Any) -> list[str]:
    snapshot = graph.snapshot("review")
    snapshot.to_spark(spark, "Person", columns=["id", "age"], where=[("age", ">", 3), ("name", "in", ["a"])])
    snapshot.to_spark(spark, "Person", where="age > 3", partition_bytes=1 << 25)
    views = graph.register_views(spark, prefix="og", branch="review")
    both = graph.frames(spark, properties=True)
    graph.load_dataframes({"Person": both.vertices}, mode="merge", maps={"Person": {"key": "name", "type": None}})
    return [*views.names, views.commit_id]
