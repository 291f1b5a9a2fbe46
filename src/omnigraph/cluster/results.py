"""What the commands of the control plane come to, as values; `documents/cluster.py` spells them as JSON."""

from collections.abc import Mapping

from omnigraph.base.values import Json, dataclass
from omnigraph.cluster.changes import ResourceChange
from omnigraph.cluster.desired import DesiredCluster
from omnigraph.cluster.diagnostics import Diagnostic, DiagnosticSeverity
from omnigraph.cluster.lock import ClusterLock
from omnigraph.cluster.state import ResourceStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class StateObservations:
    """What a command saw of the ledger and the lock."""

    state_path: str
    lock_path: str
    state_found: bool
    applied_config_digest: str | None = None
    state_revision: int | None = None
    state_cas: str | None = None
    resource_count: int = 0
    standing: ClusterLock | None = None
    """Somebody else's lock."""
    acquired_lock_id: str | None = None
    """Our own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterResult:
    """What every command of the control plane says."""

    config_dir: str
    diagnostics: tuple[Diagnostic, ...]
    observations: StateObservations | None = None
    """None where not even the storage root is known."""

    @property
    def ok(self) -> bool:
        """Whether nothing found is an error."""
        return all(found.severity is not DiagnosticSeverity.ERROR for found in self.diagnostics)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterValidation(ClusterResult):
    """Whether a configuration can be applied, and which resources it declares."""

    desired: DesiredCluster | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalNeed:
    """A change that a person must approve, and whether one has."""

    resource: str
    reason: str
    satisfied: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterPlan(ClusterResult):
    """What an apply would do."""

    desired: DesiredCluster | None
    changes: tuple[ResourceChange, ...] = ()
    blast_radius: Mapping[str, tuple[str, ...]]
    approvals_required: tuple[ApprovalNeed, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedCluster(ClusterResult):
    """What an apply did."""

    actor: str | None
    desired: DesiredCluster | None
    changes: tuple[ResourceChange, ...] = ()
    converged: bool = False
    state_written: bool = False
    resource_statuses: Mapping[str, ResourceStatus]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedApproval(ClusterResult):
    """The decision that was recorded, if one was needed."""

    approval_id: str | None = None
    resource: str | None = None
    operation: str | None = None
    approved_by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterStatus(ClusterResult):
    """What the ledger says, and whether the catalog still has what it names."""

    resource_digests: Mapping[str, str]
    resource_statuses: Mapping[str, ResourceStatus]
    seen: Mapping[str, Mapping[str, Json]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedCluster(ClusterResult):
    """The ledger after it was compared with storage."""

    operation: str
    resource_digests: Mapping[str, str]
    resource_statuses: Mapping[str, ResourceStatus]
    seen: Mapping[str, Mapping[str, Json]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovedLock(ClusterResult):
    """Whether a lock was removed."""

    lock_removed: bool
