"""Evidence about an interrupted operation, built in memory: what recovery would have read from the store.

A table's history above the version that the writer started from is spelled as a word, one letter per version:
`a` and `b` are the writer's planned commits, `r` the restore that its recovery planned, `x` somebody else's commit.
"""

from dataclasses import replace

from omnigraph.catalog.model import TableIdentity, TableKey
from omnigraph.manifest.commits import Commit, CommitId, CommitKind
from omnigraph.manifest.snapshot import GraphSnapshot, SchemaRef, TablePin
from omnigraph.storage.operations import TableOperation
from omnigraph.writes.recovery.facts import EffectFacts, SidecarFacts
from omnigraph.writes.sidecar import (
    EffectKind,
    Fork,
    PlannedCommit,
    RollbackRecord,
    Sidecar,
    SidecarEffect,
    SidecarKind,
)

EXPECTED = 7
PLANNED = "ab"
UPDATE, RESTORE = 108, 106
HEAD = CommitId("head")
SCHEMA = SchemaRef(schema_hash="shape", ir_hash="ir", source_sha256="text", identity_domain="domain")


def effect(number: int = 1, planned: str = PLANNED, *, is_fork: bool = False) -> SidecarEffect:
    """Plan the commits `planned` on the table with that number, or on a ref that the operation forks from it."""
    return SidecarEffect(
        table_key=TableKey(f"node:T{number}"),
        identity=TableIdentity(type_id=number, incarnation_id=number),
        location=f"nodes/{number}",
        ref="own" if is_fork else None,
        expected_version=EXPECTED,
        effect=EffectKind.COMMIT,
        planned=tuple(
            PlannedCommit(uuid=_uuid(number, letter), read_version=EXPECTED + step, operation="Update")
            for step, letter in enumerate(planned)
        ),
        compensation_uuid=_uuid(number, "r"),
        fork=Fork(from_ref=None, from_version=EXPECTED) if is_fork else None,
    )


def effect_facts(history: str, number: int = 1, planned: str = PLANNED, *, is_fork: bool = False) -> EffectFacts:
    """Say that the table's versions above the expected one are `history`."""
    return EffectFacts(
        effect=effect(number, planned, is_fork=is_fork),
        head_version=EXPECTED + len(history),
        operations=tuple(operation(letter, number) for letter in history),
    )


def created(number: int = 1, history: str = "") -> EffectFacts:
    """Say that the operation was to create a table, and that its versions are `history`; `a` is what it planned."""
    planned = effect(number, "a")
    return EffectFacts(
        effect=replace(
            planned,
            expected_version=0,
            effect=EffectKind.CREATE,
            planned=(replace(planned.planned[0], read_version=0),),
        ),
        head_version=len(history) or None,
        operations=tuple(operation(letter, number) for letter in history),
    )


def gone(number: int = 1, *, is_fork: bool = False) -> EffectFacts:
    """Say that the table, or the ref that was to be forked, is not there."""
    return EffectFacts(effect=effect(number, is_fork=is_fork), head_version=None, operations=())


def behind(number: int = 1) -> EffectFacts:
    """Say that the table ends before the version that the writer started from."""
    return EffectFacts(effect=effect(number), head_version=EXPECTED - 1, operations=())


def unreadable(number: int = 1) -> EffectFacts:
    """Say that nobody can tell what made the table's newest version."""
    return EffectFacts(effect=effect(number), head_version=EXPECTED + 1, operations=None)


def operation(letter: str, number: int = 1, *, restored_version: int = EXPECTED) -> TableOperation:
    """Return what made one version; a restore goes back to `restored_version`."""
    return TableOperation(
        uuid=_uuid(number, letter),
        read_version=0,
        number=RESTORE if letter == "r" else UPDATE,
        properties={},
        restored_version=restored_version if letter == "r" else None,
        is_upkeep=False,
    )


def sidecar_facts(
    *effects: EffectFacts,
    branch_is_gone: bool = False,
    moved_pins: frozenset[int] = frozenset(),
    head: CommitId = HEAD,
    ir_hash: str = SCHEMA.ir_hash,
    forward_is_visible: bool = False,
    rollback_is_visible: bool = False,
    rollback_is_recorded: bool = False,
    schema_is_stored: bool = True,
) -> SidecarFacts:
    """Say what a recovery found; `moved_pins` are the positions of effects whose table is published elsewhere."""
    sidecar = _sidecar(tuple(found.effect for found in effects))
    if rollback_is_recorded:
        sidecar = replace(sidecar, rollback=RollbackRecord(restores={}, classes={}))
    snapshot = GraphSnapshot(
        branch="main",
        incarnation="main",
        graph_version=sidecar.graph_version,
        commit_id=head,
        schema=replace(SCHEMA, ir_hash=ir_hash),
        pins={
            found.effect.table_key: _pin(found.effect, EXPECTED + (position in moved_pins))
            for position, found in enumerate(effects)
            if found.effect.expected_pin is not None or position in moved_pins
        },
    )
    return SidecarFacts(
        sidecar=sidecar,
        snapshot=None if branch_is_gone else snapshot,
        forward_commit=_commit(sidecar.commit_id) if forward_is_visible else None,
        rollback_commit=_commit(sidecar.rollback_commit_id) if rollback_is_visible else None,
        effects=effects,
        schema_is_stored=schema_is_stored,
    )


def _uuid(number: int, letter: str) -> str:
    return f"uuid-{letter}-of-{number}"


def _sidecar(effects: tuple[SidecarEffect, ...]) -> Sidecar:
    return Sidecar(
        operation_id="operation",
        kind=SidecarKind.LOAD,
        started_at_us=0,
        writer={"host": "elsewhere", "pid": 1},
        actor_id=None,
        branch_name="main",
        branch_incarnation="main",
        head=HEAD,
        graph_version=3,
        ir_hash=SCHEMA.ir_hash,
        commit_id=CommitId("forward"),
        commit_kind=CommitKind.LOAD,
        commit_created_at_us=0,
        commit_metadata={},
        rollback_commit_id=CommitId("back"),
        effects=effects,
    )


def _pin(planned: SidecarEffect, version: int) -> TablePin:
    return TablePin(
        table_key=planned.table_key,
        identity=planned.identity,
        location=planned.location,
        ref=planned.expected_pin[0] if planned.expected_pin is not None else None,
        version=version,
        row_count=0,
    )


def _commit(commit_id: CommitId) -> Commit:
    return Commit(
        graph_commit_id=commit_id,
        parent_commit_id=HEAD,
        graph_branch="main",
        graph_version=4,
        kind=CommitKind.LOAD,
        actor_id=None,
        created_at_us=0,
    )
