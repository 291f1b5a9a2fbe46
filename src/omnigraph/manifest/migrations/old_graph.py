"""An old graph, understood: its manifest rows together with what stood beside them, the log and the schema source.

A commit belongs to a branch when a row of its manifest names it; its graph version is the one it has in
`_graph_commits`, whose columns never changed. The log trails by one commit at most, which then is the head. The id of
the oldest commit serves as identity domain: a ULID of this graph alone, on which all its branches agree. Types that
were dropped are in no schema any more; they take identities after it, so that their directories stay accounted for.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

import pyarrow as pa

from omnigraph.base import ids
from omnigraph.base.values import dataclass
from omnigraph.catalog.compile import compile_schema
from omnigraph.catalog.model import Catalog, TableIdentity, TableKey
from omnigraph.errors import GraphCorrupt, SchemaDrift
from omnigraph.manifest.commits import Commit, CommitId, CommitKind
from omnigraph.manifest.log import CommitLog
from omnigraph.manifest.migrations.old_rows import OldTable, named_commits, read_old_tables
from omnigraph.manifest.schemas import SOURCE_COPY, SchemaStore
from omnigraph.storage.table_store import TableStore


@dataclass(frozen=True, slots=True, kw_only=True)
class OldGraph:
    """One branch of a graph of stamp 1 to 3, in the terms of stamp 4."""

    tables: tuple[OldTable, ...]
    history: tuple[Commit, ...]
    """The branch's commits, oldest first; the last one is its head."""
    schema_source: str
    catalog: Catalog
    identity_by_table: Mapping[TableKey, TableIdentity]

    @property
    def head(self) -> Commit:
        """The newest commit."""
        return self.history[-1]


def read_old_graph(rows: pa.Table, tables: TableStore, schemas: SchemaStore, *, branch: str) -> OldGraph:
    """Read what stands beside the rows of a branch, and understand them together; writes nothing."""
    return understand(rows, CommitLog(tables).logged(), schemas.source_copy(), branch=branch)


def understand(rows: pa.Table, logged: Iterable[Commit], schema_source: str, *, branch: str) -> OldGraph:
    """Order the commits of a branch and give its tables their identities; the same input gives the same ids."""
    tables = read_old_tables(rows)
    history = _history(named_commits(tables), logged, branch)
    compiled = compile_schema(schema_source, source=SOURCE_COPY, identity_domain=history[0].graph_commit_id)
    _check_schema(compiled, tables)
    dropped = [table.table_key for table in tables if table.tombstone is not None]
    catalog, identity_by_table = _identify(compiled, dropped)
    return OldGraph(
        tables=tables,
        history=history,
        schema_source=schema_source,
        catalog=catalog,
        identity_by_table=identity_by_table,
    )


def _history(named: frozenset[CommitId], logged: Iterable[Commit], branch: str) -> tuple[Commit, ...]:
    known = sorted(
        (commit for commit in logged if commit.graph_commit_id in named), key=lambda commit: commit.graph_version
    )
    unlogged = sorted(named - {commit.graph_commit_id for commit in known})
    if len(unlogged) > 1 or not named:
        what = f"names the commits {', '.join(unlogged)}, which are not logged" if unlogged else "names no commit"
        raise GraphCorrupt(f"__manifest of branch '{branch}' {what}; at most the newest commit may be missing.")
    return (*known, *(_unlogged_head(commit_id, known, branch) for commit_id in unlogged))


def _unlogged_head(commit_id: CommitId, known: list[Commit], branch: str) -> Commit:
    """Rebuild the record of a commit whose writer died before it logged it; its kind and actor are not known."""
    if not ids.is_ulid(commit_id):
        raise GraphCorrupt(f"__manifest of branch '{branch}' names {commit_id!r}, which is not a commit id.")
    parent = known[-1] if known else None
    return Commit(
        graph_commit_id=commit_id,
        parent_commit_id=parent.graph_commit_id if parent else None,
        graph_branch=branch,
        graph_version=parent.graph_version + 1 if parent else 1,
        kind=CommitKind.MUTATION if parent else CommitKind.GENESIS,
        actor_id=None,
        created_at_us=ids.ulid_ms(commit_id) * 1_000,
    )


def _check_schema(catalog: Catalog, tables: Iterable[OldTable]) -> None:
    visible = {table.table_key for table in tables if table.tombstone is None}
    odd = sorted(visible ^ {*catalog.type_by_table_key})
    if odd:
        raise SchemaDrift(
            f"{SOURCE_COPY} and the tables of the graph disagree about {', '.join(odd)}. An old graph keeps its schema "
            "in that file alone: restore the text that it had."
        )


def _identify(compiled: Catalog, dropped: list[TableKey]) -> tuple[Catalog, Mapping[TableKey, TableIdentity]]:
    """Continue the counter of the schema for the dropped types: all types, nodes first, then all incarnations."""
    start, count = compiled.next_identity_id, len(dropped)
    nodes_first = sorted(dropped, key=lambda key: (key.startswith("edge:"), key))
    identities = {key: entity.identity for key, entity in compiled.type_by_table_key.items()} | {
        key: TableIdentity(type_id=start + position, incarnation_id=start + count + position)
        for position, key in enumerate(nodes_first)
    }
    return replace(compiled, next_identity_id=start + 2 * count), identities
