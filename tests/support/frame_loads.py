"""Loads of frames as the data source makes them, without Spark: partitions that are kept, and a commit of them."""

import json

import pyarrow as pa

from omnigraph.base.events import ignore_events
from omnigraph.engine.local import LocalEngine
from omnigraph.graph import Graph
from omnigraph.graphs.context import GraphContext
from omnigraph.manifest.commits import Commit
from omnigraph.pipeline.load.bulk.partitions import PartitionOutcome, keep_partition
from omnigraph.pipeline.load.frames import FrameLoad
from omnigraph.pipeline.load.once import StreamBatch
from omnigraph.pipeline.load.record_lines import VALUE
from omnigraph.pipeline.load.request import FrameLoadRequest
from omnigraph.pipeline.load.writer import LoadMode
from omnigraph.storage.store import GraphStore


def context_of(graph: Graph) -> GraphContext:
    """Open the graph as whoever commits does."""
    return GraphContext.over(GraphStore.open(graph.uri), LocalEngine())


def begin_rows(
    graph: Graph, type_name: str | None, rows: pa.Table, mode: LoadMode = "append", *, branch: str = "main"
) -> FrameLoad:
    """Begin a load of rows of one type, or of whole records."""
    request = FrameLoadRequest(type=type_name, mode=mode, branch=branch)
    return FrameLoad.begin(context_of(graph), request, rows.column_names)


def keep_each(load: FrameLoad, rows: pa.Table) -> list[PartitionOutcome]:
    """Keep every row as a partition of its own."""
    parts = enumerate(rows.to_batches(max_chunksize=1))
    return [keep_partition(load.task, number, [part]) for number, part in parts]


def commit(load: FrameLoad, graph: Graph, *kept: PartitionOutcome, batch: StreamBatch | None = None) -> Commit | None:
    """Commit what was kept."""
    return load.commit(context_of(graph), kept, ignore_events, batch=batch)


def commit_rows(graph: Graph, type_name: str | None, rows: pa.Table, mode: LoadMode = "append") -> Commit | None:
    """Load rows of one type, or whole records, every row a partition of its own."""
    load = begin_rows(graph, type_name, rows, mode)
    return commit(load, graph, *keep_each(load, rows))


def legs(*pairs: tuple[str, str], ids: tuple[str | None, ...] = (), miles: tuple[int | None, ...] = ()) -> pa.Table:
    """Spell edges as rows of a frame."""
    columns: dict[str, object] = {"id": pa.array(ids, pa.string())} if ids else {}
    columns |= {"from": [source for source, _ in pairs], "to": [target for _, target in pairs]}
    return pa.table(columns | ({"miles": pa.array(miles, pa.int32())} if miles else {}))


def edge_records(type_name: str, rows: pa.Table) -> pa.Table:
    """Spell edges as whole records: only these may give their ids or not, each as it likes."""
    lines = []
    for row in rows.to_pylist():
        data = {name: row[name] for name in ("id", "miles") if row.get(name) is not None}
        lines.append(json.dumps({"edge": type_name, "from": row["from"], "to": row["to"], "data": data}))
    return pa.table({VALUE: lines})
