"""Results and events have public names."""

from typing import Any

import omnigraph
from omnigraph import (
    Advanced,
    BranchSummary,
    Event,
    ExportResult,
    Graph,
    HealthReport,
    LoadResult,
    OptimizeResult,
    SqlResult,
    WriteBatch,
    WriteResult,
)


def show(event: Event) -> None:
    if isinstance(event, Advanced):
        print(event.phase, event.done, event.unit)


def work(graph: Graph, frame: Any) -> tuple[LoadResult, ExportResult, OptimizeResult, HealthReport]:
    loaded: LoadResult = graph.load_table(frame, type="Sailor", mode="merge", events=show)
    return loaded, graph.export("all.jsonl", events=show), graph.optimize(), graph.health()


def write(graph: Graph, frame: Any) -> WriteResult:
    batch: WriteBatch = graph.write()
    return batch.upsert("Sailor", frame).insert("Ship", ({"hull": hull} for hull in ("S1", "S2"))).commit()


def ask(graph: Graph) -> list[dict[str, Any]]:
    result: SqlResult = graph.sql("select count(*) as n from Sailor", snapshot="main~1")
    return result.rows()


def branches(graph: Graph) -> list[BranchSummary]:
    return graph.branches.list()


def failed(error: omnigraph.errors.OmniError) -> str:
    return error.kind
