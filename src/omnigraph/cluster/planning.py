"""From a ledger and a configuration to what an apply does; `plan`, `approve` and `apply` all get it from here."""

from collections.abc import Collection, Mapping
from dataclasses import replace

from omnigraph.base.values import Json, dataclass
from omnigraph.catalog.migration import step_document
from omnigraph.cluster.approvals import Approval, GatedChange, authorizing, read_approvals, unused, warn_of_stale
from omnigraph.cluster.changes import ChangeOperation, ResourceChange, affected_by, classify, compare
from omnigraph.cluster.desired import DesiredCluster, graph_edges
from omnigraph.cluster.diagnostics import DiagnosticCode, Diagnostics
from omnigraph.cluster.looking import LiveGraph, look_at_graph, preview_schema
from omnigraph.cluster.resources import ResourceKind, kind_of, name_of
from omnigraph.cluster.results import ApprovalNeed
from omnigraph.cluster.site import ClusterSite
from omnigraph.cluster.state import Ledger
from omnigraph.errors import OmniError
from omnigraph.evolution.plan import SchemaPlan, SchemaRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """The changes, each with what is done about it, and the decisions that authorize some of them."""

    changes: tuple[ResourceChange, ...]
    gated: Mapping[str, GatedChange]
    """The changes that need an approval, by address."""
    approvals: Mapping[str, Approval]
    """Those that have one."""

    def needs(self) -> tuple[ApprovalNeed, ...]:
        """Say what a person has to approve."""
        return tuple(
            ApprovalNeed(resource=address, reason=why_gated(address), satisfied=address in self.approvals)
            for address in sorted(self.gated)
        )


def why_gated(address: str) -> str:
    """Say why a change needs an approval."""
    return f"deleting {address} removes the graph with all of its data and history"


def make_plan(
    site: ClusterSite, ledger: Ledger, desired: DesiredCluster, *, pending: Collection[str], found: Diagnostics
) -> Planned:
    """Compare, look up what was approved, and decide; reads nothing but approvals, and those only if one counts."""
    changes = compare(ledger.resources, desired.entries)
    gated = {change.resource: _gated(change, desired) for change in changes if _needs_approval(change)}
    recorded = unused(read_approvals(site, found), ledger.approval_records) if gated else []
    approvals: dict[str, Approval] = {}
    for address, change in gated.items():
        approval = authorizing(change, recorded)
        if approval is not None:
            approvals[address] = approval
        else:
            warn_of_stale(change, recorded, found)
    judged = classify(
        changes, applied=ledger.resources, desired=desired.entries, pending=pending, approved=approvals.keys()
    )
    return Planned(changes=judged, gated=gated, approvals=approvals)


def blast_radius(
    changes: Collection[ResourceChange], ledger: Ledger, desired: DesiredCluster
) -> dict[str, tuple[str, ...]]:
    """Say for every change what depends on it, now or afterwards."""
    edges = {*desired.dependencies, *graph_edges(ledger.resources)}
    return {change.resource: affected_by(change.resource, edges) for change in changes}


def with_previews(
    site: ClusterSite, changes: Collection[ResourceChange], desired: DesiredCluster, found: Diagnostics
) -> tuple[ResourceChange, ...]:
    """Add to every schema update what the engine would do to the live graph."""
    return tuple(
        _with_preview(site, change, desired, found) if _is_schema_update(change) else change for change in changes
    )


def schema_request(desired: DesiredCluster, graph_id: str, *, actor: str | None = None) -> SchemaRequest:
    """Ask for the declared schema of a graph; what is dropped stays readable in the past, always."""
    file = desired.files[f"schema.{graph_id}"]
    return SchemaRequest(schema=file.content.decode(), schema_source=file.shown, actor=actor)


def migration_document(plan: SchemaPlan) -> dict[str, Json]:
    """Spell the engine's plan as a change has it."""
    return {"supported": plan.supported, "steps": [step_document(step) for step in plan.steps]}


def _with_preview(
    site: ClusterSite, change: ResourceChange, desired: DesiredCluster, found: Diagnostics
) -> ResourceChange:
    graph_id = name_of(change.resource)
    live: LiveGraph = look_at_graph(site.graph_uri(graph_id))
    reason = live.error or "there is no graph"
    if live.context is not None:
        try:
            plan = preview_schema(live.context, schema_request(desired, graph_id))
            return replace(change, migration=migration_document(plan))
        except OmniError as error:
            reason = error.message
    found.warn(
        DiagnosticCode.SCHEMA_PREVIEW_UNAVAILABLE,
        change.resource,
        f"What the new schema changes in graph {graph_id} cannot be told: {reason}",
    )
    return change


def _is_schema_update(change: ResourceChange) -> bool:
    return kind_of(change.resource) is ResourceKind.SCHEMA and change.operation is ChangeOperation.UPDATE


def _needs_approval(change: ResourceChange) -> bool:
    return kind_of(change.resource) is ResourceKind.GRAPH and change.operation is ChangeOperation.DELETE


def _gated(change: ResourceChange, desired: DesiredCluster) -> GatedChange:
    return GatedChange(
        resource=change.resource,
        operation=change.operation.value,
        config_digest=desired.config_digest,
        before_digest=change.before_digest,
        after_digest=change.after_digest,
    )
