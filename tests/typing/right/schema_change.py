"""Plan a schema change, look at its steps, apply it."""

from omnigraph import Graph
from omnigraph.errors import SchemaApplyBlocked, UnsupportedSchemaChange


def change(graph: Graph, text: str) -> int | None:
    plan = graph.plan_schema(text, schema_source="new.pg", allow_data_loss=True)
    if not plan.supported:
        raise ValueError("; ".join(str(step) for step in plan.steps))
    try:
        result = graph.apply_schema(text, actor="act-ines")
    except (SchemaApplyBlocked, UnsupportedSchemaChange) as refusal:
        return refusal.exit_code
    return result.commit.graph_version if result.commit is not None else None
