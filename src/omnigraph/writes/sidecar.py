"""The recovery sidecar: what a writer is about to do, written down before it does anything.

`__recovery/<operation id>.json` names every table effect with the uuid of its planned transactions, so that whoever
finds it can prove which commits are this writer's. Ids decide ownership; names are for people.
"""

import json
import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import asdict, field, fields, replace
from enum import StrEnum
from functools import cache
from typing import Any, Final

from omnigraph.base import faults, processes
from omnigraph.base.plain_text import plain_text
from omnigraph.base.showing import Shown
from omnigraph.base.values import dataclass
from omnigraph.catalog.model import TableIdentity, TableKey
from omnigraph.errors import Internal, ReadSetConflict, ResourceLimit, StorageError
from omnigraph.graphs.context import GraphContext
from omnigraph.manifest.commits import Commit, CommitId, CommitKind, readable_actor
from omnigraph.manifest.snapshot import TablePin
from omnigraph.storage.objects import ControlStore, ObjectChanged
from omnigraph.storage.tables import TableAddress
from omnigraph.writes.manifest_delta import ManifestDelta
from omnigraph.writes.purge import Purge

RECOVERY_PREFIX: Final = "__recovery/"
SIDECAR_SCHEMA_VERSION: Final = 1
_SIDECAR_BYTES_MAX = 4 << 20
_NUMBER_MAX = 1 << 60


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


class UnreadableSidecar(Exception):
    """A sidecar that cannot be understood; it is never deleted and never guessed at."""


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
        **_versions(),
    }


@cache
def _versions() -> Mapping[str, str]:
    from importlib.metadata import version

    return {"program": version("omnigraph"), "lance": version("pylance")}


def sidecar_bytes(sidecar: Sidecar) -> bytes:
    """Spell a sidecar."""
    document: dict[str, Any] = {
        **sidecar.unknown_fields,
        "schema_version": SIDECAR_SCHEMA_VERSION,
        "operation_id": sidecar.operation_id,
        "kind": sidecar.kind.value,
        "started_at_us": sidecar.started_at_us,
        "writer": dict(sidecar.writer),
        "actor_id": sidecar.actor_id,
        "branch": {"name": sidecar.branch_name, "incarnation": sidecar.branch_incarnation},
        "authority": {"head": sidecar.head, "graph_version": sidecar.graph_version, "ir_hash": sidecar.ir_hash},
        "commit": {
            "graph_commit_id": sidecar.commit_id,
            "parent_commit_id": sidecar.head,
            "merged_parent_commit_id": sidecar.merged_parent_commit_id,
            "kind": sidecar.commit_kind.value,
            "created_at_us": sidecar.commit_created_at_us,
            "metadata": dict(sidecar.commit_metadata),
        },
        "rollback_commit_id": sidecar.rollback_commit_id,
        "effects": [_effect_document(effect) for effect in sidecar.effects],
        "manifest": {
            **sidecar.manifest.document(),
            "update": [
                *(
                    {
                        "table_key": effect.table_key,
                        **effect.identity.document(),
                        "ref": effect.ref,
                    }
                    for effect in sidecar.effects
                    if effect.effect is not EffectKind.CREATE
                ),
                *(_pointer_document(pin) for pin in sidecar.pointers),
            ],
        },
        "purge": [purge.document() for purge in sidecar.purges],
        "rollback": asdict(sidecar.rollback) if sidecar.rollback else None,
    }
    content = (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode()
    if len(content) > _SIDECAR_BYTES_MAX:
        raise ResourceLimit(
            f"The record that {sidecar.kind.value} has to keep for recovery is larger than {_SIDECAR_BYTES_MAX} bytes; "
            "nothing was written.",
            resource="recovery_record_bytes",
            limit=_SIDECAR_BYTES_MAX,
            actual=len(content),
        )
    return content


_KNOWN = frozenset(
    {
        "schema_version",
        "operation_id",
        "kind",
        "started_at_us",
        "writer",
        "actor_id",
        "branch",
        "authority",
        "commit",
        "rollback_commit_id",
        "effects",
        "manifest",
        "purge",
        "rollback",
    }
)


def parse_sidecar(operation_id: str, content: bytes) -> Sidecar:
    """Read a sidecar back, or raise `UnreadableSidecar` saying why it cannot be understood."""
    if len(content) > _SIDECAR_BYTES_MAX:
        raise UnreadableSidecar(f"it is larger than {_SIDECAR_BYTES_MAX} bytes")
    try:
        document = json.loads(content)
        _check_format(document["schema_version"])
        sidecar = _from_document(document)
        _check_values(sidecar)
        targets = {(effect.identity, effect.ref) for effect in sidecar.effects}
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise UnreadableSidecar(f"it is not a sidecar: {type(error).__name__}: {error}") from error
    if sidecar.operation_id != operation_id:
        raise UnreadableSidecar(f"it claims to be operation {sidecar.operation_id}")
    if len(targets) != len(sidecar.effects):
        raise UnreadableSidecar("it names one table twice")
    return sidecar


def _check_values(sidecar: Sidecar) -> None:
    """Refuse values of other kinds than the program writes.

    They would surface in the middle of a recovery, or worse, behind its publish: a commit that nobody can log.
    """
    commits = (sidecar.head, sidecar.commit_id, sidecar.rollback_commit_id)
    texts = [sidecar.operation_id, sidecar.branch_name, sidecar.branch_incarnation, sidecar.ir_hash, *commits]
    numbers = [sidecar.started_at_us, sidecar.graph_version, sidecar.commit_created_at_us]
    optional: list[object] = [sidecar.actor_id, sidecar.merged_parent_commit_id]
    for effect in sidecar.effects:
        texts += [effect.table_key, effect.location, effect.compensation_uuid]
        texts += [text for planned in effect.planned for text in (planned.uuid, planned.operation)]
        numbers += [effect.expected_version, *(planned.read_version for planned in effect.planned)]
        optional += [effect.ref, effect.fork.from_ref if effect.fork is not None else None]
    for text in (*texts, *(given for given in optional if given is not None)):
        plain_text(text, what="its", refusal=ValueError)
    for number in numbers:
        if type(number) is not int or abs(number) > _NUMBER_MAX:
            raise TypeError(f"{number!r} is no number that belongs there")
    if not isinstance(sidecar.writer, dict) or not isinstance(sidecar.commit_metadata, dict):
        raise TypeError("its writer or its metadata is no object")


def _check_format(version: object) -> None:
    if not isinstance(version, int) or version > SIDECAR_SCHEMA_VERSION:
        raise UnreadableSidecar(
            f"its format is version {version}, this omnigraph knows up to {SIDECAR_SCHEMA_VERSION} — "
            "upgrade omnigraph first"
        )


def _from_document(document: Mapping[str, Any]) -> Sidecar:
    rollback = document["rollback"]
    return Sidecar(
        operation_id=document["operation_id"],
        kind=SidecarKind(document["kind"]),
        started_at_us=document["started_at_us"],
        writer=document["writer"],
        actor_id=_readable(document["actor_id"]),
        branch_name=document["branch"]["name"],
        branch_incarnation=document["branch"]["incarnation"],
        head=document["authority"]["head"],
        graph_version=document["authority"]["graph_version"],
        ir_hash=document["authority"]["ir_hash"],
        commit_id=document["commit"]["graph_commit_id"],
        commit_kind=CommitKind(document["commit"]["kind"]),
        commit_created_at_us=document["commit"]["created_at_us"],
        commit_metadata=document["commit"]["metadata"],
        rollback_commit_id=document["rollback_commit_id"],
        effects=tuple(_effect(effect) for effect in document["effects"]),
        merged_parent_commit_id=document["commit"]["merged_parent_commit_id"],
        pointers=tuple(_pointer(update) for update in document["manifest"]["update"] if "version" in update),
        manifest=ManifestDelta.from_document(document["manifest"]),
        purges=tuple(Purge.from_document(purge) for purge in document.get("purge", ())),
        rollback=RollbackRecord(**rollback) if rollback is not None else None,
        unknown_fields={key: value for key, value in document.items() if key not in _KNOWN},
    )


def _readable(actor_id: str | None) -> str | None:
    return readable_actor(actor_id) if isinstance(actor_id, str) else actor_id


def _effect_document(effect: SidecarEffect) -> dict[str, Any]:
    stored = asdict(effect)
    del stored["identity"]
    return {"table_key": effect.table_key, **effect.identity.document(), **stored}


def _effect(document: Mapping[str, Any]) -> SidecarEffect:
    known = {column.name: document[column.name] for column in fields(SidecarEffect) if column.name in document}
    return SidecarEffect(
        **{
            **known,
            "identity": TableIdentity.from_document(document),
            "effect": EffectKind(document["effect"]),
            "planned": tuple(PlannedCommit(**planned) for planned in document["planned"]),
            "fork": Fork(**document["fork"]) if document["fork"] is not None else None,
        }
    )


def _pointer_document(pin: TablePin) -> Mapping[str, Any]:
    return {
        "table_key": pin.table_key,
        **pin.identity.document(),
        "location": pin.location,
        "ref": pin.ref,
        "version": pin.version,
        "row_count": pin.row_count,
    }


def _pointer(document: Mapping[str, Any]) -> TablePin:
    return TablePin(
        table_key=TableKey(document["table_key"]),
        identity=TableIdentity.from_document(document),
        location=document["location"],
        ref=document["ref"],
        version=document["version"],
        row_count=document["row_count"],
    )


class SidecarStore:
    """The sidecars of one graph."""

    def __init__(self, objects: ControlStore) -> None:
        self._objects = objects

    def arm(self, sidecar: Sidecar) -> None:
        """Store a new sidecar; from here on the operation owns what it names.

        After an unclear error the stored bytes decide: if they are ours, the sidecar is armed.
        """
        content = sidecar_bytes(sidecar)
        try:
            faults.reach("write.arm_fails")
            self._objects.create(sidecar.path, content)
            faults.reach("write.arm_ack_lost")
        except (OSError, StorageError):
            stored = self._objects.read(sidecar.path)
            if stored is None or stored.content != content:
                raise

    def pending(self) -> Sequence[str]:
        """Return the operation ids of all sidecars, oldest first; a failed listing raises."""
        names = (name.removeprefix(RECOVERY_PREFIX) for name in self._objects.list(RECOVERY_PREFIX))
        # Whatever else lies there is nobody's operation: it could neither be read nor given up under such a name.
        return sorted(name.removesuffix(".json") for name in names if name.endswith(".json") and name.isprintable())

    def read(self, operation_id: str) -> Sidecar | None:
        """Read one sidecar; None when its writer has finished since it was listed."""
        content = self.read_bytes(operation_id)
        return None if content is None else parse_sidecar(operation_id, content)

    def read_bytes(self, operation_id: str) -> bytes | None:
        """Read one sidecar as it is stored."""
        stored = self._objects.read(sidecar_path(operation_id))
        return None if stored is None else stored.content

    def record_rollback(self, decided: Sidecar) -> None:
        """Replace a sidecar by itself with its rollback decision.

        Raises `StaleView` when somebody else has settled or decided it since it was read: a recovery that was paused
        past its lease must neither overrule another one nor bring a finished operation back.
        """
        stored = self._objects.read(decided.path)
        if stored is None or parse_sidecar(decided.operation_id, stored.content) != replace(decided, rollback=None):
            raise _settled_elsewhere(decided)
        try:
            self._objects.replace(decided.path, sidecar_bytes(decided), stored.token)
        except ObjectChanged as changed:
            raise _settled_elsewhere(decided) from changed

    def forget(self, operation_id: str) -> None:
        """Delete a sidecar; a missing one is fine."""
        self._objects.delete(sidecar_path(operation_id))


def _settled_elsewhere(sidecar: Sidecar) -> ReadSetConflict:
    return ReadSetConflict(
        f"stale view of {sidecar.path}: another process has settled or changed it — refresh and retry",
        member="sidecar",
        expected=sidecar.operation_id,
        actual=None,
    )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PendingOperation(Shown):
    """A sidecar as it is stored, for people: what it says, or why it cannot be understood."""

    operation_id: str
    sidecar: Sidecar | None
    problem: str | None
    content: bytes


def list_pending(sidecars: SidecarStore) -> list[PendingOperation]:
    """Describe all sidecars, oldest first; changes nothing."""
    found = []
    for operation_id in sidecars.pending():
        content = sidecars.read_bytes(operation_id)
        if content is None:
            continue
        try:
            sidecar, problem = parse_sidecar(operation_id, content), None
        except UnreadableSidecar as unreadable:
            sidecar, problem = None, str(unreadable)
        found.append(PendingOperation(operation_id=operation_id, sidecar=sidecar, problem=problem, content=content))
    return found


def sidecars_of(context: GraphContext) -> SidecarStore:
    """Return the sidecars of an open graph."""
    return SidecarStore(context.store.objects)
