"""The documents that routes answer with, as JSON schemas; the OpenAPI document is made of them."""

from typing import Any

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "integer"}
TRUTH: Schema = {"type": "boolean"}
OPTIONAL_TEXT: Schema = {"type": ["string", "null"]}
ANYTHING: Schema = {}


def ref(name: str) -> Schema:
    """Refer to a schema by its name."""
    return {"$ref": f"#/components/schemas/{name}"}


def _list(item: Schema) -> Schema:
    return {"type": "array", "items": item}


def _or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def _one_of(*words: str) -> Schema:
    return {"type": "string", "enum": list(words)}


def _object(members: dict[str, Schema], *, optional: tuple[str, ...] = ()) -> Schema:
    required = [name for name in members if name not in optional]
    return {"type": "object", "properties": members, "required": required}


_COMMIT = {
    "graph_commit_id": TEXT,
    "kind": TEXT,
    "manifest_branch": OPTIONAL_TEXT,
    "graph_branch": OPTIONAL_TEXT,
    "manifest_version": NUMBER,
    "graph_manifest_version": NUMBER,
    "parent_commit_id": OPTIONAL_TEXT,
    "merged_parent_commit_id": OPTIONAL_TEXT,
    "actor_id": OPTIONAL_TEXT,
    "created_at": NUMBER,
    "message": TEXT,
    "stats": {"type": "object"},
}
_READ = {
    "query_name": TEXT,
    "target": _object({"branch": OPTIONAL_TEXT, "snapshot": OPTIONAL_TEXT}),
    "row_count": NUMBER,
    "columns": _list(TEXT),
    "rows": _list({"type": "object"}),
}
_CHANGE = {
    "kind": TEXT,
    "type": _object({"id": TEXT, "name": TEXT}),
    "id": TEXT,
    "op": _one_of("insert", "update", "delete"),
    "before": {"type": "object"},
    "after": {"type": "object"},
}
_CAUSE = {
    "graph_commit_id": TEXT,
    "parent_commit_id": TEXT,
    "merged_parent_commit_id": TEXT,
    "authored_branch": TEXT,
    "actor_id": TEXT,
    "authored_at": NUMBER,
}
_CODE = _one_of(
    "unauthorized",
    "forbidden",
    "bad_request",
    "not_found",
    "method_not_allowed",
    "conflict",
    "too_many_requests",
    "internal",
)
_LOAD = {
    "uri": TEXT,
    "branch": TEXT,
    "base_branch": OPTIONAL_TEXT,
    "branch_created": TRUTH,
    "mode": _one_of("overwrite", "append", "merge"),
    "tables": _list(_object({"table_key": TEXT, "rows_loaded": NUMBER})),
    "total_rows": NUMBER,
    "nodes": _list(_object({"name": TEXT, "entities_loaded": NUMBER})),
    "edges": _list(_object({"name": TEXT, "entities_loaded": NUMBER})),
    "total_entities": NUMBER,
    "actor_id": OPTIONAL_TEXT,
    "commit": _or_null(ref("Commit")),
}
_CONFLICT = {
    "table_key": TEXT,
    "entity_kind": TEXT,
    "type_name": TEXT,
    "row_id": OPTIONAL_TEXT,
    "entity_id": OPTIONAL_TEXT,
    "kind": _one_of(
        "divergent_insert",
        "divergent_update",
        "delete_vs_update",
        "orphan_edge",
        "unique_violation",
        "cardinality_violation",
        "value_constraint_violation",
    ),
    "message": TEXT,
}

SCHEMAS: dict[str, Schema] = {
    "Health": _object(
        {"status": TEXT, "version": TEXT, "internal_schema_version": NUMBER, "source_version": TEXT},
        optional=("source_version",),
    ),
    "Ready": _object(
        {"status": TEXT, "graphs_ready": NUMBER, "graphs_quarantined": NUMBER},
        optional=("graphs_ready", "graphs_quarantined"),
    ),
    "Graphs": _object({"graphs": _list(_object({"graph_id": TEXT}))}),
    "QueryResult": _object({**_READ, "graph_commit_id": TEXT}),
    "ReadResult": _object(_READ),
    "Commit": _object(_COMMIT, optional=("message", "stats")),
    "Commits": _object({"commits": _list(ref("Commit"))}),
    "MutationResult": _object(
        {
            "branch": TEXT,
            "query_name": TEXT,
            "affected_nodes": NUMBER,
            "affected_edges": NUMBER,
            "actor_id": OPTIONAL_TEXT,
            "commit": _or_null(ref("Commit")),
        }
    ),
    "InvokeResult": {"anyOf": [ref("QueryResult"), ref("MutationResult")]},
    "StoredQueries": _object(
        {
            "queries": _list(
                _object(
                    {
                        "name": TEXT,
                        "tool_name": TEXT,
                        "description": TEXT,
                        "instruction": TEXT,
                        "mutation": TRUTH,
                        "params": _list(
                            _object(
                                {
                                    "name": TEXT,
                                    "kind": TEXT,
                                    "item_kind": TEXT,
                                    "vector_dim": NUMBER,
                                    "nullable": TRUTH,
                                },
                                optional=("item_kind", "vector_dim"),
                            )
                        ),
                    },
                    optional=("description", "instruction"),
                )
            )
        }
    ),
    "LoadResult": _object(_LOAD),
    "IngestResult": _object({**_LOAD, "base_branch": TEXT}),
    "Branches": _object({"branches": _list(TEXT)}),
    "CreatedBranch": _object({"uri": TEXT, "from": TEXT, "name": TEXT, "actor_id": OPTIONAL_TEXT}),
    "DeletedBranch": _object({"uri": TEXT, "name": TEXT, "actor_id": OPTIONAL_TEXT}),
    "MergeResult": _object(
        {
            "source": TEXT,
            "target": TEXT,
            "outcome": _one_of("already_up_to_date", "fast_forward", "merged"),
            "actor_id": OPTIONAL_TEXT,
            "commit": _or_null(ref("Commit")),
            "branch_deleted": TRUTH,
            "branch_delete_error": TEXT,
        },
        optional=("branch_deleted", "branch_delete_error"),
    ),
    "Snapshot": _object(
        {
            "branch": TEXT,
            "manifest_version": NUMBER,
            "graph_manifest_version": NUMBER,
            "internal_schema_version": NUMBER,
            "tables": _list(
                _object(
                    {
                        "table_key": TEXT,
                        "entity_kind": TEXT,
                        "type_name": TEXT,
                        "table_path": TEXT,
                        "table_version": NUMBER,
                        "table_branch": OPTIONAL_TEXT,
                        "row_count": NUMBER,
                    }
                )
            ),
        }
    ),
    "Schema": _object({"schema_source": TEXT}),
    "AppliedSchema": _object(
        {
            "uri": TEXT,
            "supported": TRUTH,
            "applied": TRUTH,
            "step_count": NUMBER,
            "manifest_version": NUMBER,
            "steps": _list({"type": "object"}),
            "commit": _or_null(ref("Commit")),
        }
    ),
    "Runs": _object({"runs": _list({"type": "object"})}),
    "Cause": _object(_CAUSE, optional=("parent_commit_id", "merged_parent_commit_id", "actor_id")),
    "Change": _object(_CHANGE, optional=("before", "after")),
    "CommitChanges": _object(
        {"cause": ref("Cause"), "changes": _list(ref("Change")), "next_page_token": TEXT}, optional=("next_page_token",)
    ),
    "FeedPage": _object(
        {
            "blocks": _list(_object({"cause": ref("Cause"), "changes": _list(ref("Change"))})),
            "next_page_token": TEXT,
            "cursor": TEXT,
            "caught_up": TRUTH,
        },
        optional=("next_page_token", "cursor", "caught_up"),
    ),
    "MergeConflict": _object(_CONFLICT),
    "Error": {
        **_object(
            {
                "error": TEXT,
                "kind": TEXT,
                "code": _CODE,
                "merge_conflicts": _list(ref("MergeConflict")),
                "merge_conflicts_total": NUMBER,
                "request_id": TEXT,
            },
            optional=("code", "merge_conflicts", "merge_conflicts_total"),
        ),
        "additionalProperties": True,
    },
}
