"""Act: bring a cluster to what its configuration declares, one step after the other, and write down what was done."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace

from omnigraph.base import faults
from omnigraph.base.endings import is_failure
from omnigraph.base.events import Events, ignore_events, phase
from omnigraph.base.values import Json, dataclass
from omnigraph.cluster.advance import advanced
from omnigraph.cluster.approvals import Approval, read_approvals, write_approval
from omnigraph.cluster.catalog import publish_blob
from omnigraph.cluster.changes import (
    ChangeReason,
    ChangeSchema,
    ClusterStep,
    CreateGraph,
    DeleteGraph,
    Disposition,
    PublishBlob,
    ResourceChange,
    demote,
    steps_of,
)
from omnigraph.cluster.config import config_directory
from omnigraph.cluster.desired import DesiredCluster, read_desired
from omnigraph.cluster.diagnostics import DiagnosticCode, Diagnostics, Refused
from omnigraph.cluster.intents import GraphIntent, read_intents, retire_intents
from omnigraph.cluster.ledger import LEDGER_PATH
from omnigraph.cluster.looking import look_at_graph
from omnigraph.cluster.moving import GraphMover
from omnigraph.cluster.planning import Planned, make_plan
from omnigraph.cluster.resources import file_digest, graph_address, graph_of, schema_address
from omnigraph.cluster.results import AppliedCluster
from omnigraph.cluster.session import ClusterSession, now_text
from omnigraph.cluster.state import Ledger
from omnigraph.cluster.sweep import Swept, sweep, with_consumed, without_graph
from omnigraph.errors import StorageError
from omnigraph.manifest.commits import check_actor


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyRequest:
    """What applying a cluster may be asked for."""

    config_dir: str = "."
    actor: str | None = None


def apply_cluster(
    request: ApplyRequest, *, events: Events = ignore_events, environ: Mapping[str, str] = os.environ
) -> AppliedCluster:
    """Apply a configuration; whatever goes wrong is a finding of the result, and what was done is in the ledger."""
    check_actor(request.actor)
    found = Diagnostics()
    directory = str(config_directory(request.config_dir))
    desired = read_desired(request.config_dir, found)
    if desired is None:
        return AppliedCluster(
            config_dir=directory, diagnostics=found.all(), actor=request.actor, desired=None, resource_statuses={}
        )
    session = ClusterSession(desired.declared.header, found, operation="apply", environ=environ)
    run = _Run(session, desired, request.actor, events)
    if found.has_errors:
        session.look()
    else:
        session.run_locked(run.run)
    return AppliedCluster(
        config_dir=directory,
        diagnostics=found.all(),
        observations=session.observations,
        actor=request.actor,
        desired=desired,
        changes=run.changes,
        converged=run.converged,
        state_written=run.state_written,
        resource_statuses=session.stored.ledger.resource_statuses if session.stored else {},
    )


class _Run:
    """One apply under the lock; `changes` are what the plan says, corrected by what happened."""

    def __init__(self, session: ClusterSession, desired: DesiredCluster, actor: str | None, events: Events) -> None:
        self._session = session
        self._found = session.found
        self._desired = desired
        self._before = self._ledger = Ledger()
        self._events = events
        self._mover = GraphMover(session=session, desired=desired, actor=actor, events=events, remember=self._remember)
        self._actor = actor
        self._intents: dict[str, GraphIntent] = {}
        """Those of this run by graph; of one that failed, none."""
        self._armed: set[str] = set()
        """The graphs that this run may have moved."""
        self._used: dict[str, str] = {}
        """Approvals that were used up, with the operation that did."""
        self._approvals: Mapping[str, Approval] = {}
        self._has_failed = False
        self.changes: tuple[ResourceChange, ...] = ()
        self.state_written = False
        self.converged = False

    def run(self) -> None:
        self._before = self._session.required_ledger()
        self._before.refuse_wrong_composites()
        swept = sweep_session(self._session, self._before, self._desired)
        planned = make_plan(self._session.site, swept.ledger, self._desired, pending=swept.pending, found=self._found)
        self._ledger = swept.ledger
        self._used |= swept.consumed
        self._approvals = planned.approvals
        self.changes = planned.changes
        try:
            self._execute(steps_of(planned.changes))
            ledger = self._next_ledger(swept)
            self._write(ledger)
        except Refused:
            self._acknowledge_nothing()
            raise
        self._finish(swept, planned)

    def _execute(self, steps: Sequence[ClusterStep]) -> None:
        with phase(self._events, "apply the plan", total=len(steps), unit="steps") as progress:
            for step in steps:
                if isinstance(step, CreateGraph | ChangeSchema):
                    self._move(step)
                    progress.advance(1)
            self._publish_all([step for step in steps if isinstance(step, PublishBlob)])
            for step in steps:
                if isinstance(step, DeleteGraph):
                    self._move(step)
                    progress.advance(1)

    def _move(self, step: CreateGraph | ChangeSchema | DeleteGraph) -> None:
        """Take a graph-moving step; after one has failed, the others are left for the next run."""
        facts = _MOVES[type(step)]
        failed = schema_address(step.graph_id) if isinstance(step, ChangeSchema) else graph_address(step.graph_id)
        if self._has_failed:
            reason = f"{facts.doing} graph {step.graph_id} was left for the next run, because another step failed."
            self._found.warn(facts.skipped, failed, reason)
            self._demote(step.graph_id, failed, ChangeReason.DEPENDENCY_NOT_APPLIED)
            return
        try:
            self._carry_out(step)
        except BaseException as failure:
            if not is_failure(failure) or _is_contradiction(failure):
                raise
            self._has_failed = True
            self._intents.pop(step.graph_id, None)
            if isinstance(failure, Refused):
                self._found.extend([failure.diagnostic])
            else:
                reason = f"{facts.doing} graph {step.graph_id} failed: {failure}"
                self._found.error(facts.failed, failed, reason)
            self._demote(step.graph_id, failed, facts.reason)

    def _carry_out(self, step: CreateGraph | ChangeSchema | DeleteGraph) -> None:
        match step:
            case CreateGraph(graph_id=graph_id):
                self._source(schema_address(graph_id))
                self._mover.create(graph_id)
            case ChangeSchema(graph_id=graph_id):
                self._source(schema_address(graph_id))
                self._note_migration(schema_address(graph_id), self._mover.change_schema(graph_id))
            case DeleteGraph(graph_id=graph_id):
                self._delete(graph_id)

    def _delete(self, graph_id: str) -> None:
        approval = self._approvals.get(graph_address(graph_id))
        if approval is None:
            raise Refused(
                DiagnosticCode.APPLY_APPROVAL_INVARIANT_VIOLATION,
                graph_address(graph_id),
                f"Graph {graph_id} was about to be deleted without an approval, which is a defect in omnigraph; "
                "nothing more was done.",
            )
        operation = self._mover.delete(graph_id, approval_id=approval.approval_id)
        now = now_text()
        ledger = without_graph(
            self._ledger, graph_id, deleted_at=now, approval_id=approval.approval_id, actor=self._actor
        )
        self._ledger = with_consumed(ledger, approval.approval_id, operation, now)
        self._used[approval.approval_id] = operation

    def _publish_all(self, steps: Sequence[PublishBlob]) -> None:
        """Fill the catalog; an error stops the run before the ledger moves, and blobs without an entry are inert."""
        due = {change.resource for change in self.changes if change.disposition is Disposition.APPLIED}
        try:
            for step in steps:
                if step.address not in due:
                    continue
                content = self._source(step.address)
                publish_blob(self._session.site, step.address, file_digest(content), content)
            faults.reach("cluster_apply.after_payload_phase")
        except (StorageError, OSError) as error:
            raise Refused(
                DiagnosticCode.RESOURCE_PAYLOAD_WRITE_ERROR,
                "__cluster/resources",
                f"The catalog could not be written: {error} The ledger was left as it is; run the command again.",
            ) from error

    def _source(self, address: str) -> bytes:
        """Read a source again; what was looked at in the plan and what is applied must be the same."""
        file = self._desired.files[address]
        try:
            content = file.path.read_bytes()
        except OSError:
            content = b""
        if file_digest(content) != self._desired.entries[address].digest:
            raise Refused(
                DiagnosticCode.RESOURCE_CONTENT_CHANGED,
                address,
                f"{file.shown} has changed since this command read it; nothing was applied from it. Run it again.",
            )
        return content

    def _next_ledger(self, swept: Swept) -> Ledger:
        for change in self.changes:
            if change.disposition is Disposition.DEFERRED:
                reason = f"{change.resource} cannot be changed by an apply, and was left as it is."
                self._found.warn(DiagnosticCode.APPLY_UNSUPPORTED_CHANGE, change.resource, reason)
            elif change.disposition is Disposition.BLOCKED and change.reason is not None:
                waits = _WAITS[change.reason].format(graph=graph_of(change.resource))
                reason = f"{change.resource} was left as it is: {waits}"
                self._found.warn(DiagnosticCode.APPLY_DEPENDENCY_BLOCKED, change.resource, reason)
        ledger = advanced(self._ledger, self.changes, self._desired.entries, pending=swept.pending)
        is_whole = all(change.is_settled for change in self.changes) and not swept.pending
        if is_whole and not self._found.has_errors:
            self.converged = True
            return replace(ledger, config_digest=self._desired.config_digest)
        return ledger

    def _write(self, ledger: Ledger) -> None:
        if ledger == self._before:
            return
        try:
            faults.reach("cluster_apply.before_state_write")
        except OSError as error:
            raise Refused(
                DiagnosticCode.STATE_WRITE_ERROR, LEDGER_PATH, f"{self._session.site.state_path}: {error}"
            ) from error
        self._session.write_ledger(ledger)
        self.state_written = True

    def _finish(self, swept: Swept, planned: Planned) -> None:
        """Clean up behind the ledger: what fails here is repeated by the next command."""
        retire_intents(self._session.site, [*swept.retired, *self._intents.values()], self._found)
        consume_approvals(self._session, self._used, list(planned.approvals.values()))

    def _acknowledge_nothing(self) -> None:
        """Show every change as waiting: the ledger does not have it."""
        self.converged = False
        self.changes = tuple(
            change.held_up(
                ChangeReason.CLUSTER_RECOVERY_PENDING
                if graph_of(change.resource) in self._armed
                else ChangeReason.DEPENDENCY_NOT_APPLIED
            )
            if change.is_settled
            else change
            for change in self.changes
        )

    def _remember(self, intent: GraphIntent) -> None:
        self._intents[intent.graph_id] = intent
        self._armed.add(intent.graph_id)

    def _note_migration(self, address: str, migration: Mapping[str, Json]) -> None:
        self.changes = tuple(
            replace(change, migration=migration) if change.resource == address else change for change in self.changes
        )

    def _demote(self, graph_id: str, failed: str, reason: ChangeReason) -> None:
        self.changes = demote(self.changes, graph_id, failed=failed, reason=reason, desired=self._desired.entries)


@dataclass(frozen=True, slots=True, kw_only=True)
class _MoveFacts:
    doing: str
    failed: DiagnosticCode
    skipped: DiagnosticCode
    reason: ChangeReason


_MOVES: Mapping[type, _MoveFacts] = {
    CreateGraph: _MoveFacts(
        doing="Creating",
        failed=DiagnosticCode.GRAPH_CREATE_FAILED,
        skipped=DiagnosticCode.GRAPH_CREATE_SKIPPED,
        reason=ChangeReason.GRAPH_CREATE_FAILED,
    ),
    ChangeSchema: _MoveFacts(
        doing="Changing the schema of",
        failed=DiagnosticCode.SCHEMA_APPLY_FAILED,
        skipped=DiagnosticCode.SCHEMA_APPLY_SKIPPED,
        reason=ChangeReason.SCHEMA_APPLY_FAILED,
    ),
    DeleteGraph: _MoveFacts(
        doing="Deleting",
        failed=DiagnosticCode.GRAPH_DELETE_FAILED,
        skipped=DiagnosticCode.GRAPH_DELETE_SKIPPED,
        reason=ChangeReason.GRAPH_DELETE_FAILED,
    ),
}

_WAITS: Mapping[ChangeReason, str] = {
    ChangeReason.APPROVAL_REQUIRED: "a person has to approve it with `omnigraph cluster approve graph.{graph}`.",
    ChangeReason.CLUSTER_RECOVERY_PENDING: "an interrupted operation on its graph is not settled.",
    ChangeReason.DEPENDENCY_NOT_APPLIED: "something that it depends on was not applied.",
    ChangeReason.APPLY_UNSUPPORTED_KIND: "an apply does not change resources of this kind.",
    ChangeReason.GRAPH_CREATE_FAILED: "its graph could not be created.",
    ChangeReason.SCHEMA_APPLY_FAILED: "its schema could not be changed.",
    ChangeReason.GRAPH_DELETE_FAILED: "its graph could not be deleted.",
}


def _is_contradiction(failure: BaseException) -> bool:
    """Tell a defect of ours, at which the run stops, from a step that failed."""
    return isinstance(failure, Refused) and failure.diagnostic.code == DiagnosticCode.APPLY_APPROVAL_INVARIANT_VIOLATION


def sweep_session(session: ClusterSession, ledger: Ledger, desired: DesiredCluster) -> Swept:
    """Settle what interrupted commands left; what comes of it lands with the ledger's next write."""
    return sweep(
        ledger,
        read_intents(session.site, session.found),
        look=look_at_graph,
        schema_texts={graph_id: desired.schema_text(graph_id) for graph_id in desired.declared.graphs},
        now=now_text(),
        found=session.found,
    )


def consume_approvals(
    session: ClusterSession, used: Mapping[str, str], known: Sequence[Approval] | None = None
) -> None:
    """Write into the files of approvals that they were used; the ledger says so already."""
    if not used:
        return
    approvals = {approval.approval_id: approval for approval in read_approvals(session.site, session.found)}
    approvals |= {approval.approval_id: approval for approval in known or ()}
    for approval_id, operation in used.items():
        if approval_id not in approvals:
            continue
        try:
            write_approval(
                session.site,
                replace(approvals[approval_id], consumed_at=now_text(), consumed_by_operation=operation),
            )
        except Refused as refused:
            session.found.warn(DiagnosticCode.APPROVAL_WRITE_ERROR, refused.diagnostic.path, refused.message)
