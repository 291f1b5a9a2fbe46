"""Decide: what differs between the ledger and the configuration, and what an apply does about each difference.

Pure. `plan` shows the changes and `apply` executes the steps of the very same value; there is no second list.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from enum import StrEnum

from omnigraph.base.values import Json, dataclass
from omnigraph.cluster.resources import (
    ResourceKind,
    graph_address,
    graph_of,
    kind_of,
    name_of,
    schema_address,
)
from omnigraph.cluster.state import AppliedResource


class ChangeOperation(StrEnum):
    """What a change does to the ledger's entry."""

    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"


class Disposition(StrEnum):
    """What an apply does about a change."""

    APPLIED = "applied"
    DERIVED = "derived"
    DEFERRED = "deferred"
    BLOCKED = "blocked"


class ChangeReason(StrEnum):
    """Why a change is not executed."""

    APPROVAL_REQUIRED = "approval_required"
    CLUSTER_RECOVERY_PENDING = "cluster_recovery_pending"
    DEPENDENCY_NOT_APPLIED = "dependency_not_applied"
    APPLY_UNSUPPORTED_KIND = "apply_unsupported_kind"
    GRAPH_CREATE_FAILED = "graph_create_failed"
    SCHEMA_APPLY_FAILED = "schema_apply_failed"
    GRAPH_DELETE_FAILED = "graph_delete_failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceChange:
    """One difference."""

    resource: str
    operation: ChangeOperation
    before_digest: str | None
    after_digest: str | None
    disposition: Disposition = Disposition.APPLIED
    reason: ChangeReason | None = None
    metadata_change: str | None = None
    """What moved where the digests are equal: `policy_bindings` or `embedding_profile`."""
    migration: Mapping[str, Json] | None = None
    """Of a schema update: the engine's own plan against the live graph, where it could be made."""

    @property
    def is_settled(self) -> bool:
        """Whether nothing is left to do about it once it was executed."""
        return self.disposition in {Disposition.APPLIED, Disposition.DERIVED}

    def held_up(self, reason: ChangeReason) -> "ResourceChange":
        """Return the change as one that waits."""
        return replace(self, disposition=Disposition.BLOCKED, reason=reason)

    def document(self) -> dict[str, Json]:
        """Spell the change as JSON."""
        document: dict[str, Json] = {"resource": self.resource, "operation": self.operation.value}
        if self.before_digest is not None:
            document["before_digest"] = self.before_digest
        if self.after_digest is not None:
            document["after_digest"] = self.after_digest
        document["disposition"] = self.disposition.value
        if self.reason is not None:
            document["reason"] = self.reason.value
        if self.metadata_change is not None:
            document |= ({"binding_change": True} if self.metadata_change == POLICY_BINDINGS else {}) | {
                "metadata_change": self.metadata_change
            }
        if self.migration is not None:
            document["migration"] = dict(self.migration)
        return document


POLICY_BINDINGS = "policy_bindings"
EMBEDDING_PROFILE = "embedding_profile"


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateGraph:
    """Make a graph with its declared schema."""

    graph_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeSchema:
    """Give a graph its declared schema."""

    graph_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishBlob:
    """Put the content of a query or policy into the catalog."""

    address: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteGraph:
    """Remove a graph with everything in it."""

    graph_id: str


ClusterStep = CreateGraph | ChangeSchema | PublishBlob | DeleteGraph


def compare(
    applied: Mapping[str, AppliedResource], desired: Mapping[str, AppliedResource]
) -> tuple[ResourceChange, ...]:
    """Find what differs, by address; nothing is said yet about what becomes of it."""
    changes = (
        _difference(address, applied.get(address), desired.get(address)) for address in sorted({*applied, *desired})
    )
    return tuple(change for change in changes if change is not None)


def _difference(address: str, before: AppliedResource | None, after: AppliedResource | None) -> ResourceChange | None:
    change = ResourceChange(
        resource=address,
        operation=ChangeOperation.UPDATE,
        before_digest=before.digest if before else None,
        after_digest=after.digest if after else None,
    )
    if after is None:
        return replace(change, operation=ChangeOperation.DELETE)
    if before is None or before.digest is None:
        return replace(change, operation=ChangeOperation.CREATE)
    if before.digest != after.digest:
        return change
    if before.applies_to != after.applies_to:
        return replace(change, metadata_change=POLICY_BINDINGS)
    if before.embedding_profile != after.embedding_profile:
        return replace(change, metadata_change=EMBEDDING_PROFILE)
    return None


def classify(
    changes: Collection[ResourceChange],
    *,
    applied: Mapping[str, AppliedResource],
    desired: Mapping[str, AppliedResource],
    pending: Collection[str],
    approved: Collection[str],
) -> tuple[ResourceChange, ...]:
    """Say what an apply does about each change.

    `pending` are the ids of graphs with an unsettled sidecar, `approved` the addresses whose deletion is authorized.
    """
    judged = _Judge(changes, applied=applied, desired=desired, pending=pending, approved=approved)
    return tuple(judged.judge(change) for change in sorted(changes, key=lambda change: change.resource))


class _Judge:
    def __init__(
        self,
        changes: Collection[ResourceChange],
        *,
        applied: Mapping[str, AppliedResource],
        desired: Mapping[str, AppliedResource],
        pending: Collection[str],
        approved: Collection[str],
    ) -> None:
        self._operations = {change.resource: change.operation for change in changes}
        self._applied = applied
        self._desired = desired
        self._pending = pending
        self._approved = approved

    def judge(self, change: ResourceChange) -> ResourceChange:
        match kind_of(change.resource):
            case ResourceKind.GRAPH:
                return self._graph(change)
            case ResourceKind.SCHEMA:
                return self._schema(change)
            case ResourceKind.QUERY:
                return self._query(change)
            case ResourceKind.POLICY:
                return self._policy(change)
            case ResourceKind.EMBEDDING_PROVIDER:
                return self._provider(change)
            case None:
                return _deferred(change)

    def _graph(self, change: ResourceChange) -> ResourceChange:
        if name_of(change.resource) in self._pending:
            return change.held_up(ChangeReason.CLUSTER_RECOVERY_PENDING)
        if change.operation is ChangeOperation.UPDATE:
            return replace(change, disposition=Disposition.DERIVED)
        if change.operation is ChangeOperation.DELETE and change.resource not in self._approved:
            return change.held_up(ChangeReason.APPROVAL_REQUIRED)
        return change

    def _schema(self, change: ResourceChange) -> ResourceChange:
        graph_id = name_of(change.resource)
        if graph_id in self._pending:
            return change.held_up(ChangeReason.CLUSTER_RECOVERY_PENDING)
        if change.operation is ChangeOperation.DELETE:
            return self._follow_delete(change, graph_id) or _deferred(change)
        is_new = self._operations.get(graph_address(graph_id)) is ChangeOperation.CREATE
        if change.operation is ChangeOperation.CREATE and not is_new:
            return _deferred(change)
        return change

    def _query(self, change: ResourceChange) -> ResourceChange:
        graph_id = graph_of(change.resource)
        assert graph_id is not None  # the address of a query names its graph
        if graph_id in self._pending:
            return change.held_up(ChangeReason.CLUSTER_RECOVERY_PENDING)
        if change.operation is ChangeOperation.DELETE:
            return self._follow_delete(change, graph_id) or change
        schema = self._operations.get(schema_address(graph_id))
        is_new = self._operations.get(graph_address(graph_id)) is ChangeOperation.CREATE
        if schema is ChangeOperation.CREATE and not is_new:
            return change.held_up(ChangeReason.DEPENDENCY_NOT_APPLIED)
        return change

    def _policy(self, change: ResourceChange) -> ResourceChange:
        if change.operation is ChangeOperation.DELETE:
            return change
        bound = {name_of(scope) for scope in self._desired[change.resource].applies_to or ()}
        if bound & set(self._pending):
            return change.held_up(ChangeReason.CLUSTER_RECOVERY_PENDING)
        return change

    def _provider(self, change: ResourceChange) -> ResourceChange:
        """Let a provider go only with the last graph that is bound to it: a server could not start otherwise."""
        if change.operation is not ChangeOperation.DELETE:
            return change
        for address, entry in self._applied.items():
            if entry.embedding_provider != change.resource:
                continue
            is_waiting = self._operations.get(address) is ChangeOperation.DELETE and address not in self._approved
            if is_waiting or name_of(address) in self._pending:
                return change.held_up(ChangeReason.DEPENDENCY_NOT_APPLIED)
        return change

    def _follow_delete(self, change: ResourceChange, graph_id: str) -> ResourceChange | None:
        """Return what becomes of a part of a graph that is deleted as a whole; None if the graph stays."""
        address = graph_address(graph_id)
        if self._operations.get(address) is not ChangeOperation.DELETE:
            return None
        return change if address in self._approved else change.held_up(ChangeReason.APPROVAL_REQUIRED)


def _deferred(change: ResourceChange) -> ResourceChange:
    return replace(change, disposition=Disposition.DEFERRED, reason=ChangeReason.APPLY_UNSUPPORTED_KIND)


def steps_of(changes: Collection[ResourceChange]) -> tuple[ClusterStep, ...]:
    """Return what executing the changes takes, in order: creates, schemas, blobs, deletes; each by address."""
    creates: list[ClusterStep] = []
    schemas: list[ClusterStep] = []
    blobs: list[ClusterStep] = []
    deletes: list[ClusterStep] = []
    new = {
        name_of(change.resource)
        for change in changes
        if kind_of(change.resource) is ResourceKind.GRAPH and change.operation is ChangeOperation.CREATE
    }
    for change in sorted(changes, key=lambda change: change.resource):
        if change.disposition is not Disposition.APPLIED:
            continue
        is_delete = change.operation is ChangeOperation.DELETE
        match kind_of(change.resource):
            case ResourceKind.GRAPH:
                graph_id = name_of(change.resource)
                (deletes if is_delete else creates).append(
                    DeleteGraph(graph_id=graph_id) if is_delete else CreateGraph(graph_id=graph_id)
                )
            case ResourceKind.SCHEMA if not is_delete and name_of(change.resource) not in new:
                schemas.append(ChangeSchema(graph_id=name_of(change.resource)))
            case ResourceKind.QUERY | ResourceKind.POLICY if not is_delete:
                blobs.append(PublishBlob(address=change.resource))
            case _:
                pass
    return (*creates, *schemas, *blobs, *deletes)


def demote(
    changes: Collection[ResourceChange],
    graph_id: str,
    *,
    failed: str,
    reason: ChangeReason,
    desired: Mapping[str, AppliedResource],
) -> tuple[ResourceChange, ...]:
    """Return the changes after a step of a graph failed: the one at the address `failed`, and what depends on it."""
    address = graph_address(graph_id)

    def judged(change: ResourceChange) -> ResourceChange:
        if change.resource == failed:
            return change.held_up(reason)
        bound = desired[change.resource].applies_to or () if change.resource in desired else ()
        if change.is_settled and (graph_of(change.resource) == graph_id or address in bound):
            return change.held_up(ChangeReason.DEPENDENCY_NOT_APPLIED)
        return change

    return tuple(judged(change) for change in changes)


def affected_by(address: str, dependencies: Collection[tuple[str, str]]) -> tuple[str, ...]:
    """Return everything that depends on a resource, directly or through others, sorted."""
    reached: set[str] = set()
    waiting = [address]
    while waiting:
        now = waiting.pop()
        for dependent, needed in dependencies:
            if needed == now and dependent not in reached:
                reached.add(dependent)
                waiting.append(dependent)
    return tuple(sorted(reached - {address}))
