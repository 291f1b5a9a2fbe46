"""The rows of a query, and what was asked."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from omnigraph.base.values import Json, dataclass

if TYPE_CHECKING:  # Arrow is imported when there are rows
    from omnigraph.graphs.result import Result
    from omnigraph.query.plan.explain import ExplainedStep, Explanation


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A result, and the state that was asked: the head of a branch, or a snapshot by its address."""

    result: "Result"
    branch: str
    snapshot: str | None

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Return what JSON says of the values, row by row."""
        return self.result.json_rows()

    def target(self) -> dict[str, Json]:
        """Describe the state that was asked."""
        return {"branch": self.branch if self.snapshot is None else None, "snapshot": self.snapshot}


def query_document(answer: Answer) -> Json:
    """Describe a result with all of its rows."""
    result = answer.result
    columns = result.columns
    return {
        "query_name": result.query_name,
        "target": answer.target(),
        "row_count": len(result),
        "columns": list(columns),
        "rows": [dict(zip(columns, row, strict=True)) for row in answer.rows()],
        "graph_commit_id": result.commit_id,
    }


def explanation_document(explanation: "Explanation") -> Json:
    """Describe how a query is answered; what a step did is null if it was not run, or if an outer step did it all."""
    return {
        "query_name": explanation.query_name,
        "row_count": explanation.rows,
        "ms": _milliseconds(explanation.seconds),
        "way": {"name": explanation.way.name, "reason": explanation.way.reason, "reads": [*explanation.reads]},
        "steps": [_step(step) for step in explanation.steps],
    }


def _step(step: "ExplainedStep") -> Json:
    did = step.did
    return {
        "depth": step.depth,
        "step": step.text,
        "estimated_rows": None if step.estimated_rows is None else round(step.estimated_rows, 1),
        "rows": did.rows if did else None,
        "calls": did.calls if did else None,
        "ms": _milliseconds(did.seconds) if did else None,
    }


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * 1_000, 3)
