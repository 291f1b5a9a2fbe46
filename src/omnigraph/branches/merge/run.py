"""The verb: merge one branch into another, or say what that would do."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from omnigraph.base import faults
from omnigraph.base.endings import tell
from omnigraph.base.events import Events, Warned
from omnigraph.base.values import dataclass
from omnigraph.branches.delete import delete_branch
from omnigraph.branches.merge.plan import MergePlan
from omnigraph.branches.merge.sides import MergeOutcome, observe_sides
from omnigraph.branches.merge.ways import MergePlanner
from omnigraph.branches.merge.writer import MergeWriter
from omnigraph.branches.names import check_branch_name
from omnigraph.changes.diff import TableCounts
from omnigraph.engine.choice import EngineChoice
from omnigraph.errors import HistoricalVersionReclaimed, InvalidTarget, OmniError, ReadSetConflict, StorageError
from omnigraph.graphs.capture import capture_branch
from omnigraph.graphs.context import GraphContext
from omnigraph.manifest.commits import MAIN_BRANCH, Commit, CommitId, CommitResult, check_actor, check_message
from omnigraph.manifest.rows import MANIFEST
from omnigraph.manifest.state import ManifestState
from omnigraph.storage.refs import list_refs
from omnigraph.writes.aftermath import says_what_is_published
from omnigraph.writes.protocol import run_write
from omnigraph.writes.recovery.entry import settle_branch


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeRequest:
    """One merge, whoever asks for it."""

    source: str
    into: str = MAIN_BRANCH
    delete_branch: bool = False
    """Whether the source goes once it is merged."""
    dry_run: bool = False
    message: str | None = None
    show_values: bool = False
    """Whether conflicts carry the entities."""
    actor: str | None = None
    engine: EngineChoice = EngineChoice()
    """Where large merges are worked out."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class MergeResult(CommitResult):
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


@says_what_is_published
def run_merge(context: GraphContext, request: MergeRequest, *, events: Events) -> MergeResult:
    """Merge one branch into another as one commit, or raise `MergeConflicts` and change nothing."""
    source, target = check_branch_name(request.source), check_branch_name(request.into)
    is_dry_run, message = request.dry_run, request.message
    if source == target:
        raise InvalidTarget(f"Branch '{source}' cannot be merged into itself.")
    check_actor(request.actor)
    check_message(message)
    if not is_dry_run:
        settle_branch(context, source, events=events)
    captured = context.manifest.load(source)
    faults.reach("merge.after_capture")
    with _source_must_live(context, captured), ExitStack() as leases:
        planner = MergePlanner(
            choice=request.engine,
            events=events,
            show_values=request.show_values,
            writes_files=not is_dry_run,
            leases=leases,
        )
        if is_dry_run:
            plan, commit = _preview(context, captured, target, planner), None
        else:
            writer = MergeWriter(source=captured, branch=target, actor_id=request.actor, planner=planner)
            plan, commit = _carry_out(context, writer, message, events)
    is_deleted, why_not = (
        _delete_source(context, source, captured.head.graph_commit_id, events)
        if request.delete_branch and not is_dry_run
        else (None, None)
    )
    return MergeResult(
        source=source,
        target=target,
        source_commit=captured.head.graph_commit_id,
        outcome=plan.outcome,
        is_dry_run=is_dry_run,
        tables=plan.tables,
        actor_id=request.actor,
        engine=planner.engine,
        engine_reason=planner.reason,
        commit=commit,
        branch_deleted=is_deleted,
        branch_delete_error=why_not,
    )


def _preview(context: GraphContext, source: ManifestState, target: str, planner: MergePlanner) -> MergePlan:
    """Plan the merge and write nothing; conflicts are refused as in a run."""
    plan = planner.plan(observe_sides(capture_branch(context, target), source))
    if plan.conflicts:
        raise plan.conflicts.error(source=source.branch.name, target=target)
    return plan


def _carry_out(
    context: GraphContext, writer: MergeWriter, message: str | None, events: Events
) -> tuple[MergePlan, Commit | None]:
    commit = run_write(context, writer, events, message=message)
    assert writer.plan is not None
    return writer.plan, commit


@contextmanager
def _source_must_live(context: GraphContext, source: ManifestState) -> Iterator[None]:
    """Say so when a state could not be read because somebody deleted the source meanwhile, or made it anew."""
    try:
        yield
    except (HistoricalVersionReclaimed, StorageError) as lost:
        ref = list_refs(context.store.tables, MANIFEST.location).get(source.branch.name)
        incarnation = ref.incarnation if ref is not None else None
        if source.branch.name == MAIN_BRANCH or incarnation == source.branch.incarnation:
            raise
        raise ReadSetConflict(
            f"stale view of branch '{source.branch.name}': it was deleted while it was being merged; nothing was "
            "written — refresh and retry",
            member="branch incarnation",
            expected=source.branch.incarnation,
            actual=incarnation,
        ) from lost


def _delete_source(context: GraphContext, name: str, merged: CommitId, events: Events) -> tuple[bool, str | None]:
    """Delete the merged branch if nothing was added to it since; the merge stands whatever comes of it."""
    try:
        delete_branch(context, name, events, expected_head=merged)
    except (OmniError, OSError) as refused:
        tell(events, Warned(message=f"branch {name} was merged but not deleted: {refused}"))
        return False, str(refused)
    return True, None
