"""Small graphs and short words for tests of what loads and writes promise."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

import omnigraph
from omnigraph.errors import OmniError
from omnigraph.graph import Graph
from support.harbor import lines
from support.sailors import SCHEMA

Record = Mapping[str, Any]

CREW_SCHEMA = SCHEMA


def node(type_name: str, **data: Any) -> Record:
    return {"type": type_name, "data": data}


def edge(type_name: str, source: str, target: str, **data: Any) -> Record:
    return {"edge": type_name, "from": source, "to": target, "data": data}


def graph_of(uri: str, schema: str, *records: Record) -> Graph:
    """Create a graph, with these records if there are any."""
    graph = omnigraph.init(uri, schema)
    if records:
        graph.load(lines(records), mode="append")
    return graph


def load(graph: Graph, mode: str, *records: Record, **options: Any) -> str | None:
    """Load records; return the commit id, None if nothing changed."""
    commit = graph.load(lines(records), mode=mode, **options).commit
    return commit.graph_commit_id if commit is not None else None


def rows(graph: Graph, type_name: str, **at: Any) -> dict[str, dict[str, Any]]:
    """Return the entities of a type by id, without the id."""
    listed = graph.snapshot(**at).table(type_name).to_arrow().to_pylist()
    found = {row.pop("id"): row for row in listed}
    assert len(found) == len(listed), "an id occurs twice"
    return found


def column(graph: Graph, type_name: str, name: str) -> dict[str, Any]:
    """Return one property of the entities of a type by id."""
    return {identity: row[name] for identity, row in rows(graph, type_name).items()}


def refusal(graph: Graph, call: Callable[[], object]) -> OmniError:
    """Return the error of a call that must fail without leaving anything behind."""
    before = graph.snapshot().commit_id
    with pytest.raises(OmniError) as caught:
        call()
    assert graph.snapshot().commit_id == before
    assert graph.pending_operations() == []
    return caught.value


def codes(error: OmniError) -> dict[str, int]:
    """Return how often each code occurs in a refusal."""
    return dict(error.details["by_code"])


def messages(error: OmniError) -> list[str]:
    return [entry["message"] for entry in error.details["errors"]]


def places(error: OmniError) -> list[tuple[str, int]]:
    """Return the file and line of each shown error that has a place."""
    return [(entry["file"], entry["line"]) for entry in error.details["errors"] if "line" in entry]
