"""Create, load, read and travel."""

import io
from collections.abc import Iterator
from pathlib import Path

import omnigraph
from omnigraph import Commit, Graph, Snapshot, SnapshotTable
from omnigraph.errors import KeyConflict, OmniError


def make(uri: str) -> Graph:
    with omnigraph.init(uri, "node Artist { name: String @key }") as graph:
        graph.load(io.BytesIO(b""), mode="merge")
        graph.load(Path("artists.jsonl"), mode="append", actor="act-ines", max_errors=5)
    return omnigraph.open(uri, read_only=True)


def history(graph: Graph) -> Iterator[tuple[int, str, str | None]]:
    for commit in graph.commits(limit=10):
        yield commit.graph_version, commit.graph_commit_id, commit.actor_id


def newest(graph: Graph) -> Commit:
    return graph.commit(graph.snapshot().commit_id)


def count(graph: Graph) -> dict[str, int]:
    snapshot: Snapshot = graph.snapshot(version=1)
    table: SnapshotTable = graph.snapshot_at("main~1").table("Artist")
    table.to_arrow(["name"], where=[("name", ">=", "a"), ("name", "!=", None)])
    table.to_arrow(where=[[("name", "in", ["a", "b"])], [("name", "=", None)]], limit=5)
    table.to_pandas(where="name like 'a%'")
    with graph.snapshot("main~1") as held:
        print(held.sql("select name from Artist where name > ?", params=["a"]).rows())
    return {pin.table_key: pin.row_count for pin in snapshot.tables}


def loaded(graph: Graph) -> str:
    try:
        result = graph.load("more.jsonl", mode="append")
    except KeyConflict as conflict:
        return conflict.kind
    except OmniError as error:
        return f"{error.message} ({error.effect})"
    return result.commit.graph_commit_id if result.commit is not None else "nothing new"
