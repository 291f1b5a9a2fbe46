"""The commit log: `_graph_commits` and `_graph_commit_actors`.

The publish writes the whole record into `graph_head`, atomically with the pins; the log follows. It may trail the
head by exactly one commit, because every publisher logs its predecessor before it replaces the head. Readers
therefore see the log together with the head record.
"""

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from itertools import islice
from typing import Any, Final

import pyarrow as pa

from omnigraph.errors import CommitNotFound, GraphCorrupt, StorageError
from omnigraph.manifest.ancestry import newest_first
from omnigraph.manifest.commits import Commit, CommitId, CommitKind, readable_actor
from omnigraph.manifest.recent import RecentHistory
from omnigraph.manifest.rows import PRIMARY_KEY
from omnigraph.storage import filters
from omnigraph.storage.keyed import create_keyed_table, insert_missing
from omnigraph.storage.table_store import TableStore
from omnigraph.storage.tables import Table, TableAddress

COMMITS: Final = TableAddress("_graph_commits")
ACTORS: Final = TableAddress("_graph_commit_actors")
_KNOWN_MAX: Final = 50_000

COMMITS_SCHEMA: Final = pa.schema(
    [
        pa.field("graph_commit_id", pa.string(), nullable=False, metadata=PRIMARY_KEY),
        pa.field("parent_commit_id", pa.string()),
        pa.field("merged_parent_commit_id", pa.string()),
        pa.field("graph_branch", pa.string(), nullable=False),
        pa.field("graph_version", pa.uint64(), nullable=False),
        pa.field("kind", pa.string(), nullable=False),
        pa.field("created_at", pa.timestamp("us", "UTC"), nullable=False),
        pa.field("metadata", pa.string()),
    ]
)
ACTORS_SCHEMA: Final = pa.schema(
    [
        pa.field("graph_commit_id", pa.string(), nullable=False, metadata=PRIMARY_KEY),
        pa.field("actor_id", pa.string(), nullable=False),
        pa.field("created_at", pa.timestamp("us", "UTC"), nullable=False),
    ]
)


class CommitLog:
    """Reads and extends the log; extending is idempotent by commit id."""

    def __init__(self, tables: TableStore) -> None:
        self._tables = tables
        self._logged: set[CommitId] = set()
        self._known: dict[CommitId, Commit] = {}
        """Logged commits that somebody has looked for, which never change: nobody looks for them again."""

    def add(self, commit: Commit) -> None:
        """Log a commit and its actor; a commit that is there already is left alone."""
        if commit.graph_commit_id in self._logged:
            return
        if commit.actor_id is not None:
            self._insert(ACTORS, ACTORS_SCHEMA, _actor_row(commit, commit.actor_id))
        self._insert(COMMITS, COMMITS_SCHEMA, _commit_row(commit))
        # Only the newest matters: the next publisher of this process asks for exactly this one.
        self._logged = {commit.graph_commit_id}

    def find(self, commit_id: CommitId, *, head: Commit) -> Commit:
        """Return one commit, or raise `CommitNotFound`."""
        if head.graph_commit_id == commit_id:
            return head
        known = self._known.get(commit_id)
        if known is not None:
            return known
        found = self._read(filters.Comparison("graph_commit_id", "=", commit_id).sql())
        if not found:
            raise CommitNotFound(f"No commit {commit_id} is known to this graph.", id=commit_id)
        self._know(found)
        return found[0]

    def logged(self) -> list[Commit]:
        """Return every commit that is in the log, in no particular order."""
        return self._read(None)

    def history(self, *heads: Commit) -> dict[CommitId, Commit]:
        """Return every commit by id: what is logged, and heads that may stand in their manifest only."""
        return {commit.graph_commit_id: commit for commit in (*self.logged(), *heads)}

    def recent(self, *heads: Commit) -> RecentHistory:
        """Return the same as `history`, read from its newest end and only as far as somebody looks."""
        self._know(())
        return RecentHistory(lambda: self._head_or_none(COMMITS), heads, self._commits, self._known)

    def first_parents(self, head: Commit) -> Iterable[Commit]:
        """Yield the head, its first parent, and so on to genesis; order comes from the parents alone."""
        by_id = self.recent(head)
        current: Commit | None = head
        while current is not None:
            yield current
            parent = current.parent_commit_id
            if parent is not None and parent not in by_id:
                raise GraphCorrupt(f"Commit {parent}, the parent of {current.graph_commit_id}, is in no log.")
            current = by_id[parent] if parent is not None else None

    def newest(self, head: Commit, *, limit: int | None, merged: bool) -> list[Commit]:
        """Return the history behind a head, newest first: along the first parents, or with all that was merged."""
        history = newest_first(self.history(head), head.graph_commit_id) if merged else self.first_parents(head)
        return [*history] if limit is None else [*islice(history, max(limit, 0))]

    def line_after(self, version: int, *, head: Commit) -> list[Commit]:
        """Return the commits of the head's first-parent line that made later graph versions, oldest first.

        Reads only those, so that following a branch costs what happened on it and not all of its past.
        """
        newer = self._read(filters.Comparison("graph_version", ">", version).sql())
        by_id = {commit.graph_commit_id: commit for commit in newer}
        line: list[Commit] = []
        current: Commit | None = head
        while current is not None and current.graph_version > version:
            line.append(current)
            parent = current.parent_commit_id
            if parent is not None and parent not in by_id and current.graph_version > version + 1:
                raise GraphCorrupt(f"Commit {parent}, the parent of {current.graph_commit_id}, is in no log.")
            current = by_id.get(parent) if parent is not None else None
        return line[::-1]

    def line_down(self, commit_id: CommitId, *, version: int, down_to: int, head: Commit) -> list[Commit]:
        """Return a commit that made a graph version and its first parents down to another version, oldest first.

        Those that are not known yet are read together, with the commits that made the same versions on other branches.
        """
        line: list[Commit] = []
        read: dict[CommitId, Commit] = {head.graph_commit_id: head}
        is_read = False
        wanted: CommitId | None = commit_id
        while wanted is not None and version >= down_to:
            found = read.get(wanted) or self._known.get(wanted)
            if found is None and not is_read:
                oldest = filters.Comparison("graph_version", ">=", down_to)
                newest = filters.Comparison("graph_version", "<=", version)
                logged = self._read(filters.all_of([oldest, newest]))
                self._know(logged)
                read.update((commit.graph_commit_id, commit) for commit in logged)
                is_read = True
                continue
            if found is None:
                raise GraphCorrupt(f"Commit {wanted}, an ancestor of {head.graph_commit_id}, is in no log.")
            line.append(found)
            wanted, version = found.parent_commit_id, found.graph_version - 1
        return line[::-1]

    def _know(self, commits: Iterable[Commit]) -> None:
        if len(self._known) > _KNOWN_MAX:
            self._known = {}  # whoever is reading on with the old ones keeps them
        self._known.update((commit.graph_commit_id, commit) for commit in commits)

    def _insert(self, address: TableAddress, schema: pa.Schema, row: Mapping[str, Any]) -> None:
        table = self._tables.head(address) or create_keyed_table(self._tables, address, schema)
        insert_missing(self._tables, table, "graph_commit_id", pa.Table.from_pylist([dict(row)], schema=schema))

    def _read(self, where: str | None) -> list[Commit]:
        commits = self._head_or_none(COMMITS)
        if commits is None:
            return []
        found = commits.read(where=where)
        return self._commits(found, is_all=where is None)

    def _commits(self, rows: pa.Table, *, is_all: bool = False) -> list[Commit]:
        actor_by_id = self._actors(None if is_all else rows["graph_commit_id"].combine_chunks())
        return [_commit(record, actor_by_id.get(record["graph_commit_id"])) for record in rows.to_pylist()]

    def _actors(self, commit_ids: pa.Array | None) -> dict[str, str]:
        """Return the actors of these commits, or of all."""
        actors = self._head_or_none(ACTORS)
        if actors is None:
            return {}
        columns = ["graph_commit_id", "actor_id"]
        found = actors.read(columns) if commit_ids is None else actors.lookup(columns[0], commit_ids, columns)
        return dict(zip(found["graph_commit_id"].to_pylist(), found["actor_id"].to_pylist(), strict=True))

    def _head_or_none(self, address: TableAddress) -> Table | None:
        try:
            return self._tables.head(address)
        except StorageError as error:
            if error.details["storage_kind"] == "not_found":
                return None
            raise


def _commit_row(commit: Commit) -> Mapping[str, Any]:
    return {
        "graph_commit_id": commit.graph_commit_id,
        "parent_commit_id": commit.parent_commit_id,
        "merged_parent_commit_id": commit.merged_parent_commit_id,
        "graph_branch": commit.graph_branch,
        "graph_version": commit.graph_version,
        "kind": commit.kind.value,
        "created_at": commit.created_at_us,
        "metadata": json.dumps(dict(commit.metadata), sort_keys=True),
    }


def _actor_row(commit: Commit, actor_id: str) -> Mapping[str, Any]:
    return {"graph_commit_id": commit.graph_commit_id, "actor_id": actor_id, "created_at": commit.created_at_us}


def _commit(record: Mapping[str, Any], actor_id: str | None) -> Commit:
    created_at: datetime = record["created_at"]
    return Commit(
        graph_commit_id=CommitId(record["graph_commit_id"]),
        parent_commit_id=record["parent_commit_id"],
        merged_parent_commit_id=record["merged_parent_commit_id"],
        graph_branch=record["graph_branch"],
        graph_version=record["graph_version"],
        kind=CommitKind(record["kind"]),
        actor_id=actor_id and readable_actor(actor_id),
        created_at_us=round((created_at - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1_000_000),
        metadata=json.loads(record["metadata"] or "{}"),
    )
