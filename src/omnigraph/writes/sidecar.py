"""The recovery sidecar: what a writer is about to do, written down before it does anything.

`__recovery/<operation id>.json` names every table effect with the uuid of its planned transactions, so that whoever
finds it can prove which commits are this writer's. Ids decide ownership; names are for people.
"""

import os
import socket
from collections.abc import Mapping
from dataclasses import asdict, field
from enum import StrEnum
from typing import Any, Final

from omnigraph import __version__
from omnigraph.base import processes
from omnigraph.base.values import dataclass
from omnigraph.catalog.model import TableIdentity, TableKey
from omnigraph.errors import Internal
from omnigraph.manifest.commits import Commit, CommitId, CommitKind
from omnigraph.manifest.snapshot import TablePin
from omnigraph.storage.tables import TableAddress, lance_version
from omnigraph.writes.manifest_delta import ManifestDelta

RECOVERY_PREFIX: Final = "__recovery/"


class SidecarKind(StrEnum):
    """Which writer armed a sidecar; it decides what may be rolled forward and back."""

    MUTATION = "mutation"
    LOAD = "load"
    EMBED = "embed"
    OPTIMIZE = "optimize"
    BRANCH_MERGE = "branch_merge"
    SCHEMA_APPLY = "schema_apply"
    DISCARD_DRIFT = "discard_drift"


class Completion(StrEnum):
    """How recovery carries an operation on whose tables are where it wanted them."""

    PUBLISH_PLANNED = "publish_planned"
    """Every table stands behind its planned transactions: publish exactly these."""
    PUBLISH_REACHED = "publish_reached"
    """Publish what each table has reached, on whatever head there is."""
    RESTORE_THE_REST = "restore_the_rest"
    """Restore the tables that are not restored yet, and publish all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SidecarTraits:
    """What recovery may do with the operations of a kind, and whom they concern."""

    completion: Completion = Completion.PUBLISH_PLANNED
    is_never_undone: bool = False
    """Whether every step keeps the content that readers see: what was begun is carried on, never taken back."""
    concerns_all_branches: bool = False
    """Whether the writers of every branch wait for it, not only those of its own."""


SIDECAR_KINDS: Final[Mapping[SidecarKind, SidecarTraits]] = {
    SidecarKind.MUTATION: SidecarTraits(),
    SidecarKind.LOAD: SidecarTraits(),
    SidecarKind.EMBED: SidecarTraits(),
    SidecarKind.OPTIMIZE: SidecarTraits(completion=Completion.PUBLISH_REACHED, is_never_undone=True),
    SidecarKind.BRANCH_MERGE: SidecarTraits(),
    SidecarKind.SCHEMA_APPLY: SidecarTraits(concerns_all_branches=True),
    SidecarKind.DISCARD_DRIFT: SidecarTraits(completion=Completion.RESTORE_THE_REST, is_never_undone=True),
}
"""The one place where a kind of operation is declared."""


def sidecar_traits(kind: SidecarKind) -> SidecarTraits:
    """Return what recovery may do with operations of a kind."""
    found = SIDECAR_KINDS.get(kind)
    if found is None:
        raise Internal(f"writes/sidecar.py does not say what recovery may do with a {kind}")
    return found


class EffectKind(StrEnum):
    """What a writer does to one table."""

    COMMIT = "commit"
    """A chain of planned transactions on top of what the graph pins, each known by its uuid."""
    CREATE = "create"
    """The first version of a table that does not exist yet."""
    MAINTENANCE = "maintenance"
    """Commits of Lance's own making that change no row: how many and under which uuids shows only afterwards."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCommit:
    """One transaction that the writer intends to commit."""

    uuid: str
    read_version: int
    operation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fork:
    """The state that a ref is forked from by the operation itself."""

    from_ref: str | None
    from_version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SidecarEffect:
    """What the operation does to one table."""

    table_key: TableKey
    identity: TableIdentity
    location: str
    ref: str | None
    expected_version: int
    effect: EffectKind
    planned: tuple[PlannedCommit, ...]
    compensation_uuid: str
    fork: Fork | None = None
    pinned_version: int | None = None
    """What the graph pins, for an operation that starts from drift: the content that it brings back."""
    checksums: Mapping[str, str] = field(default_factory=dict)
    """Of the files that the operation adds, so that whoever rolls it forward publishes them too."""

    @property
    def creates_its_target(self) -> bool:
        """Whether the table, or the ref of it, is made by the operation itself: undoing removes it."""
        return self.fork is not None or self.effect is EffectKind.CREATE

    @property
    def expected_pin(self) -> tuple[str | None, int] | None:
        """What the graph pins before the operation is published; None when it must not know the table."""
        if self.effect is EffectKind.CREATE:
            return None
        version = self.expected_version if self.pinned_version is None else self.pinned_version
        return (self.ref if self.fork is None else self.fork.from_ref, version)

    @property
    def address(self) -> TableAddress:
        """Where the effect lands."""
        return TableAddress(self.location, self.ref)


@dataclass(frozen=True, slots=True, kw_only=True)
class Purge:
    """Data of one table that an operator gives up for good with a schema change; no graph version shows it any more."""

    table_key: TableKey
    location: str
    property_ids: tuple[int, ...] | None
    """Table versions that hold one of these properties go; None: the whole table goes."""

    def document(self) -> dict[str, Any]:
        """Spell the purge for a sidecar."""
        return asdict(self)

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> "Purge":
        """Read a purge back."""
        property_ids = document["property_ids"]
        return cls(
            table_key=document["table_key"],
            location=document["location"],
            property_ids=tuple(property_ids) if property_ids is not None else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackRecord:
    """The decision to undo, written before the first undo step; a second recovery follows it."""

    restores: Mapping[str, int]
    """Per table key the version that is restored."""
    classes: Mapping[str, str]
    """Per table key the class found when the decision was made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sidecar:
    """One armed operation."""

    operation_id: str
    kind: SidecarKind
    started_at_us: int
    writer: Mapping[str, Any]
    actor_id: str | None
    branch_name: str
    branch_incarnation: str
    head: CommitId
    graph_version: int
    ir_hash: str
    commit_id: CommitId
    commit_kind: CommitKind
    commit_created_at_us: int
    commit_metadata: Mapping[str, Any]
    rollback_commit_id: CommitId
    effects: tuple[SidecarEffect, ...]
    merged_parent_commit_id: CommitId | None = None
    """The second parent of a merge."""
    pointers: tuple[TablePin, ...] = ()
    """Pins that move to a state which exists already: without a table effect, the evidence cannot tell them."""
    manifest: ManifestDelta = field(default_factory=ManifestDelta)
    purges: tuple[Purge, ...] = ()
    rollback: RollbackRecord | None = None
    unknown_fields: Mapping[str, Any] = field(default_factory=dict)

    @property
    def path(self) -> str:
        """Where the sidecar is stored."""
        return sidecar_path(self.operation_id)

    @property
    def writer_is_provably_dead(self) -> bool:
        """Whether the process that armed this sidecar ran on this machine and is gone."""
        return processes.is_provably_dead(
            host=self.writer["host"], pid=self.writer["pid"], scope=self.writer.get("pid_scope")
        )

    def commit(self) -> Commit:
        """Return the commit that the writer meant to publish."""
        return Commit(
            graph_commit_id=self.commit_id,
            parent_commit_id=self.head,
            merged_parent_commit_id=self.merged_parent_commit_id,
            graph_branch=self.branch_name,
            graph_version=self.graph_version + 1,
            kind=self.commit_kind,
            actor_id=self.actor_id,
            created_at_us=self.commit_created_at_us,
            metadata=self.commit_metadata,
        )


def sidecar_path(operation_id: str) -> str:
    """Return where an operation's sidecar is stored."""
    return f"{RECOVERY_PREFIX}{operation_id}.json"


def this_writer() -> Mapping[str, Any]:
    """Describe this process for the sidecar: enough to tell whether it still lives, and for messages."""
    return {
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "pid_scope": processes.pid_scope(),
        # Not asked of the installation: that takes as long to read as a third of a small write.
        "program": __version__,
        "lance": lance_version(),
    }
