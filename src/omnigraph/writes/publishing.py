"""The tail of everything that publishes: arm, make the effects, publish, and what follows a publish.

Once the sidecar is armed the operation is carried to an end, by this process or by whoever recovers it: there is no
silent retry past that point. What has no effects to recover, since it moves pins to states that exist, arms nothing.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from omnigraph.base import clock, faults, ids
from omnigraph.base.endings import is_failure, tell
from omnigraph.base.events import Events, Warned
from omnigraph.base.logs import about, logger_of
from omnigraph.base.units import counted
from omnigraph.base.values import dataclass
from omnigraph.errors import Effect, OmniError, ReadSetConflict, RecoveryRequired
from omnigraph.graphs.context import GraphContext
from omnigraph.manifest.commits import Commit, CommitId
from omnigraph.manifest.publish import ManifestChanges, Preconditions
from omnigraph.manifest.snapshot import GraphSnapshot
from omnigraph.storage.locks import HeldLock
from omnigraph.storage.transactions import CommitInterleaved
from omnigraph.writes.aftermath import finish_published
from omnigraph.writes.pending import sidecars_of
from omnigraph.writes.prepared import WriteIdentity
from omnigraph.writes.recovery.entry import settle_own, visible_commit
from omnigraph.writes.sidecar import Sidecar, SidecarEffect, this_writer

_log = logger_of(__name__)


def describe_operation(
    snapshot: GraphSnapshot, identity: WriteIdentity, effects: tuple[SidecarEffect, ...], metadata: Mapping[str, Any]
) -> Sidecar:
    """Write down what an operation is about to do to a branch as it is now."""
    now = clock.now_us()
    return Sidecar(
        operation_id=identity.operation_id,
        kind=identity.kind,
        started_at_us=now,
        writer=this_writer(),
        actor_id=identity.actor_id,
        branch_name=snapshot.branch,
        branch_incarnation=snapshot.incarnation,
        head=snapshot.commit_id,
        graph_version=snapshot.graph_version,
        ir_hash=snapshot.schema.ir_hash,
        commit_id=identity.commit_id,
        commit_kind=identity.commit_kind,
        commit_created_at_us=now,
        commit_metadata=metadata,
        rollback_commit_id=CommitId(ids.new_ulid()),
        effects=effects,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Achieved:
    """What the effects of an armed operation came to, ready to be published."""

    changes: ManifestChanges
    metadata: Mapping[str, Any] | None = None
    """What the commit says about itself beside what was armed, as far as that shows only now."""


def carry_out(
    context: GraphContext,
    sidecar: Sidecar,
    lock: HeldLock,
    effects: Callable[[], Achieved | None],
    preconditions: Preconditions,
    events: Events,
) -> Commit | None:
    """Arm an operation under the gates it holds, let it make its effects, publish what they came to, and forget it.

    Returns None when `effects` did, which says that no table moved: there is nothing to publish then.
    """
    with about(graph=context.store.uri, operation_id=sidecar.operation_id):
        return _carry_out(context, sidecar, lock, effects, preconditions, events)


def _carry_out(
    context: GraphContext,
    sidecar: Sidecar,
    lock: HeldLock,
    effects: Callable[[], Achieved | None],
    preconditions: Preconditions,
    events: Events,
) -> Commit | None:
    lock.ensure_seconds_left()
    sidecars_of(context).arm(sidecar)
    tables = counted(len(sidecar.effects), "table")
    _log.info("%s armed on branch %s: %s", sidecar.kind, sidecar.branch_name, tables)
    commit: Commit | None
    try:
        faults.reach("write.after_arm")
        achieved = effects()
        faults.reach("write.after_effects")
        if achieved is None:
            lock.ensure_seconds_left()
            sidecars_of(context).forget(sidecar.operation_id)
            _log.info("%s moved no table; nothing is published", sidecar.kind)
            return None
        draft = sidecar.commit()
        if achieved.metadata is not None:
            draft = replace(draft, metadata={**draft.metadata, **achieved.metadata})
        commit = _publish(context, draft, lock, achieved.changes, preconditions)
    except BaseException as error:
        if not is_failure(error):
            raise
        commit = _settle_after_failure(context, sidecar, lock, error, events)
    finish_published(context, commit, events, sidecar=sidecar)
    return commit


def publish_unarmed(
    context: GraphContext,
    draft: Commit,
    lock: HeldLock,
    changes: ManifestChanges,
    preconditions: Preconditions,
    events: Events,
) -> Commit:
    """Publish pins of states that exist already: if it fails, no table has moved and there is nothing to recover."""
    commit = _publish(context, draft, lock, changes, preconditions)
    finish_published(context, commit, events)
    return commit


def _publish(
    context: GraphContext, draft: Commit, lock: HeldLock, changes: ManifestChanges, preconditions: Preconditions
) -> Commit:
    lock.ensure_seconds_left()
    return context.publisher.publish(draft.graph_branch, changes, draft, preconditions)


def _settle_after_failure(
    context: GraphContext, sidecar: Sidecar, lock: HeldLock, error: BaseException, events: Events
) -> Commit:
    """Bring our own operation to an end while we still hold its gates; return its commit if it turned out visible."""
    _log.warning("operation %s failed after it was armed: %s", sidecar.operation_id, error)
    try:
        lock.ensure_seconds_left()
        commit = settle_own(context, sidecar, lock)
    except BaseException as unsettled:
        if not is_failure(unsettled):
            raise
        commit = _visible_commit(context, sidecar)
        if commit is None:
            raise RecoveryRequired(
                f"The outcome of operation {sidecar.operation_id} on branch '{sidecar.branch_name}' is pending: it "
                f"failed ({error}), and settling it failed too ({unsettled}). Run `omnigraph recover "
                f"{context.store.uri}`; do not repeat the write before.",
                effect=Effect.UNKNOWN,
                operation_id=sidecar.operation_id,
                operation_ids=[sidecar.operation_id],
            ) from error
        tell(events, Warned(message=f"commit {commit.graph_commit_id} is published, but not settled yet: {unsettled}"))
    if commit is not None:
        return commit
    if isinstance(error, CommitInterleaved):
        raise ReadSetConflict(
            f"stale view of branch '{sidecar.branch_name}': {error} — refresh and retry",
            member="table_version",
            expected=str(sidecar.graph_version),
            actual=None,
        ) from error
    raise error


def _visible_commit(context: GraphContext, sidecar: Sidecar) -> Commit | None:
    """Look whether the operation's commit can be seen; None if it cannot, or nobody can tell."""
    try:
        return visible_commit(context, sidecar)
    except (OmniError, OSError):
        return None
