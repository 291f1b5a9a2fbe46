"""Data that goes in and out: load, export, embed, a baseline, and the tables of a snapshot."""

from typing import TYPE_CHECKING

from omnigraph.base.values import Json
from omnigraph.documents.commits import commit_document, graph_version_members

if TYPE_CHECKING:  # the result classes live beside code that imports Lance
    from omnigraph.graphs.snapshot import Snapshot
    from omnigraph.pipeline.embed.result import EmbedResult
    from omnigraph.pipeline.export.baseline import BaselineResult
    from omnigraph.pipeline.export.run import ExportResult
    from omnigraph.pipeline.load.run import LoadResult
    from omnigraph.query.mutate.run import MutationResult


def init_document(uri: str) -> Json:
    """Say that a graph was made; `uri` is the address as it was given."""
    return {"uri": uri, "initialized": True}


def load_document(result: "LoadResult") -> Json:
    """Describe a load: counts by table key, and the same counts by type name."""
    return {
        "uri": result.uri,
        "branch": result.branch,
        "base_branch": result.base_branch,
        "branch_created": result.branch_created,
        "mode": result.mode,
        "tables": [{"table_key": table.table_key, "rows_loaded": table.rows_loaded} for table in result.tables],
        "total_rows": result.total_rows,
        "nodes": _entities(result, "node"),
        "edges": _entities(result, "edge"),
        "total_entities": result.total_rows,
        "actor_id": result.actor_id,
        "engine": result.engine,
        "engine_reason": result.engine_reason,
        "commit": commit_document(result.commit) if result.commit else None,
    }


def mutation_document(result: "MutationResult") -> Json:
    """Describe a mutation; `commit` is the one it published, null if it changed nothing."""
    return {
        "branch": result.branch,
        "query_name": result.query_name,
        "affected_nodes": result.affected_nodes,
        "affected_edges": result.affected_edges,
        "actor_id": result.actor_id,
        "commit": commit_document(result.commit) if result.commit else None,
    }


def embed_document(result: "EmbedResult") -> Json:
    """Describe an embed run; only one over a graph has a commit, which is null when nothing was missing."""
    document: dict[str, Json] = {
        "input": result.input,
        "output": result.output,
        "records": result.records,
        "selected_records": result.selected_records,
        "embedded_records": result.embedded_records,
        "cleaned_records": result.cleaned_records,
        "mode": result.mode.value,
        "dimension": result.dimension,
        "model": result.model,
        "engine": result.engine,
        "engine_reason": result.engine_reason,
    }
    if result.is_graph:
        document["commit"] = commit_document(result.commit) if result.commit else None
    return document


def export_document(result: "ExportResult") -> Json:
    """Describe an export to files."""
    return {
        "uri": result.uri,
        "branch": result.branch,
        "graph_commit_id": result.commit_id,
        "format": result.format.value,
        "out": result.out,
        "tables": [{"table_key": table.table_key, "rows": table.rows} for table in result.tables],
        "total_rows": result.total_rows,
        "engine": result.engine,
        "engine_reason": result.engine_reason,
    }


def baseline_document(result: "BaselineResult") -> Json:
    """Say which state was written, and the cursor that follows it."""
    return {"snapshot_commit_id": result.snapshot_commit_id, "resume_cursor": result.resume_cursor}


def snapshot_document(snapshot: "Snapshot") -> Json:
    """Describe the tables that make up one graph version."""
    return {
        "branch": snapshot.branch,
        **graph_version_members(snapshot.graph_version),
        "internal_schema_version": snapshot.internal_schema_version,
        "tables": [
            {
                "table_key": table.table_key,
                "entity_kind": table.entity_kind,
                "type_name": table.type_name,
                "table_path": table.location,
                "table_version": table.version,
                "table_branch": table.ref,
                "row_count": table.row_count,
            }
            for table in snapshot.tables
        ],
    }


def _entities(result: "LoadResult", kind: str) -> Json:
    counts = {
        table.table_key.partition(":")[2]: table.rows_loaded
        for table in result.tables
        if table.table_key.startswith(f"{kind}:")
    }
    return [{"name": name, "entities_loaded": counts[name]} for name in sorted(counts)]
