"""The state of one branch's `__manifest`, read once at one Lance version, and a look at those of all branches."""

import json
from collections.abc import Callable
from functools import cached_property
from typing import Final, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.values import dataclass
from omnigraph.errors import BranchNotFound, GraphCorrupt, GraphNotFound, OmniError, SnapshotNotFound
from omnigraph.manifest.commits import MAIN_BRANCH, Commit, CommitId, check_name
from omnigraph.manifest.known_branches import KnownBranches
from omnigraph.manifest.missing import no_such_branch
from omnigraph.manifest.root import refuse_moved
from omnigraph.manifest.rows import HEAD_OBJECT_ID, MANIFEST, ObjectType
from omnigraph.manifest.schemas import SchemaStore
from omnigraph.manifest.snapshot import GraphSnapshot, SchemaRef, advance, fold
from omnigraph.manifest.stamp import Stamp, read_stamp
from omnigraph.storage.filters import Comparison
from omnigraph.storage.known_heads import SeenRef, see_ref
from omnigraph.storage.refs import Ref, list_refs
from omnigraph.storage.table_store import TableStore
from omnigraph.storage.tables import Table, TableAddress
from omnigraph.storage.uris import GraphRoot

_FOLLOWED_ROWS_MAX: Final = 256
"""With more rows than this, all of them are folded at once, a column at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchHandle:
    """A live branch: its name, the incarnation that tells it from a namesake, and where its manifest lives."""

    name: str
    incarnation: str
    manifest: TableAddress


@dataclass(frozen=True, kw_only=True)
class ManifestState:
    """Everything a branch's manifest says, at one moment."""

    branch: BranchHandle
    table: Table
    rows: pa.Table
    """In the present shape, also when the disk is not (see `stamp`)."""
    stamp: Stamp
    head: Commit
    followed: GraphSnapshot | None = None
    """The snapshot of the head where it was made of the one before, which takes less than all rows do."""

    @cached_property
    def snapshot(self) -> GraphSnapshot:
        """The snapshot of the head."""
        if self.followed is not None:
            return self.followed
        return self.snapshot_at(self.head.graph_version, self.head.graph_commit_id)

    def snapshot_at(self, graph_version: int, commit_id: CommitId) -> GraphSnapshot:
        """Return the snapshot of an older graph version, whose commit the caller knows from the log."""
        if not 1 <= graph_version <= self.head.graph_version:
            raise SnapshotNotFound(
                f"Branch '{self.branch.name}' has no graph version {graph_version}; "
                f"it knows 1 to {self.head.graph_version}.",
                id=f"{self.branch.name}@{graph_version}",
            )
        return fold(
            self.rows,
            branch=self.branch.name,
            incarnation=self.branch.incarnation,
            graph_version=graph_version,
            commit_id=commit_id,
        )

    def accepted_sources(self) -> frozenset[str]:
        """Return the hashes of all schema sources that this branch has ever accepted."""
        schemas = self.rows.filter(pc.equal(self.rows["object_type"], ObjectType.SCHEMA.value))["metadata"]
        return frozenset(json.loads(metadata)["source_sha256"] for metadata in schemas.to_pylist())

    def accepted_schemas(self) -> tuple[SchemaRef, ...]:
        """Return all schemas that this branch has ever accepted, oldest first."""
        schemas = self.rows.filter(pc.equal(self.rows["object_type"], ObjectType.SCHEMA.value)).sort_by("graph_version")
        return tuple(SchemaRef.from_metadata(json.loads(metadata)) for metadata in schemas["metadata"].to_pylist())

    def mentions_commit(self, commit_id: CommitId) -> bool:
        """Whether a publish of this commit has landed: it is the head, or a row carries it."""
        return bool(pc.any(pc.equal(self.rows["graph_commit_id"], commit_id)).as_py())


class ManifestReader:
    """Reads manifests; a state is re-read only when the latest Lance version moved."""

    def __init__(self, tables: TableStore, schemas: SchemaStore, *, uri: str) -> None:
        self._tables = tables
        self._schemas = schemas
        self._uri = uri
        self._branches = KnownBranches()

    def resolve(self, branch: str) -> BranchHandle:
        """Find a live branch by name."""
        if branch == MAIN_BRANCH:
            return BranchHandle(name=MAIN_BRANCH, incarnation=MAIN_BRANCH, manifest=MANIFEST)
        refs = self._refs()
        ref = refs.get(check_name(branch, what="The branch name"))
        if ref is None:
            raise no_such_branch(branch, refs, uri=self._uri)
        refuse_moved(self._tables, GraphRoot.parse(self._uri))
        return BranchHandle(name=branch, incarnation=ref.incarnation, manifest=TableAddress(MANIFEST.location, branch))

    def head_of(self, table: Table) -> Commit | None:
        """Return the head that one Lance version of a manifest names; None from before there were head rows."""
        rows = table.read(where=Comparison("object_id", "=", HEAD_OBJECT_ID).sql())
        return _head(rows) if rows.num_rows else None

    def branch_names(self) -> list[str]:
        """Return the names of all live branches besides `main`, sorted; those of the program are hidden."""
        return [name for name in self.incarnations() if name != MAIN_BRANCH]

    def incarnations(self) -> dict[str, str]:
        """Return the incarnation of every live branch by name, `main` first; those of the program are hidden."""
        refs = self._refs()
        named = {name: refs[name].incarnation for name in sorted(refs) if not name.startswith("__")}
        return {MAIN_BRANCH: MAIN_BRANCH, **named}

    def _refs(self) -> dict[str, Ref]:
        """List all branches; those that are not there any more are forgotten, whoever has deleted them."""
        known = self._branches.names()
        refs = list_refs(self._tables, MANIFEST.location)
        for name in known - refs.keys() - {MAIN_BRANCH}:
            self.forget(name)
        return refs

    def is_current(self, state: ManifestState) -> bool:
        """Whether a state is known to be that of its branch as of now; every query asks, so little is asked for it."""
        branch = state.branch.name
        known = self._branches.find(branch)
        return (
            known is not None
            and known.state is state
            and self._is_same_branch(branch, known.seen)
            and self._tables.is_newest(state.table)
        )

    def is_known(self, state: ManifestState) -> bool:
        """Whether a state is still remembered as the last one that was read of its branch; asks nobody."""
        known = self._branches.find(state.branch.name)
        return known is not None and known.state is state

    def load(self, branch: str) -> ManifestState:
        """Return the branch's state as of now."""
        known = self._branches.find(branch)
        cached = known.state if known is not None else None
        if known is not None and self._is_same_branch(branch, known.seen) and self._tables.is_newest(known.state.table):
            self._branches.note_used(branch)
            return known.state
        # Looked at before anything is read: what changes after that shows at the next look.
        root = GraphRoot.parse(self._uri)
        seen = see_ref(root, MANIFEST.location, branch) if branch != MAIN_BRANCH else None
        handle = self.resolve(branch)
        if cached is None or cached.branch != handle or not self._tables.is_newest(cached.table):
            cached = self._read(handle, cached)
        self._branches.keep(branch, cached, seen)
        if root.is_local and not self._is_same_branch(branch, seen):
            self._branches.forget(branch)  # deleted while it was read, and whoever did it has forgotten it already
        return cached

    def forget(self, branch: str) -> None:
        """Let go of a branch that was deleted."""
        self._branches.forget(branch)
        self._tables.forget(TableAddress(MANIFEST.location, branch))

    def take_over(self, before: ManifestState, landed: Table, published: pa.Table) -> None:
        """Know the state that a publish of this process made of another, so that nobody has to read it."""
        if landed.version != before.table.version + 1:
            return  # Lance put it on top of a compaction; whoever asks next reads what is there.
        if self.is_known(before):
            self._branches.replace(before.branch.name, before, _followed(before, landed, published))

    def _is_same_branch(self, branch: str, seen: SeenRef | None) -> bool:
        return branch == MAIN_BRANCH or (seen is not None and seen.is_unchanged)

    def _no_graph(self) -> GraphNotFound:
        root = GraphRoot.parse(self._uri)
        if root.is_local and root.local_path.is_file():
            return GraphNotFound(f"{self._uri} is a file; a graph is a directory.", uri=self._uri)
        return GraphNotFound(f"There is no graph at {self._uri}. Create one with `omnigraph init`.", uri=self._uri)

    def _read(self, handle: BranchHandle, known: ManifestState | None) -> ManifestState:
        table = self._tables.head(handle.manifest)
        if table is None:
            if handle.name != MAIN_BRANCH:
                raise BranchNotFound(f"Branch '{handle.name}' was not found in {self._uri}.", branch=handle.name)
            raise self._no_graph()
        stamp = read_stamp(table.schema_metadata, table.schema.names, uri=self._uri)
        if not stamp.is_current:
            rows = self._upgraded_rows(handle, table, stamp)
        elif (
            known is not None
            and known.branch == handle
            and known.stamp.is_current
            and known.table.version < table.version
        ):
            return _followed(known, table, _present_rows(table.read_added_since(known.table)))
        else:
            rows = _present_rows(table.read())
        return ManifestState(branch=handle, table=table, rows=rows, stamp=stamp, head=_head(rows))

    def _upgraded_rows(self, handle: BranchHandle, table: Table, stamp: Stamp) -> pa.Table:
        """Read an older shape as if it had been migrated; what a migration would write stays in memory."""
        # Imported here: few graphs are old, and the steps rest on modules that rest on this one.
        from omnigraph.manifest.migrations.old_graph import read_old_graph
        from omnigraph.manifest.migrations.registry import upgrade_rows

        rows = table.read()
        old = read_old_graph(rows, self._tables, self._schemas, branch=handle.name)
        self._schemas.keep(old.catalog, old.schema_source)
        return upgrade_rows(rows, stamp, old)


def _present_rows(rows: pa.Table) -> pa.Table:
    """Leave out the rows of older shapes that a migrated manifest still holds: they have no graph version."""
    # In one piece: a piece for every fragment would take many times as much memory as what is in it.
    return rows.filter(pc.is_valid(rows["graph_version"])).combine_chunks()


def _followed(known: ManifestState, table: Table, added: pa.Table) -> ManifestState:
    """Bring a state up to date from the rows that were added to its table."""
    rows = _merge_added(known.rows, added)
    head = _head(rows)
    older: GraphSnapshot | None = vars(known).get("snapshot")
    newer = added.filter(pc.greater(added["graph_version"], pa.scalar(known.head.graph_version, pa.uint64())))
    is_little = newer.num_rows <= _FOLLOWED_ROWS_MAX
    followed = advance(older, newer, head=head) if older is not None and is_little else None
    return ManifestState(branch=known.branch, table=table, rows=rows, stamp=known.stamp, head=head, followed=followed)


def _merge_added(known: pa.Table, added: pa.Table) -> pa.Table:
    """Bring known rows up to date from newer fragments alone, so that a commit costs the same at any length of history.

    Rows are never deleted and only the head is ever rewritten: whatever a newer fragment holds replaces its namesake.
    """
    kept = known.filter(pc.invert(pc.is_in(known["object_id"], value_set=added["object_id"].combine_chunks())))
    return pa.concat_tables([kept, added]).combine_chunks()


def _head(rows: pa.Table) -> Commit:
    heads = rows.filter(pc.equal(rows["object_id"], HEAD_OBJECT_ID))["metadata"].to_pylist()
    if len(heads) != 1 or heads[0] is None:
        raise GraphCorrupt(f"__manifest holds {len(heads)} 'graph_head' rows instead of one.")
    return Commit.from_json(heads[0])


_LISTINGS_MAX = 3

Seen = TypeVar("Seen")


def look_at_live_branches(manifest: ManifestReader, look: Callable[[str], Seen]) -> dict[str, Seen]:
    """Return what `look` says of every live branch, `main` first; those deleted meanwhile are left out.

    A branch that is still there and cannot be read raises: it might need anything. When one is gone, the list is made
    and everything looked at again, at most three times in all, since what went may have been merged into a branch
    that was seen before. After the last time the gap is harmless: no branch goes while another reads its tables.
    """
    for listings_left in reversed(range(_LISTINGS_MAX)):
        listed = manifest.incarnations()
        seen: dict[str, Seen] = {}
        for name in listed:
            try:
                seen[name] = look(name)
            except OmniError:
                incarnation = manifest.incarnations().get(name)
                is_another = incarnation != listed[name]
                if not is_another or (incarnation is not None and not listings_left):
                    raise
        if seen.keys() == listed.keys():
            break
    return seen
