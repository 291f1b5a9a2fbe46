"""Act: carry out one decision. Every step is keyed or checked first, so repeating it is harmless."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final, assert_never

from omnigraph.base import clock, faults
from omnigraph.base.values import dataclass
from omnigraph.catalog.model import TableIdentity
from omnigraph.errors import Effect, OmniError, RecoveryRequired
from omnigraph.graphs.context import GraphContext
from omnigraph.manifest.commits import Commit, CommitId, CommitKind
from omnigraph.manifest.publish import ManifestChanges, PinMove, Preconditions
from omnigraph.manifest.snapshot import GraphSnapshot, TablePin
from omnigraph.storage.locks import HeldLock
from omnigraph.storage.stored_settings import stage_restore
from omnigraph.storage.tables import Table
from omnigraph.storage.transactions import CommitInterleaved, commit_staged
from omnigraph.writes.completion import complete_schema_change
from omnigraph.writes.pending import sidecars_of
from omnigraph.writes.recovery.audit import record_recovery
from omnigraph.writes.recovery.decide import OURS, Action, EffectClass, RecoveryDecision, classify
from omnigraph.writes.recovery.facts import SidecarFacts, observe_effect
from omnigraph.writes.recovery.forks import remove_target, targets_to_remove
from omnigraph.writes.sidecar import Completion, RollbackRecord, Sidecar, SidecarEffect, SidecarKind, sidecar_traits
from omnigraph.writes.table_effects import pointer_moves

RECOVERY_ACTOR = "omnigraph:recovery"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What recovery did with one sidecar."""

    operation_id: str
    kind: str
    branch: str
    outcome: str
    commit: Commit | None
    """The operation's own commit, if it is visible now."""
    whose: str = "an unknown writer"
    """Who had begun the operation: its actor, or else its process."""

    @property
    def note(self) -> str:
        """Say in one line what was done for whom: for whoever came to write something else and settled this first."""
        which = f"the interrupted {self.kind} {self.operation_id} of {self.whose} on branch {self.branch}"
        commit = "" if self.commit is None else f" as commit {self.commit.graph_commit_id}"
        return _NOTES[self.outcome].format(which=which, commit=commit)


_NOTES: Final = {
    "rolled_forward": "completed {which}{commit}",
    "finished": "tidied up after {which}, which was published{commit}",
    "rolled_back": "undid {which}",
    "dropped": "removed the announcement of {which}, which had changed nothing",
    "orphaned_branch_discarded": "gave up {which}, which is gone",
    "abandoned": "gave up {which}",
}


def act(context: GraphContext, facts: SidecarFacts, decision: RecoveryDecision, lock: HeldLock) -> Settled:
    """Carry out a decision to the end, the sidecar's deletion included. A block is the caller's to report."""
    match decision.action:
        case Action.FINISH_FORWARD:
            with _visible_already(context, facts.sidecar, "completed"):
                return _finish_forward(context, facts, decision)
        case Action.ROLL_FORWARD:
            faults.reach("recover.before_forward_publish")
            if not _roll_forward(context, facts, decision):
                return _close(context, facts, decision, outcome="finished", commit=None, recovery_kind="rolled_forward")
            faults.reach("recover.after_forward_publish")
            with _visible_already(context, facts.sidecar, "completed"):
                return _finish_forward(context, facts, decision, outcome="rolled_forward")
        case Action.FINISH_BACK:
            with _visible_already(context, facts.sidecar, "undone"):
                return _finish_back(context, facts, decision, has_commit=True)
        case Action.ROLL_BACK:
            published = _roll_back(context, facts, decision, lock)
            faults.reach("recover.after_rollback_publish")
            with _visible_already(context, facts.sidecar, "undone"):
                return _finish_back(context, facts, decision, has_commit=published is not None)
        case Action.DISCARD:
            return _close(context, facts, decision, outcome="orphaned_branch_discarded", commit=None)
        case Action.DROP:
            _remove_targets(context, facts.sidecar, lock)
            _forget(context, facts.sidecar)
            return _settled(facts.sidecar, "dropped", None)
        case Action.BLOCK:
            raise blocked(context, facts.sidecar.operation_id, facts.sidecar.branch_name, decision.reason)


def blocked(context: GraphContext, operation_id: str, branch: str | None, reason: str) -> RecoveryRequired:
    """Make the error that says what is in the way, which file it is, and the ways out."""
    where = f"on branch '{branch}' " if branch else ""
    return RecoveryRequired(
        f"The interrupted operation {operation_id} {where}cannot be settled: {reason}. Nothing was changed. Look at it "
        f"with `omnigraph recover {context.store.uri} --show {operation_id}`; restore what is damaged from a backup, "
        f"or give it up with `omnigraph recover {context.store.uri} --abandon {operation_id} --confirm`. "
        f"Its sidecar is __recovery/{operation_id}.json.",
        operation_id=operation_id,
        operation_ids=[operation_id],
    )


@contextmanager
def _visible_already(context: GraphContext, sidecar: Sidecar, done: str) -> Iterator[None]:
    """Report what fails behind the publish of a recovery as what it is: the outcome stands, its traces are left."""
    try:
        yield
    except (OmniError, OSError) as error:
        raise RecoveryRequired(
            f"The interrupted {sidecar.kind} {sidecar.operation_id} of {whose(sidecar)} on branch "
            f"'{sidecar.branch_name}' is {done}, and that is visible, but what has to follow failed: {error}. Run "
            f"`omnigraph recover {context.store.uri}` for the rest.",
            effect=Effect.PUBLISHED,
            operation_id=sidecar.operation_id,
            operation_ids=[sidecar.operation_id],
        ) from error


def _roll_forward(context: GraphContext, facts: SidecarFacts, decision: RecoveryDecision) -> bool:
    """Publish what the operation reached, as its own commit; return whether there was anything left to publish."""
    match sidecar_traits(facts.sidecar.kind).completion:
        case Completion.PUBLISH_PLANNED:
            return _publish_planned(context, facts.sidecar)
        case Completion.PUBLISH_REACHED:
            return _publish_maintenance(context, facts, decision)
        case Completion.RESTORE_THE_REST:
            return _finish_discard(context, facts, decision)
        case never:
            assert_never(never)


def _publish_planned(context: GraphContext, sidecar: Sidecar) -> bool:
    """Pin every table behind its planned transactions, on the head that the operation stood on."""
    moves = tuple(
        PinMove.to(
            context.store.tables.open(effect.address, effect.expected_version + len(effect.planned)),
            table_key=effect.table_key,
            identity=effect.identity,
            transaction_uuid=effect.planned[-1].uuid,
            checksums=effect.checksums,
        )
        for effect in sidecar.effects
    )
    context.publisher.publish(
        sidecar.branch_name,
        sidecar.manifest.with_pins((*moves, *pointer_moves(context.store.tables, sidecar.pointers))),
        sidecar.commit(),
        Preconditions(
            incarnation=sidecar.branch_incarnation,
            exact_head=sidecar.head,
            ir_hash=sidecar.ir_hash,
            expected_pins={effect.identity: effect.expected_pin for effect in sidecar.effects},
        ),
    )
    return True


def _publish_maintenance(context: GraphContext, facts: SidecarFacts, decision: RecoveryDecision) -> bool:
    """Pin the tables that maintenance moved at the version they reached, on whatever head there is."""
    sidecar = facts.sidecar
    reached = [found for found in facts.effects if decision.classes[found.effect.table_key] is EffectClass.COMPLETE]
    if not reached:
        return False
    moves = []
    for found in reached:
        assert found.head_version is not None
        table = context.store.tables.open(found.effect.address, found.head_version)
        moves.append(
            PinMove.to(
                table,
                table_key=found.effect.table_key,
                identity=found.effect.identity,
                transaction_uuid=table.transaction_uuid,
                checksums=found.effect.checksums,
            )
        )
    expected = {
        found.effect.identity: (found.effect.ref, found.pinned_version)
        for found in reached
        if found.pinned_version is not None
    }
    _publish_on_any_head(context, sidecar, sidecar.commit(), moves, expected)
    return True


def _finish_discard(context: GraphContext, facts: SidecarFacts, decision: RecoveryDecision) -> bool:
    """Restore the tables that were not restored yet and publish all of them; one that somebody changed is left out."""
    sidecar = facts.sidecar
    restored: list[tuple[SidecarEffect, Table]] = []
    for effect in sidecar.effects:
        if decision.classes[effect.table_key] is EffectClass.COMPLETE:
            restored.append((effect, context.store.tables.open(effect.address, effect.expected_version + 1)))
        elif decision.classes[effect.table_key] is EffectClass.UNTOUCHED:
            restored.append((effect, discard_drift(context, sidecar.operation_id, effect)))
    moves = [
        PinMove.to(
            table, table_key=effect.table_key, identity=effect.identity, transaction_uuid=effect.planned[-1].uuid
        )
        for effect, table in restored
    ]
    expected = {effect.identity: effect.expected_pin for effect, _ in restored}
    _publish_on_any_head(context, sidecar, sidecar.commit(), moves, expected)
    return True


def discard_drift(context: GraphContext, operation_id: str, effect: SidecarEffect) -> Table:
    """Bring a drifted table back to its pin by the restore that the effect planned."""
    assert effect.pinned_version is not None
    staged = stage_restore(
        context.store.tables.open(effect.address, effect.expected_version),
        context.store.tables.open(effect.address, effect.pinned_version),
        uuid=effect.planned[-1].uuid,
        properties={"omnigraph.operation_id": operation_id, "omnigraph.kind": SidecarKind.DISCARD_DRIFT.value},
    )
    return commit_staged(context.store.tables, effect.address, staged)


def _roll_back(context: GraphContext, facts: SidecarFacts, decision: RecoveryDecision, lock: HeldLock) -> Commit | None:
    sidecar = facts.sidecar
    snapshot = facts.snapshot
    assert snapshot is not None
    if sidecar.rollback is None:
        sidecar = replace(sidecar, rollback=_rollback_record(sidecar, snapshot, decision))
        sidecars_of(context).record_rollback(sidecar)
        faults.reach("recover.after_rollback_recorded")
    assert sidecar.rollback is not None
    _remove_targets(context, sidecar, lock)
    restored: list[tuple[TablePin, Table]] = []
    for effect in sidecar.effects:
        if effect.table_key in sidecar.rollback.restores:
            pin = _pin(snapshot, effect)
            lock.ensure_seconds_left()
            restored.append((pin, _restore(context, sidecar, effect, pin)))
            faults.reach("recover.after_restore")
    if not restored:
        return None
    moves = [
        PinMove.to(table, table_key=pin.table_key, identity=pin.identity, transaction_uuid=table.transaction_uuid)
        for pin, table in restored
    ]
    expected = {pin.identity: (pin.ref, pin.version) for pin, _ in restored}
    return _publish_on_any_head(context, sidecar, _rollback_commit(sidecar, snapshot), moves, expected)


def _publish_on_any_head(
    context: GraphContext,
    sidecar: Sidecar,
    commit: Commit,
    moves: Sequence[PinMove],
    expected: Mapping[TableIdentity, tuple[str | None, int] | None],
) -> Commit:
    """Publish what keeps or brings back content: whoever has written since is no obstacle, unless to these tables."""
    preconditions = Preconditions(
        incarnation=sidecar.branch_incarnation, exact_head=None, ir_hash=None, expected_pins=expected
    )
    return context.publisher.publish(sidecar.branch_name, ManifestChanges(pins=tuple(moves)), commit, preconditions)


def _remove_targets(context: GraphContext, sidecar: Sidecar, lock: HeldLock) -> None:
    for effect in targets_to_remove(sidecar):
        lock.ensure_seconds_left()
        in_the_way = remove_target(context, effect)
        if in_the_way is not None:
            raise blocked(context, sidecar.operation_id, sidecar.branch_name, in_the_way)


def _rollback_record(sidecar: Sidecar, snapshot: GraphSnapshot, decision: RecoveryDecision) -> RollbackRecord:
    return RollbackRecord(
        restores={
            effect.table_key: _pin(snapshot, effect).version
            for effect in sidecar.effects
            if decision.classes[effect.table_key] in OURS and not effect.creates_its_target
        },
        classes={key: found.value for key, found in decision.classes.items()},
    )


def _restore(context: GraphContext, sidecar: Sidecar, effect: SidecarEffect, pin: TablePin) -> Table:
    """Bring a table's content back to its pin, unless an earlier recovery has done so.

    Lance lets a restore win over anything that landed since it was planned, silently. So everything above the pin is
    read once more right here and must be ours.
    """
    facts = observe_effect(context, effect)
    found = classify(facts)
    head = context.store.tables.head(effect.address)
    if found not in OURS or head is None or head.version != facts.head_version:
        raise _changed_meanwhile(context, sidecar, effect, str(found))
    if found is EffectClass.COMPENSATED:
        return head
    staged = stage_restore(
        head,
        context.store.tables.open(effect.address, pin.version),
        uuid=effect.compensation_uuid,
        properties={"omnigraph.operation_id": sidecar.operation_id, "omnigraph.kind": "rollback"},
    )
    try:
        return commit_staged(context.store.tables, effect.address, staged, fail_point="recover.restore_ack_lost")
    except CommitInterleaved as interleaved:
        raise _changed_meanwhile(context, sidecar, effect, str(interleaved)) from interleaved


def _changed_meanwhile(context: GraphContext, sidecar: Sidecar, effect: SidecarEffect, found: str) -> RecoveryRequired:
    reason = f"{effect.table_key} changed while it was being rolled back ({found})"
    return blocked(context, sidecar.operation_id, sidecar.branch_name, reason)


def _rollback_commit(sidecar: Sidecar, snapshot: GraphSnapshot) -> Commit:
    return Commit(
        graph_commit_id=sidecar.rollback_commit_id,
        parent_commit_id=None,
        graph_branch=sidecar.branch_name,
        graph_version=snapshot.graph_version + 1,
        kind=CommitKind.ROLLBACK,
        actor_id=RECOVERY_ACTOR,
        created_at_us=clock.now_us(),
        metadata={"operation_id": sidecar.operation_id},
    )


def _finish_forward(
    context: GraphContext, facts: SidecarFacts, decision: RecoveryDecision, *, outcome: str = "finished"
) -> Settled:
    state = context.manifest.load(facts.sidecar.branch_name)
    commit = context.log.find(facts.sidecar.commit_id, head=state.head)
    context.log.add(commit)
    complete_schema_change(context, facts.sidecar)
    return _close(
        context,
        facts,
        decision,
        outcome=outcome,
        commit=commit,
        visible=commit.graph_commit_id,
        recovery_kind="rolled_forward",
    )


def _finish_back(
    context: GraphContext, facts: SidecarFacts, decision: RecoveryDecision, *, has_commit: bool
) -> Settled:
    state = context.manifest.load(facts.sidecar.branch_name)
    if state.head.graph_commit_id == facts.sidecar.rollback_commit_id:
        context.log.add(state.head)
    visible = facts.sidecar.rollback_commit_id if has_commit else None
    return _close(context, facts, decision, outcome="rolled_back", commit=None, visible=visible)


def _close(
    context: GraphContext,
    facts: SidecarFacts,
    decision: RecoveryDecision,
    *,
    outcome: str,
    commit: Commit | None,
    visible: CommitId | None = None,
    recovery_kind: str | None = None,
) -> Settled:
    """Audit, then delete: a row may stand beside a sidecar, never the other way round."""
    sidecar = facts.sidecar
    record_recovery(
        context.store.tables,
        sidecar,
        recovery_kind=recovery_kind or outcome,
        graph_commit_id=visible,
        outcomes=_outcomes(facts, decision),
    )
    _forget(context, sidecar)
    return _settled(sidecar, outcome, commit)


def _outcomes(facts: SidecarFacts, decision: RecoveryDecision) -> Mapping[str, Any]:
    return {
        found.effect.table_key: {
            "from_version": found.effect.expected_version,
            "to_version": found.head_version,
            "class": decision.classes[found.effect.table_key].value,
        }
        for found in facts.effects
    }


def _forget(context: GraphContext, sidecar: Sidecar) -> None:
    faults.reach("recover.delete_fails")
    sidecars_of(context).forget(sidecar.operation_id)


def _settled(sidecar: Sidecar, outcome: str, commit: Commit | None) -> Settled:
    return Settled(
        operation_id=sidecar.operation_id,
        kind=sidecar.kind.value,
        branch=sidecar.branch_name,
        outcome=outcome,
        commit=commit,
        whose=whose(sidecar),
    )


def whose(sidecar: Sidecar) -> str:
    """Name who began an operation."""
    writer = sidecar.writer
    return sidecar.actor_id or f"process {writer.get('pid', '?')} on {writer.get('host', 'an unknown host')}"


def _pin(snapshot: GraphSnapshot, effect: SidecarEffect) -> TablePin:
    pin = snapshot.pin_of(effect.identity)
    assert pin is not None
    return pin
