"""Graphs as programs of stamps 1 to 3 left them, made with raw pylance calls alone.

Every one holds the same history on `main`: genesis, a load, a dropped type, a second load by an actor, and a last
commit whose writer died before it logged it. A branch `review`, forked before that last commit, has one of its own.
Stamps 1 and 2 also have leftover staging branches on `__manifest` and on one table.
"""

import hashlib
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import lance
import pyarrow as pa

from omnigraph.storage.store import GraphStore
from support import harbor

KEY = {"lance-schema:unenforced-primary-key": "true"}
STAMP = "omnigraph:internal_schema_version"
MARKER = "omnigraph:migrating_from"
STAGING_REFS = ("__run__01", "__run__02")

_NEW_TABLE = {"enable_stable_row_ids": True, "data_storage_version": "2.2"}
_ID = pa.field("id", pa.string(), nullable=False, metadata=KEY)
_ENDS = [_ID, pa.field("src", pa.string(), nullable=False), pa.field("dst", pa.string(), nullable=False)]


def commit_id(number: int) -> str:
    return f"01HZY{number:021d}"


GENESIS, FIRST_LOAD, DROP, SECOND_LOAD, UNLOGGED, ON_REVIEW = map(commit_id, range(1, 7))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Table:
    location: str
    fields: list[pa.Field]
    contents: tuple[tuple[dict[str, Any], ...], ...]
    """One load per version from 2 on."""


TABLES = {
    "node:Sailor": _Table(
        location="nodes/Sailor.lance",
        fields=[
            _ID,
            pa.field("age", pa.int32()),
            pa.field("badge", pa.string()),
            pa.field("name", pa.string(), nullable=False),
            pa.field("rank", pa.string(), nullable=False),
        ],
        contents=(
            (
                {"id": "Ana", "name": "Ana", "rank": "captain", "age": 50, "badge": "b1"},
                {"id": "Bo", "name": "Bo", "rank": "mate", "age": 34, "badge": None},
            ),
            ({"id": "Cy", "name": "Cy", "rank": "deckhand", "age": None, "badge": None},),
        ),
    ),
    "node:Ship": _Table(
        location="nodes/Ship.lance",
        fields=[
            _ID,
            pa.field("hull", pa.string(), nullable=False),
            pa.field("title", pa.string(), nullable=False),
            pa.field("tons", pa.float64()),
        ],
        contents=(
            ({"id": "S1", "hull": "S1", "title": "Northern Star", "tons": 1200.5},),
            ({"id": "S2", "hull": "S2", "title": "Star of the Sea", "tons": None},),
        ),
    ),
    "node:Note": _Table(
        location="nodes/Note.lance", fields=[_ID, pa.field("text", pa.string(), nullable=False)], contents=()
    ),
    "edge:Mentors": _Table(
        location="edges/Mentors.lance",
        fields=[*_ENDS, pa.field("since", pa.date32())],
        contents=(({"id": "m1", "src": "Ana", "dst": "Bo", "since": None},),),
    ),
    "edge:ServesOn": _Table(
        location="edges/ServesOn.lance",
        fields=[*_ENDS, pa.field("berth", pa.int32())],
        contents=(({"id": "s1", "src": "Ana", "dst": "S1", "berth": 1},),),
    ),
    "node:Parrot": _Table(
        location="nodes/Parrot.lance",
        fields=[_ID, pa.field("name", pa.string(), nullable=False)],
        contents=(({"id": "Polly", "name": "Polly"},),),
    ),
}
REX = {"id": "Rex", "name": "Rex", "rank": "mate", "age": 7, "badge": None}

LIVE = sorted(set(TABLES) - {"node:Parrot"})
PINS = {
    "edge:Mentors": ("edges/Mentors.lance", None, 2, 1),
    "edge:ServesOn": ("edges/ServesOn.lance", None, 2, 1),
    "node:Note": ("nodes/Note.lance", None, 1, 0),
    "node:Sailor": ("nodes/Sailor.lance", None, 3, 3),
    "node:Ship": ("nodes/Ship.lance", None, 3, 2),
}
"""What `main` shows: location, ref, version and row count by table key."""
REVIEW_PINS = PINS | {
    "node:Sailor": ("nodes/Sailor.lance", "review", 4, 4),
    "node:Ship": ("nodes/Ship.lance", None, 2, 1),
}


def build(uri: str, *, stamp: int) -> None:
    """Make the graph of one old stamp at `uri`."""
    for table in TABLES.values():
        schema = pa.schema(table.fields)
        lance.write_dataset(schema.empty_table(), f"{uri}/{table.location}", schema=schema, **_NEW_TABLE)
        for rows in table.contents:
            append(uri, table.location, list(rows))
    lance.dataset(f"{uri}/nodes/Sailor.lance").create_branch("review", 3)
    append(uri, "nodes/Sailor.lance/tree/review", [REX])
    _build_manifest(uri, stamp)
    _build_log(uri)
    if stamp < 3:
        for location in ("__manifest", "nodes/Sailor.lance"):
            _leave_staging_refs(f"{uri}/{location}")
    GraphStore.open(uri).objects.put("_schema.pg", harbor.SCHEMA.encode())


def append(uri: str, location: str, rows: list[dict[str, Any]]) -> None:
    dataset = lance.dataset(f"{uri}/{location}")
    lance.write_dataset(pa.Table.from_pylist(rows, schema=dataset.schema), f"{uri}/{location}", mode="append")


def manifest_schema(stamp: int) -> pa.Schema:
    columns = [
        pa.field("object_id", pa.string(), nullable=False, metadata=KEY if stamp > 1 else None),
        pa.field("object_type", pa.string(), nullable=False),
        pa.field("location", pa.string()),
        pa.field("metadata", pa.string()),
        pa.field("table_key", pa.string(), nullable=False),
        pa.field("table_version", pa.uint64()),
        pa.field("table_branch", pa.string()),
        pa.field("row_count", pa.uint64()),
    ]
    return pa.schema(columns, metadata={STAMP: str(stamp)} if stamp > 1 else None)


def table_row(table_key: str) -> dict[str, Any]:
    return {
        "object_id": f"table:{table_key}",
        "object_type": "table",
        "table_key": table_key,
        "location": TABLES[table_key].location,
    }


def version_row(
    table_key: str, version: int, rows: int, commit: str, *, ref: str | None = None, kind: str = "table_version"
) -> dict[str, Any]:
    return {
        "object_id": f"{kind}:{table_key}:{version}",
        "object_type": kind,
        "table_key": table_key,
        "table_version": version,
        "table_branch": ref,
        "row_count": rows,
        "metadata": json.dumps({"graph_commit_id": commit}),
    }


def rows_before_fork() -> list[dict[str, Any]]:
    return [
        *(table_row(key) for key in TABLES),
        *(version_row(key, 1, 0, GENESIS) for key in TABLES),
        version_row("node:Sailor", 2, 2, FIRST_LOAD),
        version_row("node:Ship", 2, 1, FIRST_LOAD),
        version_row("node:Parrot", 2, 1, FIRST_LOAD),
        version_row("node:Parrot", 2, 1, DROP, kind="table_tombstone"),
        version_row("node:Sailor", 3, 3, SECOND_LOAD),
        version_row("edge:Mentors", 2, 1, SECOND_LOAD),
        version_row("edge:ServesOn", 2, 1, SECOND_LOAD),
    ]


UNLOGGED_ROWS = [version_row("node:Ship", 3, 2, UNLOGGED)]
REVIEW_ROWS = [version_row("node:Sailor", 4, 4, ON_REVIEW, ref="review")]


def log_records() -> list[dict[str, Any]]:
    def record(number: int, kind: str, *, parent: int, branch: str = "main") -> dict[str, Any]:
        return {
            "graph_commit_id": commit_id(number),
            "parent_commit_id": commit_id(parent) if parent else None,
            "graph_branch": branch,
            "graph_version": parent + 1,
            "kind": kind,
            "created_at": datetime(2024, 6, number, tzinfo=UTC),
            "metadata": "{}",
        }

    return [
        record(1, "genesis", parent=0),
        record(2, "load", parent=1),
        record(3, "schema_apply", parent=2),
        record(4, "load", parent=3),
        record(6, "mutation", parent=4, branch="review"),
    ]


def _build_manifest(uri: str, stamp: int) -> None:
    schema = manifest_schema(stamp)
    rows = pa.Table.from_pylist(rows_before_fork(), schema=schema)
    manifest = lance.write_dataset(rows, f"{uri}/__manifest", **_NEW_TABLE)
    manifest.create_branch("review")
    append(uri, "__manifest/tree/review", REVIEW_ROWS)
    append(uri, "__manifest", UNLOGGED_ROWS)


def _build_log(uri: str) -> None:
    moment = pa.timestamp("us", "UTC")
    commits = pa.schema(
        [
            pa.field("graph_commit_id", pa.string(), nullable=False, metadata=KEY),
            pa.field("parent_commit_id", pa.string()),
            pa.field("merged_parent_commit_id", pa.string()),
            pa.field("graph_branch", pa.string(), nullable=False),
            pa.field("graph_version", pa.uint64(), nullable=False),
            pa.field("kind", pa.string(), nullable=False),
            pa.field("created_at", moment, nullable=False),
            pa.field("metadata", pa.string()),
        ]
    )
    actors = pa.schema(
        [
            pa.field("graph_commit_id", pa.string(), nullable=False, metadata=KEY),
            pa.field("actor_id", pa.string(), nullable=False),
            pa.field("created_at", moment, nullable=False),
        ]
    )
    by_actor = {"graph_commit_id": SECOND_LOAD, "actor_id": "act-old", "created_at": datetime(2024, 6, 4, tzinfo=UTC)}
    lance.write_dataset(pa.Table.from_pylist(log_records(), schema=commits), f"{uri}/_graph_commits", **_NEW_TABLE)
    lance.write_dataset(pa.Table.from_pylist([by_actor], schema=actors), f"{uri}/_graph_commit_actors", **_NEW_TABLE)


def _leave_staging_refs(uri: str) -> None:
    """Leave two staging branches, the second made from the first, as an interrupted run of a run did."""
    first, second = STAGING_REFS
    version = lance.dataset(uri).version
    lance.dataset(uri).create_branch(first, version)
    lance.dataset(f"{uri}/tree/{first}").create_branch(second, (first, version))


def contents_of(uri: str) -> dict[str, str]:
    """Return a digest of every object below the root: equal before and after whatever writes nothing."""
    objects = GraphStore.open(uri).objects
    found = ((path, objects.read(path)) for path in objects.list(""))
    return {path: hashlib.sha256(stored.content).hexdigest() for path, stored in found if stored is not None}


def metadata_of(uri: str, *, ref: str | None = None) -> dict[str, str]:
    """Return the schema metadata of a branch's manifest."""
    dataset = lance.dataset(f"{uri}/__manifest" if ref is None else f"{uri}/__manifest/tree/{ref}")
    return {key.decode(): value.decode() for key, value in (dataset.schema.metadata or {}).items()}


def refs_of(uri: str, location: str) -> list[str]:
    return sorted(lance.dataset(f"{uri}/{location}").branches.list())
