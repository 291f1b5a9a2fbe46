"""Frames of one snapshot: of one type, or all nodes and all edges, the shape that graph algorithms take.

The snapshot is chosen by who has it in hand, and travels in the options of the plan: wherever and however often Spark
plans a frame anew, it reads the same rows.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from omnigraph.catalog.model import EdgeType, EntityType
from omnigraph.connectors.spark.holding import hold_with_frame, is_connect
from omnigraph.connectors.spark.registration import register
from omnigraph.connectors.spark.type_read import TypeRead
from omnigraph.graphs.comparisons import Where
from omnigraph.graphs.snapshot import Snapshot
from omnigraph.storage.locks import HeldVersions
from omnigraph.storage.store import GraphStore

_COMMON = frozenset({"id", "type", "key", "src", "dst"})


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphFrames:
    """Vertices with `id`, `type` and `key`, edges with `id`, `type`, `src` and `dst`; with properties, if asked for.

    Ids are unique inside a type only, so that vertices are called `Type/key` here, and edges refer to them so.
    """

    vertices: Any
    edges: Any


def type_frame(
    spark: Any,
    store: GraphStore,
    snapshot: Snapshot,
    name: str,
    *,
    columns: Sequence[str] | None = None,
    where: Where = (),
    partition_bytes: int | None = None,
) -> Any:
    """Make the frame of one type on a session that knows the source; nothing is read before an action asks for it."""
    table = snapshot.table(name)
    selection = TypeRead.from_table(
        table,
        uri=store.uri,
        columns=columns,
        where=where,
        partition_bytes=partition_bytes,
        # A plan for a server passes through its logs and its pages; a classic one stays in this process.
        storage=store.settings.storage_options(with_credentials=not is_connect(spark)),
    )
    frame = spark.read.format("omnigraph").options(**selection.options()).load()
    hold_with_frame(frame, HeldVersions(store.objects, [table.pin.state]))
    return frame


def graph_frames(spark: Any, store: GraphStore, snapshot: Snapshot, *, with_properties: bool = False) -> GraphFrames:
    """Make the frames of a snapshot; nothing is read before an action asks for it."""
    from pyspark.sql import functions

    register(spark)

    def rows(entity: EntityType, *own: str) -> Any:
        return type_frame(spark, store, snapshot, entity.table_key, columns=None if with_properties else own)

    def called(type_name: str, column: str) -> Any:
        return functions.concat(functions.lit(f"{type_name}/"), functions.col(column))

    vertices, edges = [], []
    for entity in snapshot.catalog.entity_types():
        kind = functions.lit(entity.name).alias("type")
        if isinstance(entity, EdgeType):
            frame = rows(entity, "id", "src", "dst")
            src, dst = called(entity.from_type, "src").alias("src"), called(entity.to_type, "dst").alias("dst")
            edges.append(_Part(entity, frame, (frame["id"], kind, src, dst)))
        else:
            frame = rows(entity, "id")
            vertices.append(
                _Part(entity, frame, (called(entity.name, "id").alias("id"), kind, frame["id"].alias("key")))
            )
    empty = "id string, type string, src string, dst string"
    return GraphFrames(
        vertices=_together(vertices),
        edges=_together(edges) if edges else spark.createDataFrame([], empty),
    )


@dataclass(frozen=True, slots=True)
class _Part:
    """One type's rows, and the columns that every type has."""

    entity: EntityType
    frame: Any
    common: tuple[Any, ...]

    def properties(self) -> dict[str, str]:
        """Return the properties that were read, and their types."""
        types = {field.name: field.dataType.simpleString() for field in self.frame.schema}
        return {name: types[name] for name in self.entity.property_by_name if name in types}


def _together(parts: list[_Part]) -> Any:
    """Put the rows of several types into one frame; a property that a type does not have is null there.

    A property that has one type everywhere is one column. Otherwise, or if its name is taken, the name of its type is
    put before its own.
    """
    kinds: dict[str, set[tuple[str, str]]] = {}
    for part in parts:
        for name, kind in part.properties().items():
            # Spark compares names without regard to case.
            kinds.setdefault(name.casefold(), set()).add((name, kind))

    def columns(part: _Part) -> Iterator[Any]:
        yield from part.common
        for name in part.properties():
            is_plain = len(kinds[name.casefold()]) == 1 and name.casefold() not in _COMMON
            yield part.frame[name].alias(name if is_plain else f"{part.entity.name}_{name}")

    selected = [part.frame.select(*columns(part)) for part in parts]
    return reduce(lambda left, right: left.unionByName(right, allowMissingColumns=True), selected)
