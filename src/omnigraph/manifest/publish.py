"""The only function that writes rows of `__manifest`: the moment at which a graph commit becomes visible.

Publishing is a compare-and-swap on one row, `graph_head`, that every commit of a branch replaces. Two publishers
from the same state therefore never both land, even when they touch different tables.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import field, replace

from omnigraph.base import clock, ids
from omnigraph.base.values import dataclass
from omnigraph.catalog.model import TableIdentity, TableKey
from omnigraph.errors import CommitNotFound, Internal, ManifestConflict, PublishContended, ReadSetConflict
from omnigraph.manifest.commits import Commit, CommitId
from omnigraph.manifest.log import CommitLog
from omnigraph.manifest.pinned_state import PinnedState
from omnigraph.manifest.rows import (
    HEAD_OBJECT_ID,
    OBJECT_ID_BY_TYPE,
    ManifestRow,
    ObjectType,
    rows_to_table,
    schema_object_id,
    version_object_id,
)
from omnigraph.manifest.snapshot import GraphSnapshot, SchemaRef, TablePin
from omnigraph.manifest.state import ManifestReader, ManifestState
from omnigraph.storage.keyed import SwapLost, swap_rows
from omnigraph.storage.table_store import TableStore
from omnigraph.storage.tables import Table

PUBLISH_RETRY_BUDGET = 5
_FIRST_PAUSE_SECONDS = 0.02
_PAUSE_SECONDS_MAX = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class PinMove:
    """A table's pin after the commit."""

    table_key: TableKey
    identity: TableIdentity
    ref: str | None
    version: int
    row_count: int
    state: PinnedState = field(default_factory=PinnedState)
    """By what the state can be recognised."""

    @classmethod
    def to(
        cls,
        table: Table,
        *,
        table_key: TableKey,
        identity: TableIdentity,
        transaction_uuid: str | None,
        checksums: Mapping[str, str] | None = None,
    ) -> "PinMove":
        """Pin exactly the given state of a table; `checksums` are those of the files that the commit adds."""
        return cls(
            table_key=table_key,
            identity=identity,
            ref=table.address.ref,
            version=table.version,
            row_count=table.count_rows(),
            state=PinnedState(
                transaction_uuid=transaction_uuid,
                is_marked=table.identity_mark is not None,
                checksums=checksums or {},
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRegistration:
    """A table that the commit makes known, or gives a new name."""

    table_key: TableKey
    identity: TableIdentity
    location: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestChanges:
    """The complete delta of one publish; at most one pin per table."""

    pins: tuple[PinMove, ...] = ()
    registrations: tuple[TableRegistration, ...] = ()
    tombstones: tuple[TableRegistration, ...] = ()
    schema: SchemaRef | None = None

    @property
    def is_empty(self) -> bool:
        """Whether the publish leaves nothing but a commit, as a merge does that nets to nothing."""
        return not (self.pins or self.registrations or self.tombstones or self.schema)


@dataclass(frozen=True, slots=True, kw_only=True)
class Preconditions:
    """What must still be true of the branch; a check that fails writes nothing."""

    incarnation: str
    exact_head: CommitId | None
    """None accepts any head; the parent is then resolved per attempt."""
    ir_hash: str | None
    expected_pins: Mapping[TableIdentity, tuple[str | None, int] | None] = field(default_factory=dict)
    """Per table the visible `(ref, version)`; None means that the table must not be visible."""

    @classmethod
    def of(cls, snapshot: GraphSnapshot, pins: Iterable[TablePin], *, is_exact: bool = False) -> "Preconditions":
        """Demand the branch and schema of a snapshot and these pins; if it is to be exact, also its head."""
        return cls(
            incarnation=snapshot.incarnation,
            exact_head=snapshot.commit_id if is_exact else None,
            ir_hash=snapshot.schema.ir_hash,
            expected_pins={pin.identity: (pin.ref, pin.version) for pin in pins},
        )


class Publisher:
    """Publishes graph commits on one graph."""

    def __init__(self, tables: TableStore, reader: ManifestReader, log: CommitLog) -> None:
        self._tables = tables
        self._reader = reader
        self._log = log

    def publish(self, branch: str, changes: ManifestChanges, commit: Commit, preconditions: Preconditions) -> Commit:
        """Make `changes` visible as one commit, or raise and change nothing.

        `commit.parent_commit_id` and `graph_version` are filled from the state the publish lands on. A commit that is
        visible already (a lost acknowledgement, a repeated recovery) is returned as it stands.
        """
        pause = _FIRST_PAUSE_SECONDS
        for _ in range(PUBLISH_RETRY_BUDGET):
            state = self._reader.load(branch)
            if not state.stamp.is_current:
                raise Internal(f"Branch '{branch}' must be migrated before anything is published to it.")
            landed = self._already_landed(state, changes, commit.graph_commit_id)
            if landed is not None:
                return landed
            check_preconditions(state.branch.incarnation, state.snapshot, preconditions)
            self._log.add(state.head)
            try:
                return self._attempt(state, changes, commit)
            except SwapLost:
                clock.sleep_seconds(pause * ids.jitter())
                pause = min(pause * 2, _PAUSE_SECONDS_MAX)
        raise PublishContended(
            f"Publishing to branch '{branch}' lost {PUBLISH_RETRY_BUDGET} attempts against other commits.",
            attempts=PUBLISH_RETRY_BUDGET,
        )

    def _already_landed(self, state: ManifestState, changes: ManifestChanges, commit_id: CommitId) -> Commit | None:
        # A commit without rows of its own is only in the log once it is no longer the head.
        if not (changes.is_empty or state.mentions_commit(commit_id)):
            return None
        try:
            return self._log.find(commit_id, head=state.head)
        except CommitNotFound:
            return None

    def _attempt(self, state: ManifestState, changes: ManifestChanges, draft: Commit) -> Commit:
        commit = replace(
            draft,
            parent_commit_id=state.head.graph_commit_id,
            graph_version=state.head.graph_version + 1,
        )
        rows = rows_to_table(manifest_rows(changes, commit), state.table.schema)
        landed = swap_rows(self._tables, state.table, "object_id", rows)
        self._reader.take_over(state, landed, rows)
        return commit


def check_preconditions(incarnation: str, snapshot: GraphSnapshot, preconditions: Preconditions) -> None:
    """Raise `StaleView` when the branch is no longer as the writer saw it."""
    _expect("branch incarnation", preconditions.incarnation, incarnation)
    if preconditions.exact_head is not None:
        _expect("graph_head", preconditions.exact_head, snapshot.commit_id)
    if preconditions.ir_hash is not None:
        _expect("ir_hash", preconditions.ir_hash, snapshot.schema.ir_hash)
    for identity, expected in preconditions.expected_pins.items():
        pin = snapshot.pin_of(identity)
        actual = (pin.ref, pin.version) if pin is not None else None
        if actual != expected:
            table_key = pin.table_key if pin is not None else str(identity)
            raise ManifestConflict(
                f"stale view of '{table_key}': expected version {expected and expected[1]} but current is "
                f"{actual and actual[1]} — refresh and retry",
                table_key=table_key,
                expected=expected and expected[1],
                actual=actual and actual[1],
            )


def manifest_rows(changes: ManifestChanges, commit: Commit) -> list[ManifestRow]:
    """Spell a delta as manifest rows of one graph version, the head included."""
    rows = [
        *(_lifetime_row(table, commit, ObjectType.TABLE) for table in changes.registrations),
        *(_pin_row(pin, commit) for pin in changes.pins),
        *(_lifetime_row(table, commit, ObjectType.TABLE_TOMBSTONE) for table in changes.tombstones),
    ]
    if changes.schema is not None:
        rows.append(_schema_row(changes.schema, commit))
    rows.append(
        ManifestRow(
            object_id=HEAD_OBJECT_ID,
            object_type=ObjectType.GRAPH_HEAD,
            graph_version=commit.graph_version,
            graph_commit_id=commit.graph_commit_id,
            metadata=commit.to_json(),
        )
    )
    if len({row.object_id for row in rows}) != len(rows):
        raise Internal("One publish carries two rows for the same table.")
    return rows


def _expect(member: str, expected: str, actual: str) -> None:
    if expected != actual:
        raise ReadSetConflict(
            f"stale view of {member}: expected {expected} but current is {actual} — refresh and retry",
            member=member,
            expected=expected,
            actual=actual,
        )


def _lifetime_row(table: TableRegistration, commit: Commit, object_type: ObjectType) -> ManifestRow:
    """Spell the row that begins, renames or ends the lifetime of a table."""
    return ManifestRow(
        object_id=OBJECT_ID_BY_TYPE[object_type](table.identity, commit.graph_version),
        object_type=object_type,
        graph_version=commit.graph_version,
        graph_commit_id=commit.graph_commit_id,
        table_key=table.table_key,
        stable_table_id=table.identity.type_id,
        table_incarnation_id=table.identity.incarnation_id,
        location=table.location,
    )


def _pin_row(pin: PinMove, commit: Commit) -> ManifestRow:
    return ManifestRow(
        object_id=version_object_id(pin.identity, commit.graph_version),
        object_type=ObjectType.TABLE_VERSION,
        graph_version=commit.graph_version,
        graph_commit_id=commit.graph_commit_id,
        table_key=pin.table_key,
        stable_table_id=pin.identity.type_id,
        table_incarnation_id=pin.identity.incarnation_id,
        table_version=pin.version,
        table_branch=pin.ref,
        row_count=pin.row_count,
        metadata=pin.state.to_json(),
    )


def _schema_row(reference: SchemaRef, commit: Commit) -> ManifestRow:
    return ManifestRow(
        object_id=schema_object_id(commit.graph_version),
        object_type=ObjectType.SCHEMA,
        graph_version=commit.graph_version,
        graph_commit_id=commit.graph_commit_id,
        metadata=json.dumps(
            {
                "schema_hash": reference.schema_hash,
                "ir_hash": reference.ir_hash,
                "source_sha256": reference.source_sha256,
                "identity_domain": reference.identity_domain,
            },
            sort_keys=True,
        ),
    )
