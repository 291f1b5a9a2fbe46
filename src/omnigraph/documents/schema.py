"""The schema of a graph, and changes of it."""

from typing import TYPE_CHECKING

from omnigraph.base.values import Json
from omnigraph.documents.commits import commit_document, graph_version_members

if TYPE_CHECKING:  # the result classes live beside code that imports Lance
    from omnigraph.catalog.migration import MigrationStep
    from omnigraph.evolution.plan import SchemaPlan
    from omnigraph.evolution.run import AppliedSchema


def schema_document(source: str) -> Json:
    """Show a schema as it was written."""
    return {"schema_source": source}


def schema_plan_document(plan: "SchemaPlan", *, uri: str) -> Json:
    """Describe a plan; `uri` is the address as it was given."""
    return {
        "uri": uri,
        "supported": plan.supported,
        "step_count": len(plan.steps),
        "steps": _step_documents(plan.steps),
    }


def applied_schema_document(result: "AppliedSchema", *, uri: str) -> Json:
    """Describe an apply; one that returned was supported."""
    return {
        "uri": uri,
        "supported": True,
        "applied": result.applied,
        "step_count": len(result.steps),
        **graph_version_members(result.graph_version),
        "steps": _step_documents(result.steps),
        "commit": commit_document(result.commit) if result.commit else None,
    }


def _step_documents(steps: "tuple[MigrationStep, ...]") -> list[Json]:
    from omnigraph.catalog.migration import step_document

    return [step_document(step) for step in steps]
