"""Recorded decisions of people: deleting a graph needs one, and it holds for exactly the change that was looked at."""

import json
from collections.abc import Collection, Sequence
from dataclasses import asdict
from typing import Final

from omnigraph.base.values import dataclass
from omnigraph.cluster.diagnostics import DiagnosticCode, Diagnostics, Refused
from omnigraph.cluster.site import CONTROL_DIRECTORY, ClusterSite
from omnigraph.errors import StorageError

APPROVALS: Final = "approvals"
_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """One decision, bound to the digests of what was decided about."""

    approval_id: str
    resource: str
    operation: str
    reason: str
    bound_config_digest: str
    bound_before_digest: str | None
    bound_after_digest: str | None
    approved_by: str
    created_at: str
    consumed_at: str | None = None
    consumed_by_operation: str | None = None

    @property
    def name(self) -> str:
        """Where it is, below `__cluster/`."""
        return f"{APPROVALS}/{self.approval_id}.json"

    @property
    def path(self) -> str:
        """Where it is, for people."""
        return f"{CONTROL_DIRECTORY}/{self.name}"

    def to_bytes(self) -> bytes:
        """Spell it as it is stored."""
        return (json.dumps({"schema_version": _VERSION, **asdict(self)}, indent=2) + "\n").encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class GatedChange:
    """A change that needs an approval, with everything that the approval is bound to."""

    resource: str
    operation: str
    config_digest: str
    before_digest: str | None
    after_digest: str | None

    def is_authorized_by(self, approval: Approval) -> bool:
        """Whether a decision is about exactly this change."""
        return (
            approval.resource == self.resource
            and approval.operation == self.operation
            and approval.bound_config_digest == self.config_digest
            and approval.bound_before_digest == self.before_digest
            and approval.bound_after_digest == self.after_digest
        )


def unused(approvals: Sequence[Approval], consumed: Collection[str]) -> list[Approval]:
    """Leave out what was used: the file says so, or the ledger alone if a crash came between the two."""
    return [approval for approval in approvals if approval.consumed_at is None and approval.approval_id not in consumed]


def authorizing(gated: GatedChange, approvals: Sequence[Approval]) -> Approval | None:
    """Return the first of these unused approvals that authorizes a change."""
    return next((approval for approval in approvals if gated.is_authorized_by(approval)), None)


def warn_of_stale(gated: GatedChange, approvals: Sequence[Approval], found: Diagnostics) -> None:
    """Note every unused approval of a resource that does not authorize what is asked for now."""
    for approval in approvals:
        if approval.resource == gated.resource and not gated.is_authorized_by(approval):
            found.warn(
                DiagnosticCode.APPROVAL_STALE,
                approval.path,
                f"The approval {approval.approval_id} of {approval.resource} is stale: the configuration or the ledger "
                f"has changed since. Look at the plan, and run `omnigraph cluster approve {approval.resource}` again.",
            )


def write_approval(site: ClusterSite, approval: Approval) -> None:
    """Store a decision, or that it was used; raise `Refused`."""
    try:
        site.objects.put(approval.name, approval.to_bytes())
    except StorageError as error:
        raise Refused(
            DiagnosticCode.APPROVAL_WRITE_ERROR,
            approval.path,
            f"{approval.path} could not be written: {error.message}",
        ) from error


def read_approvals(site: ClusterSite, found: Diagnostics) -> list[Approval]:
    """Return all decisions in the order of their names; what cannot be understood authorizes nothing and is noted."""
    try:
        names = site.objects.list(APPROVALS)
    except StorageError as error:
        path = f"{CONTROL_DIRECTORY}/{APPROVALS}"
        found.warn(DiagnosticCode.APPROVAL_READ_ERROR, path, f"{path} cannot be listed: {error.message}")
        return []
    return [approval for name in names if (approval := _read(site, name, found)) is not None]


def _read(site: ClusterSite, name: str, found: Diagnostics) -> Approval | None:
    path = f"{CONTROL_DIRECTORY}/{name}"
    try:
        stored = site.objects.read(name)
    except StorageError as error:
        found.warn(DiagnosticCode.APPROVAL_READ_ERROR, path, f"{path} cannot be read: {error.message}")
        return None
    if stored is None:
        return None
    try:
        document = json.loads(stored.content)
        version = document.pop("schema_version")
        approval = Approval(**document) if version == _VERSION and not isinstance(version, bool) else None
        is_misnamed = approval is not None and approval.name != name
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        approval, is_misnamed = None, True
    if is_misnamed:
        reason = f"{path} is not an approval that omnigraph wrote; it authorizes nothing."
        found.warn(DiagnosticCode.INVALID_APPROVAL_ARTIFACT, path, reason)
        return None
    if approval is not None:
        return approval
    reason = f"{path} has version {version!r}, and this omnigraph knows version {_VERSION}; it authorizes nothing."
    found.warn(DiagnosticCode.UNSUPPORTED_APPROVAL_VERSION, path, reason)
    return None
