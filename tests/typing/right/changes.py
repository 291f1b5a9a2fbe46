"""What a consumer of changes writes, with the types it may rely on."""

import omnigraph
from omnigraph.changes.entities import EntityChange

graph = omnigraph.open("harbor.omni")

ages: dict[str, object] = {
    change.id: change.after.properties["age"] for change in graph.diff("main~1", "main") if change.after is not None
}
changes: list[EntityChange] = list(graph.changes.of_commit(graph.snapshot().commit_id, ops=["insert"]))
cursor: str | None = graph.changes.poll(start="now").cursor
brought: int = sum(table.inserted for table in graph.branches.diff("review").diff.counts())
resume: str = graph.baseline("state.jsonl").resume_cursor
