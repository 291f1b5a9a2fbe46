"""Act: apply a schema as one commit, alone among schema changes and only while `main` is the only branch."""

from omnigraph.base import ids, waits
from omnigraph.base.endings import tell
from omnigraph.base.events import Events, Warned
from omnigraph.base.values import dataclass
from omnigraph.catalog.migration import MigrationStep
from omnigraph.errors import BranchBusy, RecoveryRequired, SchemaApplyLocked, SchemaDrift
from omnigraph.evolution.plan import FOREIGN_EDIT, SchemaRequest, has_foreign_edit
from omnigraph.evolution.writer import SchemaWriter, refuse_other_branches
from omnigraph.graphs.context import GraphContext
from omnigraph.manifest.commits import MAIN_BRANCH, Commit, CommitResult, check_actor, check_message
from omnigraph.storage.locks import HeldLock, LockRequest
from omnigraph.writes.aftermath import says_what_is_published
from omnigraph.writes.opening import bring_up_to_date
from omnigraph.writes.protocol import run_write
from omnigraph.writes.recovery.sweep import settle_all, tell_settled

_SCHEMA_LOCK = "schema"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class AppliedSchema(CommitResult):
    """What an apply did; without steps nothing was applied and there is no commit."""

    uri: str
    steps: tuple[MigrationStep, ...]
    graph_version: int
    """The graph version that has the schema."""
    commit: Commit | None

    @property
    def applied(self) -> bool:
        """Whether the graph has changed."""
        return self.commit is not None


@says_what_is_published
def apply_schema(context: GraphContext, request: SchemaRequest, *, events: Events) -> AppliedSchema:
    """Give the graph a schema, or raise and change nothing.

    Refused while other branches live, while an interrupted write is unsettled, while the readable copy of the schema
    holds somebody's edits, and for a plan with an unsupported step.
    """
    desired = request.desired
    writer = SchemaWriter(desired=desired, allow_data_loss=request.allow_data_loss, actor_id=check_actor(request.actor))
    check_message(request.message)
    with _take_turn(context):
        bring_up_to_date(context, MAIN_BRANCH)
        _settle_everything(context, events)
        refuse_other_branches(context)
        if has_foreign_edit(context, desired):
            raise SchemaDrift(f"{context.store.uri}: {FOREIGN_EDIT} Nothing was changed.")
        commit = run_write(context, writer, events, message=request.message)
    assert writer.plan is not None
    for hint in writer.plan.diagnostics:
        tell(events, Warned(message=str(hint)))
    return AppliedSchema(
        uri=context.store.uri,
        steps=writer.plan.steps,
        # Nothing is read again for the sake of the result once the change is published.
        graph_version=(commit or context.manifest.load(MAIN_BRANCH).head).graph_version,
        commit=commit,
    )


def _take_turn(context: GraphContext) -> HeldLock:
    """Wait for other applies of this process; one of another process is refused at once."""
    claim = LockRequest(name=_SCHEMA_LOCK, waits_for_others=False)
    operation = f"schema apply {ids.new_ulid()}"
    try:
        return context.store.locks.acquire_all([claim], operation=operation, wait_seconds=waits.GATE_SECONDS)
    except BranchBusy as busy:
        holder = busy.details.get("holder")
        raise SchemaApplyLocked(
            f"[OG-LK-101] Another schema change of {context.store.uri} is running"
            f"{f' ({holder})' if holder else ''}; nothing was changed. Try again when it has finished.",
            holder=holder,
        ) from busy


def _settle_everything(context: GraphContext, events: Events) -> None:
    swept = settle_all(context, wait_seconds=waits.GATE_SECONDS, events=events)
    tell_settled(swept, events)
    unsettled = [*(found.operation_id for found in swept.blocked), *swept.in_use]
    if unsettled:
        reasons = " ".join(found.reason for found in swept.blocked) or "They are in use by other processes."
        raise RecoveryRequired(
            f"The schema of {context.store.uri} cannot change while operations are unsettled: {', '.join(unsettled)}. "
            f"{reasons} Run `omnigraph recover {context.store.uri}`, then try again.",
            operation_id=unsettled[0],
            operation_ids=unsettled,
        )
