"""What the commands of the control plane say, as text: a summary, what each resource is about, and every finding."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from omnigraph.cli.output import Text

if TYPE_CHECKING:  # the result classes live beside code that imports Lance
    from omnigraph.cluster.changes import ResourceChange
    from omnigraph.cluster.results import (
        AppliedCluster,
        ClusterPlan,
        ClusterResult,
        ClusterStatus,
        ClusterValidation,
        ObservedCluster,
        RecordedApproval,
        RemovedLock,
    )
    from omnigraph.cluster.stored_queries import CatalogQuery, CheckedQueries

RESTART_NOTE = "  Running servers pick the change up when they restart."


def validation_text(result: "ClusterValidation") -> Text:
    """Say whether the configuration can be applied."""
    if not result.ok or result.desired is None:
        return ["cluster config invalid", *_findings(result)]
    desired = result.desired
    counts = f"{len(desired.entries)} resource(s), {len(desired.dependencies)} dependency edge(s)"
    return [f"cluster config valid: {counts}", *_findings(result)]


def plan_text(result: "ClusterPlan") -> Text:
    """List what an apply would do."""
    return [
        f"cluster plan: {len(result.changes)} change(s)" if result.ok else "cluster plan failed",
        *map(_change, result.changes),
        *(
            f"  {need.resource} needs an approval ({need.reason}): {'given' if need.satisfied else 'missing'}"
            for need in result.approvals_required
        ),
        *_findings(result),
    ]


def applied_text(result: "AppliedCluster") -> Text:
    """List what an apply did."""
    done = sum(change.disposition.value == "applied" for change in result.changes)
    lines = [
        f"cluster apply: {done} of {len(result.changes)} change(s) applied" if result.ok else "cluster apply failed",
        *map(_change, result.changes),
    ]
    if result.observations is not None and result.observations.state_revision is not None:
        words = {True: "true", False: "false"}
        lines.append(
            f"  state: revision {result.observations.state_revision}, converged: {words[result.converged]}, "
            f"written: {words[result.state_written]}"
        )
    if result.state_written:
        lines.append(RESTART_NOTE)
    return [*lines, *_findings(result)]


def approval_text(result: "RecordedApproval") -> Text:
    """Say what was approved."""
    if result.approval_id is None:
        return ["cluster approve failed", *_findings(result)]
    said = f"approved: {result.operation} {result.resource} by {result.approved_by} (approval {result.approval_id})"
    return [said, *_findings(result)]


def status_text(result: "ClusterStatus | ObservedCluster", *, title: str) -> Text:
    """Say how every resource stands."""
    lines = [title if result.ok else f"{title} failed"]
    seen = result.observations
    if seen is not None:
        revision = f"revision {seen.state_revision}" if seen.state_found else "none"
        holder = f", locked by {seen.standing.lock_id} ({seen.standing.operation})" if seen.standing else ""
        lines.append(f"  state: {revision}, {seen.resource_count} resource(s){holder}")
    for address in sorted({*result.resource_digests, *result.resource_statuses}):
        status = result.resource_statuses.get(address)
        word = status.status.value if status else "applied"
        conditions = f" ({', '.join(status.conditions)})" if status and status.conditions else ""
        lines.append(f"  {address} [{word}]{conditions}")
    return [*lines, *_findings(result)]


def unlock_text(result: "RemovedLock") -> Text:
    """Say whether the lock is gone."""
    return ["lock removed" if result.lock_removed else "lock not removed", *_findings(result)]


def queries_text(queries: "list[CatalogQuery]") -> Text:
    """List stored queries with what they take."""
    lines: list[str] = []
    for query in queries:
        parameters = ", ".join(
            f"${parameter.name}: {parameter.type}{'?' if parameter.nullable else ''}" for parameter in query.parameters
        )
        lines.append(f"{'mutation' if query.is_mutation else 'read'}  {query.name}({parameters})")
        for word, said in (("description", query.description), ("instruction", query.instruction)):
            if said is not None:
                lines.append(f"  {word}: {said}")
    return lines or ["(no stored queries registered)"]


def checked_queries_text(checked: "CheckedQueries") -> Text:
    """Name the stored queries that are broken, and those that look odd."""
    lines = [f"broken  {name}: {message}" for name, message in checked.breakages]
    lines += [f"warning  {name}: {message}" for name, message in checked.warnings]
    return ["stored queries valid" if checked.ok else "stored queries invalid", *lines]


def _change(change: "ResourceChange") -> str:
    reason = f" ({change.reason})" if change.reason is not None else ""
    steps = change.migration.get("steps") if change.migration is not None else None
    migration = f", {len(steps)} schema step(s)" if isinstance(steps, list) else ""
    return f"  {change.operation.value.capitalize()} {change.resource} [{change.disposition}]{reason}{migration}"


def _findings(result: "ClusterResult") -> Iterator[str]:
    for found in result.diagnostics:
        word = "ERROR" if found.severity.value == "error" else "WARN "
        yield f"{word} {found.code} {found.path}: {found.message}"
