"""From the changes of a finished run to the next ledger; pure."""

from collections.abc import Collection, Mapping
from dataclasses import replace

from omnigraph.base.values import Json
from omnigraph.cluster.changes import ChangeOperation, ChangeReason, Disposition, ResourceChange
from omnigraph.cluster.resources import graph_address, graph_of
from omnigraph.cluster.state import AppliedResource, Ledger, ResourceStatus, StatusWord, composite_digest

_APPLIED = ResourceStatus(status=StatusWord.APPLIED)
_FAILURES = frozenset(
    {ChangeReason.GRAPH_CREATE_FAILED, ChangeReason.SCHEMA_APPLY_FAILED, ChangeReason.GRAPH_DELETE_FAILED}
)


def advanced(
    ledger: Ledger,
    changes: Collection[ResourceChange],
    desired: Mapping[str, AppliedResource],
    *,
    pending: Collection[str],
) -> Ledger:
    """Return what the ledger says after these changes; `pending` are graphs whose status a sweep has set.

    Deleted graphs have been taken out before. Composites are recomputed from the ledger's own parts.
    """
    resources = dict(ledger.resources)
    for change in changes:
        _enter(resources, change, desired)
    statuses = _statuses(ledger.resource_statuses, resources, changes, pending)
    born = {change.resource for change in changes if change.is_settled and change.operation is ChangeOperation.CREATE}
    seen = {address: found for address, found in ledger.observations.items() if not _is_buried(found, address, born)}
    return recomposed(replace(ledger, resources=resources, resource_statuses=statuses, observations=seen))


def _is_buried(seen: Mapping[str, Json], address: str, born: Collection[str]) -> bool:
    """Tell the tombstone of a graph that has been made anew."""
    return address in born and seen.get("kind") == "tombstone"


def recomposed(ledger: Ledger) -> Ledger:
    """Return the ledger with the digest of every graph recomputed from its parts."""
    resources = dict(ledger.resources)
    for graph_id in ledger.graph_ids:
        address = graph_address(graph_id)
        resources[address] = replace(resources[address], digest=composite_digest(resources, graph_id))
    return replace(ledger, resources=resources)


def _enter(
    resources: dict[str, AppliedResource], change: ResourceChange, desired: Mapping[str, AppliedResource]
) -> None:
    if not change.is_settled:
        return
    if change.operation is ChangeOperation.DELETE:
        resources.pop(change.resource, None)
    else:
        # A composite that was derived brings the bindings of its graph; its digest is recomputed afterwards.
        resources[change.resource] = desired[change.resource]


def _statuses(
    old: Mapping[str, ResourceStatus],
    resources: Mapping[str, AppliedResource],
    changes: Collection[ResourceChange],
    pending: Collection[str],
) -> dict[str, ResourceStatus]:
    statuses = {}
    for address in resources:
        before = old.get(address, _APPLIED)
        is_kept = before.status is StatusWord.ERROR or graph_of(address) in pending
        statuses[address] = before if is_kept else _APPLIED
    statuses |= {address: status for address, status in old.items() if graph_of(address) in pending}
    for change in changes:
        status = _status_of(change)
        if status is not None and not (graph_of(change.resource) in pending and change.resource in statuses):
            statuses[change.resource] = status
        elif change.is_settled and change.resource in resources:
            statuses[change.resource] = _APPLIED
    return statuses


def _status_of(change: ResourceChange) -> ResourceStatus | None:
    if change.is_settled or change.reason is None:
        return None
    word = StatusWord.PENDING if change.disposition is Disposition.DEFERRED else StatusWord.BLOCKED
    if change.reason in _FAILURES:
        word = StatusWord.ERROR
    return ResourceStatus(status=word, conditions=(change.reason.value,))
