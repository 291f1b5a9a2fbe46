"""The verb: merge one branch into another, or say what that would do."""

from dataclasses import dataclass

from omnigraph.base.events import Events, Warned
from omnigraph.branches.delete import delete_branch
from omnigraph.branches.merge.plan import MergePlan, TableCounts, plan_merge
from omnigraph.branches.merge.sides import MergeOutcome, observe_sides
from omnigraph.branches.merge.writer import MergeWriter
from omnigraph.branches.names import check_branch_name
from omnigraph.errors import InvalidTarget, OmniError
from omnigraph.manifest.commits import Commit, CommitId, check_actor
from omnigraph.writes.authority import capture_branch
from omnigraph.writes.context import GraphContext
from omnigraph.writes.protocol import run_write
from omnigraph.writes.recovery.sweep import settle_branch


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeResult:
    """What a merge did, or in a dry run what it would do."""

    source: str
    target: str
    source_commit: CommitId
    """The commit of the source that was merged: its head when the merge began."""
    outcome: MergeOutcome
    is_dry_run: bool
    tables: tuple[TableCounts, ...]
    """What changes in the target, by table key; tables that do not change are left out."""
    actor_id: str | None
    engine: str
    engine_reason: str
    commit: Commit | None
    """None when the target was up to date already, and in a dry run."""
    branch_deleted: bool | None = None
    """Whether the source is gone; None when nobody asked for that."""
    branch_delete_error: str | None = None


def run_merge(
    context: GraphContext,
    source: str,
    target: str,
    *,
    is_dry_run: bool,
    delete_source: bool,
    message: str | None,
    show_values: bool,
    actor_id: str | None,
    events: Events,
) -> MergeResult:
    """Merge `source` into `target` as one commit, or raise `MergeConflicts` and change nothing."""
    source, target = check_branch_name(source), check_branch_name(target)
    if source == target:
        raise InvalidTarget(f"Branch '{source}' cannot be merged into itself.")
    check_actor(actor_id)
    if not is_dry_run:
        settle_branch(context, source)
    captured = context.manifest.load(source)
    if is_dry_run:
        plan = plan_merge(observe_sides(capture_branch(context, target), captured), show_values=show_values)
        if plan.conflicts:
            raise plan.conflicts.error(source=source, target=target)
        commit = None
    else:
        writer = MergeWriter(
            source=captured, branch=target, actor_id=actor_id, message=message, show_values=show_values
        )
        commit = run_write(context, writer, events)
        plan = _plan_of(writer)
    is_deleted, why_not = (
        _delete_source(context, source, captured.head.graph_commit_id, events)
        if delete_source and not is_dry_run
        else (None, None)
    )
    return MergeResult(
        source=source,
        target=target,
        source_commit=captured.head.graph_commit_id,
        outcome=plan.outcome,
        is_dry_run=is_dry_run,
        tables=plan.tables,
        actor_id=actor_id,
        engine=context.engine.name,
        engine_reason=_extent(plan),
        commit=commit,
        branch_deleted=is_deleted,
        branch_delete_error=why_not,
    )


def _extent(plan: MergePlan) -> str:
    changed = sum(table.inserted + table.updated + table.deleted for table in plan.tables)
    return "1 entity changes" if changed == 1 else f"{changed:,} entities change"


def _plan_of(writer: MergeWriter) -> MergePlan:
    assert writer.plan is not None
    return writer.plan


def _delete_source(context: GraphContext, name: str, merged: CommitId, events: Events) -> tuple[bool, str | None]:
    """Delete the merged branch if nothing was added to it since; the merge stands whatever comes of it."""
    try:
        delete_branch(context, name, events, expected_head=merged)
    except OmniError as refused:
        events(Warned(message=f"branch {name} was merged but not deleted: {refused.message}"))
        return False, refused.message
    return True, None
