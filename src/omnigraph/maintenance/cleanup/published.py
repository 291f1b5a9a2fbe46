"""Which states of tables the graph has ever published, and which graph versions can be read while some are gone."""

from collections.abc import Callable, Iterable, Iterator, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.values import dataclass
from omnigraph.manifest.commits import Commit, CommitId
from omnigraph.manifest.rows import ObjectType
from omnigraph.manifest.state import ManifestState
from omnigraph.storage.tables import TableAddress

Exists = Callable[[TableAddress, int], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class PinSpan:
    """One state of one table, and the graph versions of a branch that pin it."""

    address: TableAddress
    version: int
    since: int
    until: int | None
    """The first graph version that pins another state, or none; None while the branch still pins this one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchPast:
    """Everything that one branch has ever pinned."""

    branch: str
    head: Commit
    oldest: int
    """The first graph version whose schema is known."""
    spans: tuple[PinSpan, ...]

    @classmethod
    def of(cls, state: ManifestState) -> "BranchPast":
        """Read it from the rows, which hold all of history."""
        schemas = _of_type(state.rows, ObjectType.SCHEMA)["graph_version"].to_pylist()
        return cls(
            branch=state.branch.name, head=state.head, oldest=min(schemas, default=1), spans=tuple(_spans(state.rows))
        )

    def pinned_by_newest(self, count: int) -> Iterator[PinSpan]:
        """Yield what the newest graph versions pin."""
        oldest = self.head.graph_version - count + 1
        return (span for span in self.spans if span.until is None or span.until > oldest)

    def readable_from(self, exists: Exists) -> int | None:
        """Return the graph version from which on every one can be read; None when not even the newest can."""
        gone = [span.until for span in self.spans if not exists(span.address, span.version)]
        known = [until for until in gone if until is not None]
        return max([self.oldest, *known]) if len(known) == len(gone) else None

    def unreadable(self, exists: Exists) -> set[int]:
        """Return the graph versions of which some table is gone."""
        end = self.head.graph_version + 1
        return {
            version
            for span in self.spans
            if not exists(span.address, span.version)
            for version in range(span.since, span.until if span.until is not None else end)
        }


def published_versions(pasts: Iterable[BranchPast]) -> dict[TableAddress, set[int]]:
    """Return the versions of each ref that some graph version of a live branch pins."""
    published: dict[TableAddress, set[int]] = {}
    for past in pasts:
        for span in past.spans:
            published.setdefault(span.address, set()).add(span.version)
    return published


def commits_lost(
    pasts: Iterable[BranchPast], history: Mapping[CommitId, Commit], *, before: Exists, after: Exists
) -> tuple[CommitId, ...]:
    """Return the commits of live branches that could be read as a whole and no longer can, newest first."""
    lost: dict[CommitId, None] = {}
    for past in pasts:
        versions = past.unreadable(after) - past.unreadable(before)
        current: Commit | None = past.head
        while current is not None and versions:
            if current.graph_version in versions:
                versions.discard(current.graph_version)
                lost[current.graph_commit_id] = None
            parent = current.parent_commit_id
            current = history.get(parent) if parent is not None else None
    return tuple(lost)


def _spans(rows: pa.Table) -> Iterator[PinSpan]:
    tables = _of_type(rows, ObjectType.TABLE)
    locations = {
        (record["stable_table_id"], record["table_incarnation_id"]): record["location"]
        for record in tables.select(["stable_table_id", "table_incarnation_id", "location"]).to_pylist()
    }
    columns = ["stable_table_id", "table_incarnation_id", "graph_version", "table_branch", "table_version"]
    moves: dict[tuple[int, int], list[tuple[int, str | None, int | None]]] = {}
    for kind in (ObjectType.TABLE_VERSION, ObjectType.TABLE_TOMBSTONE):
        for record in _of_type(rows, kind).select(columns).to_pylist():
            version = record["table_version"] if kind is ObjectType.TABLE_VERSION else None
            identity = (record["stable_table_id"], record["table_incarnation_id"])
            moves.setdefault(identity, []).append((record["graph_version"], record["table_branch"], version))
    for identity, moved in moves.items():
        # The state of a moment is that of the newest row; a tombstone in the same commit would end it at once.
        moved.sort(key=lambda move: (move[0], move[2] is None))
        ends: list[int | None] = [*(since for since, _, _ in moved[1:]), None]
        for (since, ref, version), until in zip(moved, ends, strict=True):
            if version is not None and since != until:
                address = TableAddress(locations[identity], ref)
                yield PinSpan(address=address, version=version, since=since, until=until)


def _of_type(rows: pa.Table, kind: ObjectType) -> pa.Table:
    return rows.filter(pc.equal(rows["object_type"], kind.value))
