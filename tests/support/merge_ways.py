"""The ways in which a merge is worked out; all of them must come to the same."""

import json
import sys
from typing import Any

from omnigraph.engine.choice import EngineChoice, EngineName
from omnigraph.errors import MergeConflicts
from omnigraph.graph import Graph

IN_PROCESS = EngineChoice(engine=EngineName.LOCAL, spark_min_bytes=sys.maxsize)
IN_BULK = EngineChoice(engine=EngineName.LOCAL, spark_min_bytes=0)
ON_SPARK = EngineChoice(engine=EngineName.SPARK)
WAYS = {"in process": IN_PROCESS, "in bulk": IN_BULK, "in buckets": IN_BULK, "on Spark": ON_SPARK}


def copy_of(graph: Graph, branch: str, way: str) -> str:
    """Make a branch that looks the same, to merge into."""
    return graph.branches.create(f"{branch}-{way.replace(' ', '-')}", source=branch)


def refusal(graph: Graph, source: str, into: str, choice: EngineChoice, **options: Any) -> dict[str, Any] | None:
    """Return what a merge is refused with, or None."""
    try:
        graph.branches.merge(source, into=into, engine=choice, **options)
    except MergeConflicts as refused:
        document: dict[str, Any] = json.loads(json.dumps(refused.details))
        return document
    return None
