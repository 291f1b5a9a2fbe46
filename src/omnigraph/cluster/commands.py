"""The commands of the control plane that change no graph: validate, plan, approve, status, force-unlock."""

import os
from collections.abc import Mapping

from omnigraph.base import ids
from omnigraph.base.values import dataclass
from omnigraph.cluster.approvals import Approval, write_approval
from omnigraph.cluster.config import config_directory, read_header
from omnigraph.cluster.desired import DesiredCluster, read_desired
from omnigraph.cluster.diagnostics import DiagnosticCode, Diagnostics, Refused
from omnigraph.cluster.intents import GraphIntent, read_intents
from omnigraph.cluster.ledger import LEDGER_PATH
from omnigraph.cluster.lock import remove_lock
from omnigraph.cluster.observing import look_at_blobs
from omnigraph.cluster.planning import Planned, blast_radius, make_plan, why_gated, with_previews
from omnigraph.cluster.results import (
    ClusterPlan,
    ClusterStatus,
    ClusterValidation,
    RecordedApproval,
    RemovedLock,
)
from omnigraph.cluster.session import ClusterSession, now_text
from omnigraph.cluster.state import Ledger
from omnigraph.cluster.sweep import warn_of_pending
from omnigraph.manifest.commits import check_actor

_REPUBLISH = "`omnigraph cluster refresh` and then `omnigraph cluster apply` publish it again."


@dataclass(frozen=True, slots=True, kw_only=True)
class ApproveRequest:
    """What approving a change may be asked for."""

    resource: str
    actor: str
    config_dir: str = "."


def validate_cluster(config_dir: str) -> ClusterValidation:
    """Check a configuration and every file that it names; touches no storage."""
    found = Diagnostics()
    desired = read_desired(config_dir, found)
    return ClusterValidation(config_dir=str(config_directory(config_dir)), diagnostics=found.all(), desired=desired)


def plan_cluster(config_dir: str, *, environ: Mapping[str, str] = os.environ) -> ClusterPlan:
    """Say what an apply would do; writes nothing but the lock, and opens graphs only to preview schema changes."""
    found = Diagnostics()
    directory = str(config_directory(config_dir))
    desired = read_desired(config_dir, found)
    if desired is None:
        return ClusterPlan(config_dir=directory, diagnostics=found.all(), desired=None, blast_radius={})
    session = ClusterSession(desired.declared.header, found, operation="plan", environ=environ)
    planned: Planned | None = None
    if found.has_errors:
        session.look()
    else:
        planned = session.run_locked(lambda: _planned(session, desired))
    planned = planned or Planned(changes=(), gated={}, approvals={})
    ledger = session.stored.ledger if session.stored else Ledger()
    return ClusterPlan(
        config_dir=directory,
        diagnostics=found.all(),
        observations=session.observations,
        desired=desired,
        changes=planned.changes,
        blast_radius=blast_radius(planned.changes, ledger, desired),
        approvals_required=planned.needs(),
    )


def _planned(session: ClusterSession, desired: DesiredCluster) -> Planned:
    ledger = session.read_ledger() or Ledger()
    ledger.refuse_wrong_composites()
    intents = read_intents(session.site, session.found)
    warn_of_pending(intents, session.found)
    planned = make_plan(session.site, ledger, desired, pending=_graphs(intents), found=session.found)
    changes = with_previews(session.site, planned.changes, desired, session.found)
    return Planned(changes=changes, gated=planned.gated, approvals=planned.approvals)


def approve_change(request: ApproveRequest, *, environ: Mapping[str, str] = os.environ) -> RecordedApproval:
    """Record that a person agrees to a change that cannot be taken back, exactly as the plan shows it now."""
    check_actor(request.actor)
    found = Diagnostics()
    directory = str(config_directory(request.config_dir))
    desired = read_desired(request.config_dir, found)
    if desired is None:
        return RecordedApproval(config_dir=directory, diagnostics=found.all())
    session = ClusterSession(desired.declared.header, found, operation="approve", environ=environ)
    approval: Approval | None = None
    if found.has_errors:
        session.look()
    else:
        approval = session.run_locked(lambda: _approved(session, desired, request))
    if approval is None:
        return RecordedApproval(config_dir=directory, diagnostics=found.all(), observations=session.observations)
    return RecordedApproval(
        config_dir=directory,
        diagnostics=found.all(),
        observations=session.observations,
        approval_id=approval.approval_id,
        resource=approval.resource,
        operation=approval.operation,
        approved_by=approval.approved_by,
    )


def _approved(session: ClusterSession, desired: DesiredCluster, request: ApproveRequest) -> Approval:
    ledger = session.required_ledger()
    # What is stale now is what this approval replaces, so nobody needs to hear of it.
    planned = make_plan(session.site, ledger, desired, pending=(), found=Diagnostics())
    gated = planned.gated.get(request.resource)
    if gated is None:
        waiting = ", ".join(sorted(planned.gated)) or "nothing"
        raise Refused(
            DiagnosticCode.APPROVAL_NOT_REQUIRED,
            request.resource,
            f"No change of {request.resource} needs an approval; {waiting} does. An approval is for deleting a graph "
            "that the ledger has and cluster.yaml no longer declares.",
        )
    approval = Approval(
        approval_id=ids.new_ulid(),
        resource=gated.resource,
        operation=gated.operation,
        reason=why_gated(gated.resource),
        bound_config_digest=gated.config_digest,
        bound_before_digest=gated.before_digest,
        bound_after_digest=gated.after_digest,
        approved_by=request.actor,
        created_at=now_text(),
    )
    write_approval(session.site, approval)
    return approval


def cluster_status(config_dir: str, *, environ: Mapping[str, str] = os.environ) -> ClusterStatus:
    """Say what the ledger says and whether the catalog still has what it names; takes no lock and writes nothing."""
    found = Diagnostics()
    directory = str(config_directory(config_dir))
    header = read_header(config_dir, found)
    ledger = Ledger()
    session: ClusterSession | None = None
    if header is not None and not found.has_errors:
        session = ClusterSession(header, found, operation="status", environ=environ)
        try:
            session.look_at_lock()
        except Refused as refused:
            found.extend([refused.diagnostic])
        try:
            ledger = _shown_ledger(session)
        except Refused as refused:
            found.extend([refused.diagnostic])
    return ClusterStatus(
        config_dir=directory,
        diagnostics=found.all(),
        observations=session.observations if session else None,
        resource_digests=ledger.digests,
        resource_statuses=ledger.resource_statuses,
        seen=ledger.observations,
    )


def _shown_ledger(session: ClusterSession) -> Ledger:
    ledger = session.read_ledger(is_strict=False)
    if ledger is None:
        session.found.warn(
            DiagnosticCode.STATE_MISSING,
            LEDGER_PATH,
            f"{session.site.state_path} does not exist; `omnigraph cluster import` writes it.",
        )
    warn_of_pending(read_intents(session.site, session.found), session.found)
    look_at_blobs(session.site, ledger or Ledger(), session.found, remedy=_REPUBLISH)
    return ledger or Ledger()


def force_unlock(config_dir: str, lock_id: str, *, environ: Mapping[str, str] = os.environ) -> RemovedLock:
    """Remove the lock that a dead command left, if it is the one that is named."""
    found = Diagnostics()
    directory = str(config_directory(config_dir))
    header = read_header(config_dir, found)
    session: ClusterSession | None = None
    removed = False
    if header is not None and not found.has_errors:
        session = ClusterSession(header, found, operation="force-unlock", environ=environ)
        try:
            remove_lock(session.site, lock_id)
            removed = True
        except Refused as refused:
            found.extend([refused.diagnostic])
        session.look()
    return RemovedLock(
        config_dir=directory,
        diagnostics=found.all(),
        observations=session.observations if session else None,
        lock_removed=removed,
    )


def _graphs(intents: list[GraphIntent]) -> frozenset[str]:
    return frozenset(intent.graph_id for intent in intents)
