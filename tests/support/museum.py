"""A cluster by its ledger alone: graphs that are in order, and graphs with work for `maintain`."""

import json
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import omnigraph
from omnigraph.base import ids
from omnigraph.cluster.ledger import LEDGER_PATH
from omnigraph.graph import Graph
from omnigraph.storage.store import GraphStore
from support import harbor

SCHEMA = "node Artist { name: String @key  born: I32? }\n"


def artist(name: str, **more: Any) -> dict[str, Any]:
    return {"type": "Artist", "data": {"name": name, **more}}


def graph_in_order(uri: str) -> Graph:
    """A graph on which nothing is due."""
    graph = harbor.new_graph(uri, [artist("Ines"), artist("Remy")], schema=SCHEMA)
    graph.optimize()
    return graph


def leave_work(graph: Graph, *, loads: int = 2) -> Graph:
    """Load a few times, so that there are fragments to merge and rows that no index knows."""
    for _ in range(loads):
        graph.load(harbor.lines([artist(f"later {ids.new_ulid()}")]), mode="append")
    return graph


def write_ledger(root: str, names: Iterable[str]) -> None:
    """Say in the ledger of a cluster, local or not, that these graphs are applied."""
    applied = {f"graph.{name}": {"digest": "of a blob that is gone"} for name in names}
    ledger = {"version": 1, "applied_revision": {"resources": {**applied, "policy.broken": {"digest": "0"}}}}
    directory, _, name = LEDGER_PATH.rpartition("/")
    GraphStore.open(f"{root}/{directory}").objects.put(name, json.dumps(ledger).encode())


def museum(root: str, names: Iterable[str], *, due: Iterable[str] = ()) -> dict[str, Graph]:
    """Make a cluster whose graphs are in order but for those in `due`."""
    made: dict[str, Graph] = {}
    for name in names:
        uri = f"{root}/graphs/{name}.omni"
        if made and "://" not in root:
            # A graph may be copied as a whole, which is quicker than making it.
            shutil.copytree(next(iter(made.values())).uri, uri)
            made[name] = omnigraph.open(uri)
        else:
            made[name] = graph_in_order(uri)
    for name in due:
        leave_work(made[name])
    write_ledger(root, made)
    return made


def statuses(report: omnigraph.MaintainReport) -> dict[str, str]:
    """Return what became of each graph."""
    return {graph.name: graph.status.value for graph in report.graphs}


def settings_file(directory: Path, section: Mapping[str, Any]) -> str:
    """Write a file with the section, as JSON, which is YAML as well."""
    path = directory / "maintenance.yaml"
    path.write_text(json.dumps({"maintenance": section}), encoding="utf-8")
    return str(path)
