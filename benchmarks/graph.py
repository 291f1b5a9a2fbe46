"""Export, schema changes and small commits against the raw library."""

import io
import json
import statistics
import time
from functools import partial
from pathlib import Path

import lance
import pyarrow as pa

import omnigraph
from benchmarks.data import SCHEMA, Dataset, generate
from benchmarks.figures import Figure, once, seconds

_COMMITS = 100


def measure(directory: Path) -> list[Figure]:
    """Measure on one graph of a million rows, and commits on a small one."""
    data = generate(directory, nodes=200_000, edges=800_000)
    graph = omnigraph.init(str(directory / "graph.omni"), SCHEMA)
    graph.load(data.graph, mode="append", engine="local")
    return [_export(graph, data), _schema_change(graph, data, directory), _commits(directory)]


def _export(graph: omnigraph.Graph, data: Dataset) -> Figure:
    snapshot = graph.snapshot()
    return Figure(
        what=f"export {data.rows:,} rows as NDJSON in id order",
        ours=seconds(lambda: graph.export(io.BytesIO())),
        other=seconds(lambda: [snapshot.table(pin.table_key).to_arrow() for pin in snapshot.tables]),
        compared="a Lance scan into memory, no text",
        rows=data.rows,
    )


def _schema_change(graph: omnigraph.Graph, data: Dataset, directory: Path) -> Figure:
    """Compare a schema change that renames, drops and fills columns with writing the same tables anew."""
    changed = SCHEMA.replace("city: String", 'town: String @rename_from("city")  paid: Bool @default(false)').replace(
        "weight: F64", ""
    )
    snapshot = graph.snapshot()

    def rewrite() -> None:
        for pin in snapshot.tables:
            target = str(directory / f"rewritten-{time.monotonic_ns()}")
            lance.write_dataset(snapshot.table(pin.table_key).to_arrow(), target, enable_stable_row_ids=True)

    return Figure(
        what=f"rename, drop and fill columns of {data.rows:,} rows, one commit",
        other=seconds(rewrite),
        ours=once(lambda: graph.apply_schema(changed)),
        compared="Lance writes the tables anew",
    )


def _commits(directory: Path) -> Figure:
    graph = omnigraph.init(str(directory / "commits.omni"), SCHEMA)
    plain = str(directory / "commits.lance")
    lance.write_dataset(pa.table({"id": ["x"], "n": [1]}), plain, enable_stable_row_ids=True)

    def commit(turn: int) -> None:
        row = {"name": f"c{turn}", "age": 1, "city": "x", "score": 0.5}
        graph.load(io.BytesIO(json.dumps({"type": "Person", "data": row}).encode()), mode="append")

    def append() -> None:
        lance.write_dataset(pa.table({"id": ["y"], "n": [1]}), plain, mode="append")

    return Figure(
        what=f"one-row commit, median of {_COMMITS}, a long-lived handle",
        ours=statistics.median(once(partial(commit, turn)) for turn in range(_COMMITS)),
        other=statistics.median(once(append) for _ in range(_COMMITS)),
        compared="one Lance append, nothing to recover",
    )
