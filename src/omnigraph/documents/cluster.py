"""What the commands of the control plane say; what is not known is left out rather than null."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from omnigraph.base.values import Json

if TYPE_CHECKING:  # the result classes live beside code that imports Lance
    from omnigraph.cluster.desired import DesiredCluster
    from omnigraph.cluster.results import (
        AppliedCluster,
        ClusterPlan,
        ClusterResult,
        ClusterStatus,
        ClusterValidation,
        ObservedCluster,
        RecordedApproval,
        RemovedLock,
        StateObservations,
    )
    from omnigraph.cluster.state import ResourceStatus
    from omnigraph.cluster.stored_queries import CatalogQuery, CheckedQueries


def cluster_validation_document(result: "ClusterValidation") -> Json:
    """Describe a configuration."""
    desired = result.desired
    return {
        "ok": result.ok,
        "config_dir": result.config_dir,
        "config_file": f"{result.config_dir}/cluster.yaml",
        "resource_digests": desired.digests if desired else {},
        "resources": desired.resource_documents() if desired else [],
        "dependencies": _dependencies(desired),
        **_diagnostics(result),
    }


def cluster_plan_document(result: "ClusterPlan") -> Json:
    """Describe what an apply would do."""
    return {
        "ok": result.ok,
        "config_dir": result.config_dir,
        **_desired_revision(result.desired),
        "resource_digests": result.desired.digests if result.desired else {},
        "dependencies": _dependencies(result.desired),
        **_observations(result),
        "changes": [change.document() for change in result.changes],
        "blast_radius": [
            {"resource": resource, "affected": list(affected)} for resource, affected in result.blast_radius.items()
        ],
        "approvals_required": [
            {"resource": need.resource, "reason": need.reason, "satisfied": need.satisfied}
            for need in result.approvals_required
        ],
        **_diagnostics(result),
    }


def applied_cluster_document(result: "AppliedCluster") -> Json:
    """Describe what an apply did."""
    dispositions = [change.disposition.value for change in result.changes]
    return {
        "ok": result.ok,
        "config_dir": result.config_dir,
        **({} if result.actor is None else {"actor": result.actor}),
        **_desired_revision(result.desired),
        **_observations(result),
        "changes": [change.document() for change in result.changes],
        "applied_count": dispositions.count("applied"),
        "deferred_count": dispositions.count("deferred") + dispositions.count("blocked"),
        "converged": result.converged,
        "state_written": result.state_written,
        "resource_statuses": _statuses(result.resource_statuses),
        **_diagnostics(result),
    }


def approval_document(result: "RecordedApproval") -> Json:
    """Describe a recorded decision."""
    recorded: dict[str, Json] = {
        "approval_id": result.approval_id,
        "resource": result.resource,
        "operation": result.operation,
        "approved_by": result.approved_by,
    }
    return {
        "ok": result.ok,
        "config_dir": result.config_dir,
        **{name: value for name, value in recorded.items() if value is not None},
        **_observations(result),
        **_diagnostics(result),
    }


def cluster_status_document(result: "ClusterStatus") -> Json:
    """Describe what the ledger says."""
    return {
        "ok": result.ok,
        "config_dir": result.config_dir,
        **_observations(result),
        "resource_digests": dict(result.resource_digests),
        "resource_statuses": _statuses(result.resource_statuses),
        "observations": {address: dict(seen) for address, seen in result.seen.items()},
        **_diagnostics(result),
    }


def observed_cluster_document(result: "ObservedCluster") -> Json:
    """Describe a ledger that was compared with storage."""
    return {
        "ok": result.ok,
        "operation": result.operation,
        "config_dir": result.config_dir,
        **_observations(result),
        "resource_digests": dict(result.resource_digests),
        "resource_statuses": _statuses(result.resource_statuses),
        "observations": {address: dict(seen) for address, seen in result.seen.items()},
        **_diagnostics(result),
    }


def removed_lock_document(result: "RemovedLock") -> Json:
    """Say whether a lock was removed."""
    return {
        "ok": result.ok,
        "config_dir": result.config_dir,
        **_observations(result),
        "lock_removed": result.lock_removed,
        **_diagnostics(result),
    }


def stored_queries_document(queries: "list[CatalogQuery]") -> Json:
    """List stored queries as clients find them."""
    return {"queries": [_stored_query(query) for query in queries]}


def checked_queries_document(checked: "CheckedQueries") -> Json:
    """Say which stored queries do not fit the schema of their graph any more."""
    return {
        "ok": checked.ok,
        "breakages": [{"query": name, "message": message} for name, message in checked.breakages],
        "warnings": [{"query": name, "message": message} for name, message in checked.warnings],
    }


def _stored_query(query: "CatalogQuery") -> Json:
    described: dict[str, Json] = {"description": query.description, "instruction": query.instruction}
    return {
        "name": query.name,
        "graph_id": query.graph_id,
        # Kept for clients that read them; every stored query is a tool of its own name.
        "mcp_expose": True,
        "tool_name": query.name,
        "mutation": query.is_mutation,
        **{name: value for name, value in described.items() if value is not None},
        "params": [
            {"name": parameter.name, "type": parameter.type, "nullable": parameter.nullable}
            for parameter in query.parameters
        ],
    }


def _desired_revision(desired: "DesiredCluster | None") -> dict[str, Json]:
    if desired is None or not desired.config_digest:
        return {}
    return {"desired_revision": {"config_digest": desired.config_digest}}


def _dependencies(desired: "DesiredCluster | None") -> list[Json]:
    return [{"from": dependent, "to": needed} for dependent, needed in desired.dependencies] if desired else []


def _diagnostics(result: "ClusterResult") -> dict[str, Json]:
    return {"diagnostics": [found.document() for found in result.diagnostics]}


def _statuses(statuses: "Mapping[str, ResourceStatus]") -> dict[str, Json]:
    return {address: status.document() for address, status in sorted(statuses.items())}


def _observations(result: "ClusterResult") -> dict[str, Json]:
    return {} if result.observations is None else {"state_observations": _state(result.observations)}


def _state(seen: "StateObservations") -> Json:
    lock = seen.standing
    members: dict[str, Json] = {
        "state_path": seen.state_path,
        "lock_path": seen.lock_path,
        "state_found": seen.state_found,
        "applied_config_digest": seen.applied_config_digest,
        "state_revision": seen.state_revision,
        "state_cas": seen.state_cas,
        "resource_count": seen.resource_count,
        "locked": lock is not None,
        "lock_acquired": seen.acquired_lock_id is not None,
        "acquired_lock_id": seen.acquired_lock_id,
        "lock_id": lock.lock_id if lock else None,
        "lock_operation": lock.operation if lock else None,
        "lock_created_at": lock.created_at if lock else None,
        "lock_pid": lock.pid if lock else None,
        "lock_age_seconds": lock.age_seconds if lock else None,
    }
    return {name: value for name, value in members.items() if value is not None}
