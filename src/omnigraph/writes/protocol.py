"""The write protocol, once, for every writer.

A writer describes what it wants (`Writer.prepare`); this module carries it out:

    enter -> capture -> prepare and stage (no lock) -> gates -> revalidate -> arm -> effects -> publish -> log -> forget

Before the sidecar is armed nothing is owned and everything can be refused. After it is armed the operation is carried
to an end, by this process or by whoever recovers it: there is no silent retry past that point.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from omnigraph.base import clock, faults, ids, waits
from omnigraph.base.events import Events, phase
from omnigraph.base.logs import about, logger_of
from omnigraph.base.units import counted
from omnigraph.errors import PreconditionFailed, ReadSetConflict, StaleView, StorageError
from omnigraph.graphs.capture import Capture, capture_branch, head_at_pin
from omnigraph.graphs.context import GraphContext
from omnigraph.graphs.whole_tables import explain_failure
from omnigraph.manifest.commits import MESSAGE, Commit, check_message
from omnigraph.manifest.publish import Preconditions, check_preconditions
from omnigraph.storage.locks import LockRequest
from omnigraph.writes.creation import expect_absent_table
from omnigraph.writes.opening import bring_up_to_date
from omnigraph.writes.prepared import PreparedWrite, WriteIdentity, Writer
from omnigraph.writes.publishing import Achieved, carry_out, describe_operation
from omnigraph.writes.recovery.entry import settle_branch
from omnigraph.writes.sidecar import Sidecar
from omnigraph.writes.table_effects import (
    apply_effects,
    expect_absent_ref,
    lost_staged_files,
    pin_moves,
    planned_effect,
    pointer_moves,
)

PREPARE_RETRY_BUDGET = 5
_PAUSE_SECONDS = 0.02

_log = logger_of(__name__)


def run_write(context: GraphContext, writer: Writer, events: Events, *, message: str | None = None) -> Commit | None:
    """Carry out one write and return its commit, which says `message`, or None when it changed nothing."""
    said = {} if check_message(message) is None else {MESSAGE: message}
    with about(graph=context.store.uri):
        bring_up_to_date(context, writer.branch)
        return _run_write(context, writer, said, events)


def _run_write(context: GraphContext, writer: Writer, said: Mapping[str, Any], events: Events) -> Commit | None:
    moved: StaleView | None = None
    for attempt in range(PREPARE_RETRY_BUDGET):
        if attempt:
            clock.sleep_seconds(_PAUSE_SECONDS * ids.jitter() * 2**attempt)
        settle_branch(context, writer.branch, events=events)
        capture = capture_branch(context, writer.branch)
        _check_expected_head(writer, capture)
        identity = WriteIdentity.mint(writer.kind, writer.commit_kind, writer.actor_id)
        with about(graph=context.store.uri, operation_id=identity.operation_id):
            prepared = _prepare(context, writer, capture, identity)
            if prepared is None:
                _log.info("%s on branch %s changes nothing", writer.kind, writer.branch)
                _check_expected_head_again(context, writer)
                return None
            faults.reach("write.after_stage")
            try:
                prepared = replace(prepared, metadata={**prepared.metadata, **said})
                return _run_gated(context, writer, capture, identity, prepared, events)
            except _Moved as stale:
                moved = stale.view
                _check_expected_head_again(context, writer)
                if writer.is_strict:
                    _log.warning("%s given up: %s", writer.kind, moved)
                    raise moved from None
                _log.warning("attempt %d of %d failed: %s", attempt + 1, PREPARE_RETRY_BUDGET, moved)
    assert moved is not None
    raise ReadSetConflict(
        f"stale view of branch '{writer.branch}': it moved {PREPARE_RETRY_BUDGET} times while this write was being "
        "prepared — refresh and retry",
        **moved.details,
    ) from moved


def _prepare(context: GraphContext, writer: Writer, capture: Capture, identity: WriteIdentity) -> PreparedWrite | None:
    """Let the writer prepare; refuse to build on tables that have lost files, and say so when reading them failed."""
    objects = context.store.objects
    started = clock.monotonic_seconds()
    _log.debug("%s on branch %s builds on graph version %d", writer.kind, writer.branch, capture.snapshot.graph_version)
    try:
        prepared = writer.prepare(capture, identity)
    except StorageError as error:
        if error.is_transient:
            raise
        raise explain_failure(objects, capture.snapshot.pins.values(), error) from error
    if prepared is not None:
        files = sum(len(staged.files) for table in prepared.effects for staged in table.chain)
        staged_for = f"{counted(files, 'file')} for {counted(len(prepared.effects), 'table')}"
        _log.debug("%s staged %s in %.3f s", writer.kind, staged_for, clock.monotonic_seconds() - started)
        context.whole_tables.expect(objects, [table.pin for table in prepared.tables])
    return prepared


class _Moved(Exception):
    """The branch moved between capture and gates; nothing has been touched."""

    def __init__(self, view: StaleView) -> None:
        super().__init__(str(view))
        self.view = view


def _check_expected_head(writer: Writer, capture: Capture) -> None:
    if writer.expected_head is not None and writer.expected_head != capture.snapshot.commit_id:
        raise PreconditionFailed(
            f"The head of '{writer.branch}' is {capture.snapshot.commit_id}, not {writer.expected_head}; "
            "nothing was written.",
            expected=writer.expected_head,
            actual=capture.snapshot.commit_id,
        )


def _check_expected_head_again(context: GraphContext, writer: Writer) -> None:
    """Hold a caller's precondition against the head of this moment: what it was when the write began is long ago."""
    if writer.expected_head is not None:
        _check_expected_head(writer, capture_branch(context, writer.branch))


def _run_gated(
    context: GraphContext,
    writer: Writer,
    capture: Capture,
    identity: WriteIdentity,
    prepared: PreparedWrite,
    events: Events,
) -> Commit:
    branches = sorted({writer.branch, *prepared.also_gated})
    with context.store.locks.acquire_all(
        [LockRequest(name=f"branch/{name}") for name in branches],
        operation=f"{writer.kind} {identity.operation_id}",
        wait_seconds=waits.GATE_SECONDS,
        events=events,
    ) as lock:
        faults.reach("write.after_gates")
        for name in branches:
            settle_branch(context, name, lock=lock, events=events)
        _revalidate(context, capture, prepared)
        if prepared.last_check is not None:
            prepared.last_check()
        pointed = pointer_moves(context.store.tables, prepared.pointers)

        def effects() -> Achieved:
            achieved = apply_effects(context, prepared, lock, publishing)
            return Achieved(changes=prepared.manifest.with_pins((*pin_moves(prepared, achieved), *pointed)))

        sidecar = _sidecar(capture, identity, prepared)
        with phase(events, "publishing", total=len(prepared.effects), unit="tables") as publishing:
            commit = carry_out(context, sidecar, lock, effects, _preconditions(capture, prepared), events)
        assert commit is not None
        return commit


def _revalidate(context: GraphContext, capture: Capture, prepared: PreparedWrite) -> None:
    """Under the gates, with nothing pending: the branch as captured, every touched HEAD at its pin."""
    state = context.manifest.load(capture.snapshot.branch)
    try:
        check_preconditions(state.branch.incarnation, state.snapshot, _preconditions(capture, prepared))
    except StaleView as stale:
        raise _Moved(stale) from stale
    for new in prepared.created:
        expect_absent_table(context, new)
    for table in prepared.tables:
        if table.is_first_touch:
            expect_absent_ref(context, table)
        else:
            head_at_pin(context, table.pin)
    lost = lost_staged_files(context, capture.snapshot.branch, prepared)
    if lost is not None:
        raise _Moved(lost)


def _preconditions(capture: Capture, prepared: PreparedWrite) -> Preconditions:
    captured = capture.preconditions(prepared.moved)
    unknown = {new.identity: None for new in prepared.created}
    return replace(captured, expected_pins={**captured.expected_pins, **unknown})


def _sidecar(capture: Capture, identity: WriteIdentity, prepared: PreparedWrite) -> Sidecar:
    effects = tuple(planned_effect(table) for table in prepared.effects)
    return replace(
        describe_operation(capture.snapshot, identity, effects, prepared.metadata),
        merged_parent_commit_id=prepared.merged_parent,
        pointers=prepared.pointers,
        manifest=prepared.manifest,
        purges=prepared.purges,
    )
