"""Reads a graph on a Connect server while it moves on, and prints what frames and views of one snapshot say.

    python frame_pins.py GRAPH sc://…

The server keeps few resolved plans of a session, so that asking for others makes it plan a frame anew.
"""

import io
import json
import sys
from typing import Any

import omnigraph

_PLANS = 40


def main(uri: str, remote: str) -> None:
    from pyspark.sql import SparkSession

    spark: Any = SparkSession.builder.remote(remote).getOrCreate()
    graph = omnigraph.open(uri)
    snapshot = graph.snapshot()
    asked = {
        "columns": snapshot.to_spark(spark, "Person", columns=["id", "name", "age"]),
        "nothing": snapshot.to_spark(spark, "Person", columns=[]),
        "vertices": graph.frames(spark, properties=True).vertices,
        "edges": graph.frames(spark).edges,
    }
    asked["made from one"] = asked["columns"].where("age < 50")
    views = graph.register_views(spark, prefix="og")
    asked["a view"] = spark.table("og_Person")
    before = {name: frame.count() for name, frame in asked.items()}
    graph.load(io.BytesIO(b'{"type": "Person", "data": {"name": "late", "age": 7}}\n'), mode="append")
    for number in range(_PLANS):
        spark.range(number + 1).count()
    after = {name: frame.count() for name, frame in asked.items()}
    print(json.dumps({"before": before, "after": after, "views": views.names}))


if __name__ == "__main__":
    main(*sys.argv[1:])
