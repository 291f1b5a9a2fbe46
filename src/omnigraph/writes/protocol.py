"""The write protocol, once, for every writer.

A writer describes what it wants (`Writer.prepare`); this module carries it out:

    enter -> capture -> prepare and stage (no lock) -> gates -> revalidate -> arm -> effects -> publish -> log -> forget

In one process, writers of the same branch prepare one after the other (`turns.py`). One that lost to another process
and is prepared quickly takes its gates first the next time, so that it cannot lose again.

Before the sidecar is armed nothing is owned and everything can be refused. After it is armed the operation is carried
to an end, by this process or by whoever recovers it: there is no silent retry past that point.
"""

import math
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any

from omnigraph.base import clock, faults, ids, waits
from omnigraph.base.events import Events, phase
from omnigraph.base.logs import about, logger_of
from omnigraph.base.units import counted
from omnigraph.errors import Internal, PreconditionFailed, ReadSetConflict, StaleView, StorageError
from omnigraph.graphs.capture import Capture, capture_branch, head_at_pin
from omnigraph.graphs.context import GraphContext
from omnigraph.graphs.whole_tables import explain_failure
from omnigraph.manifest.commits import MESSAGE, Commit, check_message
from omnigraph.manifest.publish import Preconditions, check_preconditions
from omnigraph.storage.locks import HeldLock, LockRequest
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
from omnigraph.writes.turns import Turn, turn_on

PREPARE_RETRY_BUDGET = 5
_PAUSE_SECONDS = 0.02
_AT_THE_GATES_SECONDS = 2.0
"""A write that lost to another process, and was prepared in no longer than this, is prepared again at its gates."""
_LONG_AT_THE_GATES_SECONDS = 15.0
"""The same for its last attempt: well below what others wait for a gate."""

_log = logger_of(__name__)


def run_write(context: GraphContext, writer: Writer, events: Events, *, message: str | None = None) -> Commit | None:
    """Carry out one write and return its commit, which says `message`, or None when it changed nothing."""
    said = {} if check_message(message) is None else {MESSAGE: message}
    with about(graph=context.store.uri):
        bring_up_to_date(context, writer.branch)
        return _run_write(context, writer, said, events)


def _run_write(context: GraphContext, writer: Writer, said: Mapping[str, Any], events: Events) -> Commit | None:
    moved: StaleView | None = None
    preparing_seconds = math.inf
    for attempt in range(PREPARE_RETRY_BUDGET):
        is_last = attempt == PREPARE_RETRY_BUDGET - 1
        run = _Attempt(context, writer, said, events)
        try:
            if preparing_seconds <= (_LONG_AT_THE_GATES_SECONDS if is_last else _AT_THE_GATES_SECONDS):
                return run.prepared_at_the_gates()
            if attempt:
                clock.sleep_seconds(_PAUSE_SECONDS * ids.jitter() * 2**attempt)
            with turn_on(context.store.root.identity, writer.branch) as turn:
                return run.prepared_before_the_gates(turn)
        except _Moved as stale:
            moved = stale.view
            preparing_seconds = run.preparing_seconds
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


class _Attempt:
    """One attempt at a write, from its capture to its commit; `_Moved` says that the next may do better."""

    def __init__(self, context: GraphContext, writer: Writer, said: Mapping[str, Any], events: Events) -> None:
        self._context = context
        self._writer = writer
        self._said = said
        self._events = events
        self._identity = WriteIdentity.mint(writer.kind, writer.commit_kind, writer.actor_id)
        self.preparing_seconds = math.inf
        """How long it took to prepare the write, once it is prepared."""

    def prepared_before_the_gates(self, turn: Turn) -> Commit | None:
        """Prepare while others may publish, then hold the gates for as long as the commit itself takes."""
        with self._about():
            settle_branch(self._context, self._writer.branch, events=self._events)
            capture, prepared = self._prepared()
            if prepared is None:
                return None
            with self._gates({self._writer.branch, *prepared.also_gated}) as lock:
                turn.keep()
                return self._commit(capture, prepared, lock)

    def prepared_at_the_gates(self) -> Commit | None:
        """Prepare while the gates are held, so that nobody gets in between: for what is known to take moments."""
        with self._about(), self._gates({self._writer.branch}) as lock:
            capture, prepared = self._prepared()
            if prepared is None:
                return None
            if prepared.also_gated:
                raise Internal(f"{self._writer.kind} needs the gates of other branches, which have an order")
            return self._commit(capture, prepared, lock)

    def _about(self) -> AbstractContextManager[None]:
        return about(graph=self._context.store.uri, operation_id=self._identity.operation_id)

    @contextmanager
    def _gates(self, branches: set[str]) -> Iterator[HeldLock]:
        """Hold the gates of branches with nothing pending on any of them."""
        with self._context.store.locks.acquire_all(
            [LockRequest(name=f"branch/{name}") for name in sorted(branches)],
            operation=f"{self._writer.kind} {self._identity.operation_id}",
            wait_seconds=waits.GATE_SECONDS,
            events=self._events,
        ) as lock:
            faults.reach("write.after_gates")
            for name in sorted(branches):
                settle_branch(self._context, name, lock=lock, events=self._events)
            yield lock

    def _prepared(self) -> tuple[Capture, PreparedWrite | None]:
        """Capture the branch and prepare the write against it; None when it changes nothing."""
        context, writer = self._context, self._writer
        started = clock.monotonic_seconds()
        capture = capture_branch(context, writer.branch)
        _check_expected_head(writer, capture)
        prepared = _prepare(context, writer, capture, self._identity)
        self.preparing_seconds = clock.monotonic_seconds() - started
        if prepared is None:
            _log.info("%s on branch %s changes nothing", writer.kind, writer.branch)
            _check_expected_head_again(context, writer)
            return capture, None
        faults.reach("write.after_stage")
        return capture, replace(prepared, metadata={**prepared.metadata, **self._said})

    def _commit(self, capture: Capture, prepared: PreparedWrite, lock: HeldLock) -> Commit:
        context = self._context
        _revalidate(context, capture, prepared)
        if prepared.last_check is not None:
            prepared.last_check()
        pointed = pointer_moves(context.store.tables, prepared.pointers)

        def effects() -> Achieved:
            achieved = apply_effects(context, prepared, lock, publishing)
            return Achieved(changes=prepared.manifest.with_pins((*pin_moves(prepared, achieved), *pointed)))

        sidecar = _sidecar(capture, self._identity, prepared)
        with phase(self._events, "publishing", total=len(prepared.effects), unit="tables") as publishing:
            commit = carry_out(context, sidecar, lock, effects, _preconditions(capture, prepared), self._events)
        assert commit is not None
        return commit


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
            f"precondition failed on branch '{writer.branch}': its head is {capture.snapshot.commit_id}, not "
            f"{writer.expected_head}; nothing was written.",
            expected=writer.expected_head,
            actual=capture.snapshot.commit_id,
        )


def _check_expected_head_again(context: GraphContext, writer: Writer) -> None:
    """Hold a caller's precondition against the head of this moment: what it was when the write began is long ago."""
    if writer.expected_head is not None:
        _check_expected_head(writer, capture_branch(context, writer.branch))


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
