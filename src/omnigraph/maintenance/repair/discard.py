"""The other way out of drift: bring tables back to the content that the graph pins, under a sidecar."""

from collections.abc import Sequence

from omnigraph.base import faults, ids
from omnigraph.base.events import Events
from omnigraph.errors import GraphCorrupt
from omnigraph.graphs.context import GraphContext
from omnigraph.maintenance.repair.drift import TableDrift
from omnigraph.manifest.commits import MESSAGE, Commit, CommitKind
from omnigraph.manifest.publish import ManifestChanges, PinMove, Preconditions
from omnigraph.manifest.snapshot import GraphSnapshot
from omnigraph.storage.locks import HeldLock
from omnigraph.writes.prepared import WriteIdentity
from omnigraph.writes.publishing import Achieved, carry_out, describe_operation
from omnigraph.writes.recovery.act import discard_drift
from omnigraph.writes.recovery.forks import branch_that_pins, remove_ref
from omnigraph.writes.sidecar import EffectKind, PlannedCommit, SidecarEffect, SidecarKind


def discard(
    context: GraphContext,
    snapshot: GraphSnapshot,
    drifted: Sequence[TableDrift],
    lock: HeldLock,
    *,
    actor: str,
    message: str | None,
    events: Events,
) -> Commit | None:
    """Restore every drifted table to its pin and publish all of them as one commit; the caller holds the gates.

    The drift stays in the table's own history, above nothing: the restored content is a new version. A stray ref is
    removed instead, which needs no commit: the graph never showed it.
    """
    for stray in (drift for drift in drifted if drift.is_stray):
        _remove_stray(context, stray, lock)
    drifted = [drift for drift in drifted if not drift.is_stray]
    if not drifted:
        return None
    identity = WriteIdentity.mint(SidecarKind.DISCARD_DRIFT, CommitKind.REPAIR, actor)
    effects = {drift.pin.table_key: _effect(drift) for drift in drifted}
    described = {
        drift.pin.table_key: {"restored": drift.pin.version, "discarded_up_to": drift.head_version} for drift in drifted
    }

    said = {} if message is None else {MESSAGE: message}

    def restore() -> Achieved:
        moves = []
        for drift in drifted:
            lock.ensure_seconds_left()
            effect = effects[drift.pin.table_key]
            table = discard_drift(context, identity.operation_id, effect)
            faults.reach("discard.after_restore")
            moves.append(
                PinMove.to(
                    table,
                    table_key=drift.pin.table_key,
                    identity=drift.pin.identity,
                    transaction_uuid=effect.planned[-1].uuid,
                )
            )
        return Achieved(changes=ManifestChanges(pins=tuple(moves)))

    return carry_out(
        context,
        describe_operation(snapshot, identity, tuple(effects.values()), {"discarded": described, **said}),
        lock,
        restore,
        Preconditions.of(snapshot, [drift.pin for drift in drifted]),
        events,
    )


def _remove_stray(context: GraphContext, drift: TableDrift, lock: HeldLock) -> None:
    assert drift.head is not None
    address = drift.head.address
    assert address.ref is not None
    lock.ensure_seconds_left()
    reader = branch_that_pins(context, drift.pin.identity, address.ref)
    if reader is not None:
        raise GraphCorrupt(f"Branch '{reader}' reads {address.path}, which belongs to branch '{drift.branch}' alone.")
    remove_ref(context, address)


def _effect(drift: TableDrift) -> SidecarEffect:
    assert drift.head_version is not None
    return SidecarEffect(
        table_key=drift.pin.table_key,
        identity=drift.pin.identity,
        location=drift.pin.location,
        ref=drift.pin.ref,
        expected_version=drift.head_version,
        effect=EffectKind.COMMIT,
        planned=(PlannedCommit(uuid=ids.new_uuid(), read_version=drift.head_version, operation="Restore"),),
        compensation_uuid=ids.new_uuid(),
        pinned_version=drift.pin.version,
    )
