"""All nodes and all edges of one snapshot as two frames, the shape that graph algorithms take."""

from dataclasses import dataclass
from functools import reduce
from typing import Any

from omnigraph.catalog.model import EdgeType
from omnigraph.reads.snapshot import Snapshot
from omnigraph.spark.registration import register


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphFrames:
    """Vertices with `id`, `type` and `key`, edges with `id`, `type`, `src` and `dst`.

    Ids are unique inside a type only, so that vertices are called `Type/key` here, and edges refer to them so.
    """

    vertices: Any
    edges: Any


def graph_frames(spark: Any, uri: str, snapshot: Snapshot) -> GraphFrames:
    """Make the frames of a snapshot; nothing is read before an action asks for it."""
    from pyspark.sql import functions

    register(spark)

    def rows(table_key: str, columns: str) -> Any:
        reader = spark.read.format("omnigraph").option("graph", uri).option("commit", snapshot.commit_id)
        return reader.option("type", table_key).option("columns", columns).load()

    def called(type_name: str, column: str) -> Any:
        return functions.concat(functions.lit(f"{type_name}/"), functions.col(column))

    vertices, edges = [], []
    for entity in snapshot.catalog.entity_types():
        named = functions.lit(entity.name).alias("type")
        if isinstance(entity, EdgeType):
            frame = rows(entity.table_key, "id,src,dst")
            src, dst = called(entity.from_type, "src").alias("src"), called(entity.to_type, "dst").alias("dst")
            edges.append(frame.select("id", named, src, dst))
        else:
            frame = rows(entity.table_key, "id")
            vertices.append(frame.select(called(entity.name, "id").alias("id"), named, frame["id"].alias("key")))
    empty = "id string, type string, src string, dst string"
    return GraphFrames(
        vertices=reduce(lambda left, right: left.unionByName(right), vertices),
        edges=reduce(lambda left, right: left.unionByName(right), edges) if edges else spark.createDataFrame([], empty),
    )
