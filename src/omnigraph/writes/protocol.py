"""The write protocol, once, for every writer.

A writer describes what it wants (`Writer.prepare`); this module carries it out:

    enter -> capture -> prepare and stage (no lock) -> gates -> revalidate -> arm -> effects -> publish -> log -> forget

Before the sidecar is armed nothing is owned and everything can be refused. After it is armed the operation is carried
to an end, by this process or by whoever recovers it: there is no silent retry past that point.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, replace
from typing import Any, Protocol

from omnigraph.base import clock, faults, ids
from omnigraph.base.endings import is_failure, tell
from omnigraph.base.events import Events, Phase, Warned, phase
from omnigraph.base.logs import about, logger_of
from omnigraph.base.units import counted
from omnigraph.base.values import dataclass
from omnigraph.catalog.model import TableIdentity, TableKey
from omnigraph.errors import (
    DriftNeedsRepair,
    Effect,
    OmniError,
    PreconditionFailed,
    ReadSetConflict,
    RecoveryRequired,
    StaleView,
    StorageError,
)
from omnigraph.graphs.capture import Capture, capture_branch, head_at_pin
from omnigraph.graphs.context import GraphContext
from omnigraph.graphs.whole_tables import explain_failure
from omnigraph.manifest.commits import MESSAGE, Commit, CommitId, CommitKind, check_message
from omnigraph.manifest.publish import ManifestChanges, PinMove, Preconditions, check_preconditions
from omnigraph.manifest.snapshot import GraphSnapshot, TablePin
from omnigraph.storage.checksums import for_sidecar
from omnigraph.storage.file_references import missing_or_short
from omnigraph.storage.locks import HeldLock, LockRequest
from omnigraph.storage.refs import create_ref, has_ref
from omnigraph.storage.staging import CommitInterleaved, StagedCommit, commit_staged
from omnigraph.storage.tables import Table, TableAddress
from omnigraph.writes.aftermath import finish_published
from omnigraph.writes.creation import NewTable, expect_absent_table
from omnigraph.writes.manifest_delta import ManifestDelta
from omnigraph.writes.pointers import pointer_moves
from omnigraph.writes.purge import Purge
from omnigraph.writes.recovery.entry import settle_branch, settle_own, visible_commit
from omnigraph.writes.sidecar import (
    EffectKind,
    Fork,
    PlannedCommit,
    Sidecar,
    SidecarEffect,
    SidecarKind,
    sidecars_of,
    this_writer,
)
from omnigraph.writes.upgrading import bring_up_to_date

PREPARE_RETRY_BUDGET = 5
GATE_WAIT_SECONDS = 30.0
_PAUSE_SECONDS = 0.02

_log = logger_of(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedTable:
    """One table's staged change: a chain of transactions on top of its pin."""

    pin: TablePin
    target: TableAddress
    """Where the chain lands: where the pin is, or the branch's own ref, forked from the pin by this very write."""
    chain: tuple[StagedCommit, ...]
    renamed_to: TableKey | None = None
    """What the table is called once the write is published, if that is another name."""

    @property
    def table_key(self) -> TableKey:
        """What the table is called once the write is published."""
        return self.renamed_to or self.pin.table_key

    @property
    def identity(self) -> TableIdentity:
        """What names the table for ever."""
        return self.pin.identity

    @property
    def is_first_touch(self) -> bool:
        """Whether the branch inherits the table so far and must fork it."""
        return self.target != self.pin.address


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedWrite:
    """A change that is staged in full and has touched nothing yet."""

    tables: tuple[PreparedTable, ...]
    metadata: Mapping[str, Any] = field(default_factory=dict)
    created: tuple[NewTable, ...] = ()
    manifest: ManifestDelta = field(default_factory=ManifestDelta)
    purges: tuple[Purge, ...] = ()
    """What is removed for good once the write is published."""
    last_check: Callable[[], None] | None = None
    """Looks under the gates at what the branch itself does not show, and raises to refuse; nothing is touched yet."""
    pointers: tuple[TablePin, ...] = ()
    """Pins that move to a state which exists already, without a table effect."""
    merged_parent: CommitId | None = None
    """The second parent of the commit, for a merge."""
    also_gated: tuple[str, ...] = ()
    """Further branches whose gates the write takes, and whose interrupted operations it settles first."""

    @property
    def effects(self) -> tuple[NewTable | PreparedTable, ...]:
        """Everything that is committed to tables, in the order in which it happens."""
        return (*self.created, *self.tables)

    @property
    def moved(self) -> tuple[TableKey, ...]:
        """The tables that the branch shows already and whose pins the write moves."""
        return (*(table.pin.table_key for table in self.tables), *(pin.table_key for pin in self.pointers))


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteIdentity:
    """Who writes, under which ids; minted before anything is staged, so that staged files can be told apart."""

    operation_id: str
    commit_id: CommitId
    kind: SidecarKind
    commit_kind: CommitKind
    actor_id: str | None

    @classmethod
    def mint(cls, kind: SidecarKind, commit_kind: CommitKind, actor_id: str | None) -> "WriteIdentity":
        """Mint the ids of one attempt."""
        return cls(
            operation_id=ids.new_ulid(),
            commit_id=CommitId(ids.new_ulid()),
            kind=kind,
            commit_kind=commit_kind,
            actor_id=actor_id,
        )

    @property
    def transaction_properties(self) -> Mapping[str, str]:
        """What every Lance transaction of this operation carries."""
        return {
            "omnigraph.operation_id": self.operation_id,
            "omnigraph.kind": self.kind.value,
            "omnigraph.commit_id": self.commit_id,
        }


class Writer(Protocol):
    """The description of one write: what kind it is, whether it may start over, and how it is prepared."""

    kind: SidecarKind
    commit_kind: CommitKind
    branch: str
    actor_id: str | None
    expected_head: str | None

    @property
    def is_strict(self) -> bool:
        """Whether a moved head is an error for the caller instead of a reason to prepare again."""
        ...

    def prepare(self, capture: Capture, identity: WriteIdentity) -> PreparedWrite | None:
        """Check and stage the change against one capture; None when it changes nothing. Commits nothing."""
        ...


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
        wait_seconds=GATE_WAIT_SECONDS,
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
            achieved = _apply_effects(context, prepared, lock, publishing)
            return Achieved(changes=prepared.manifest.with_pins((*_moves(prepared, achieved), *pointed)))

        sidecar = _sidecar(capture, identity, prepared)
        with phase(events, "publishing", total=len(prepared.effects), unit="tables") as publishing:
            commit = carry_out(context, sidecar, lock, effects, _preconditions(capture, prepared), events)
        assert commit is not None
        return commit


@dataclass(frozen=True, slots=True, kw_only=True)
class Achieved:
    """What the effects of an armed operation came to, ready to be published."""

    changes: ManifestChanges
    metadata: Mapping[str, Any] | None = None
    """What the commit says about itself beside what was armed, as far as that shows only now."""


def carry_out(
    context: GraphContext,
    sidecar: Sidecar,
    lock: HeldLock,
    effects: Callable[[], Achieved | None],
    preconditions: Preconditions,
    events: Events,
) -> Commit | None:
    """Arm an operation under the gates it holds, let it make its effects, publish what they came to, and forget it.

    Returns None when `effects` did, which says that no table moved: there is nothing to publish then.
    """
    with about(graph=context.store.uri, operation_id=sidecar.operation_id):
        return _carry_out(context, sidecar, lock, effects, preconditions, events)


def _carry_out(
    context: GraphContext,
    sidecar: Sidecar,
    lock: HeldLock,
    effects: Callable[[], Achieved | None],
    preconditions: Preconditions,
    events: Events,
) -> Commit | None:
    lock.ensure_seconds_left()
    sidecars_of(context).arm(sidecar)
    tables = counted(len(sidecar.effects), "table")
    _log.info("%s armed on branch %s: %s", sidecar.kind, sidecar.branch_name, tables)
    commit: Commit | None
    try:
        faults.reach("write.after_arm")
        achieved = effects()
        faults.reach("write.after_effects")
        lock.ensure_seconds_left()
        if achieved is None:
            sidecars_of(context).forget(sidecar.operation_id)
            _log.info("%s moved no table; nothing is published", sidecar.kind)
            return None
        draft = sidecar.commit()
        if achieved.metadata is not None:
            draft = replace(draft, metadata={**draft.metadata, **achieved.metadata})
        commit = context.publisher.publish(sidecar.branch_name, achieved.changes, draft, preconditions)
    except BaseException as error:
        if not is_failure(error):
            raise
        commit = _settle_after_failure(context, sidecar, lock, error, events)
    finish_published(context, commit, events, sidecar=sidecar)
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
            _expect_absent_ref(context, table)
        else:
            head_at_pin(context, table.pin)
    _expect_staged_files(context, capture.snapshot.branch, prepared)


def _preconditions(capture: Capture, prepared: PreparedWrite) -> Preconditions:
    captured = capture.preconditions(prepared.moved)
    unknown = {new.identity: None for new in prepared.created}
    return replace(captured, expected_pins={**captured.expected_pins, **unknown})


def _sidecar(capture: Capture, identity: WriteIdentity, prepared: PreparedWrite) -> Sidecar:
    effects = tuple(_effect(table) for table in prepared.effects)
    return replace(
        describe_operation(capture.snapshot, identity, effects, prepared.metadata),
        merged_parent_commit_id=prepared.merged_parent,
        pointers=prepared.pointers,
        manifest=prepared.manifest,
        purges=prepared.purges,
    )


def describe_operation(
    snapshot: GraphSnapshot, identity: WriteIdentity, effects: tuple[SidecarEffect, ...], metadata: Mapping[str, Any]
) -> Sidecar:
    """Write down what an operation is about to do to a branch as it is now."""
    now = clock.now_us()
    return Sidecar(
        operation_id=identity.operation_id,
        kind=identity.kind,
        started_at_us=now,
        writer=this_writer(),
        actor_id=identity.actor_id,
        branch_name=snapshot.branch,
        branch_incarnation=snapshot.incarnation,
        head=snapshot.commit_id,
        graph_version=snapshot.graph_version,
        ir_hash=snapshot.schema.ir_hash,
        commit_id=identity.commit_id,
        commit_kind=identity.commit_kind,
        commit_created_at_us=now,
        commit_metadata=metadata,
        rollback_commit_id=CommitId(ids.new_ulid()),
        effects=effects,
    )


def _effect(table: NewTable | PreparedTable) -> SidecarEffect:
    if isinstance(table, NewTable):
        return table.effect()
    return SidecarEffect(
        table_key=table.table_key,
        identity=table.pin.identity,
        location=table.pin.location,
        ref=table.target.ref,
        expected_version=table.pin.version,
        effect=EffectKind.COMMIT,
        fork=Fork(from_ref=table.pin.ref, from_version=table.pin.version) if table.is_first_touch else None,
        planned=tuple(
            PlannedCommit(uuid=staged.uuid, read_version=staged.read_version, operation=staged.operation)
            for staged in table.chain
        ),
        compensation_uuid=ids.new_uuid(),
        checksums=for_sidecar(_checksums(table)),
    )


def _apply_effects(
    context: GraphContext, prepared: PreparedWrite, lock: HeldLock, publishing: Phase
) -> dict[TableKey, Table]:
    achieved: dict[TableKey, Table] = {}
    for position, table in enumerate(prepared.effects):
        if position:
            faults.reach("write.between_tables")
        fork = table if isinstance(table, PreparedTable) and table.is_first_touch else None
        if fork is not None:
            lock.ensure_seconds_left()
            _fork(context, fork)
        for staged in table.chain:
            lock.ensure_seconds_left()
            achieved[table.table_key] = commit_staged(context.store.tables, table.target, staged)
            _log.debug("committed %s at version %d", table.table_key, achieved[table.table_key].version)
        if isinstance(table, PreparedTable):
            context.whole_tables.note_landed(achieved[table.table_key])
        if fork is not None:
            faults.reach("fork.after_commit")
        if isinstance(table, NewTable):
            faults.reach("schema.after_create_table")
        publishing.advance()
    return achieved


def _fork(context: GraphContext, table: PreparedTable) -> None:
    """Give the branch a ref of its own, at exactly the state it has inherited so far."""
    assert table.target.ref is not None
    faults.reach("fork.before_create")
    inherited = context.store.tables.open(table.pin.address, table.pin.version)
    create_ref(context.store.tables, inherited, table.target.ref)
    faults.reach("fork.after_create")


def _expect_absent_ref(context: GraphContext, table: PreparedTable) -> None:
    assert table.target.ref is not None
    if has_ref(context.store.objects, table.target.location, table.target.ref):
        raise DriftNeedsRepair(
            f"stale view of '{table.pin.table_key}': the branch's own {table.target.path} exists although the graph "
            "does not pin it, and no pending operation explains it. Nothing was written; run omnigraph repair.",
            tables=[table.pin.table_key],
        )


def _expect_staged_files(context: GraphContext, branch: str, prepared: PreparedWrite) -> None:
    """Demand that every staged file is still there: what is published must never name one that is gone.

    Nothing refers to staged files yet, so cleanup takes those that lie around for a week. Those of a first write wait
    in the tree of a ref that does not exist yet: if another writer made that ref and died, whoever settled it removed
    the tree, and our files with it.
    """
    files = [file for table in prepared.effects for staged in table.chain for file in staged.files]
    lost = missing_or_short(files, context.store.objects.sizes_of({file.path for file in files}))
    if lost:
        raise _Moved(
            ReadSetConflict(
                f"stale view of branch '{branch}': {counted(len(lost), 'file')} that this write had staged "
                f"{'is' if len(lost) == 1 else 'are'} gone ({lost[0]}); nothing was committed — refresh and retry",
                member="staged_files",
                expected=counted(len(files), "file"),
                actual=counted(len(files) - len(lost), "file"),
            )
        )


def _moves(prepared: PreparedWrite, achieved: Mapping[TableKey, Table]) -> Iterator[PinMove]:
    for table in prepared.effects:
        yield PinMove.to(
            achieved[table.table_key],
            table_key=table.table_key,
            identity=table.identity,
            transaction_uuid=table.chain[-1].uuid,
            checksums=_checksums(table),
        )


def _checksums(table: NewTable | PreparedTable) -> dict[str, str]:
    return {name: value for staged in table.chain for name, value in staged.checksums.items()}


def _settle_after_failure(
    context: GraphContext, sidecar: Sidecar, lock: HeldLock, error: BaseException, events: Events
) -> Commit:
    """Bring our own operation to an end while we still hold its gates; return its commit if it turned out visible."""
    _log.warning("operation %s failed after it was armed: %s", sidecar.operation_id, error)
    try:
        lock.ensure_seconds_left()
        commit = settle_own(context, sidecar, lock)
    except BaseException as unsettled:
        if not is_failure(unsettled):
            raise
        commit = _visible_commit(context, sidecar)
        if commit is None:
            raise RecoveryRequired(
                f"The outcome of operation {sidecar.operation_id} on branch '{sidecar.branch_name}' is pending: it "
                f"failed ({error}), and settling it failed too ({unsettled}). Run `omnigraph recover "
                f"{context.store.uri}`; do not repeat the write before.",
                effect=Effect.UNKNOWN,
                operation_id=sidecar.operation_id,
                operation_ids=[sidecar.operation_id],
            ) from error
        tell(events, Warned(message=f"commit {commit.graph_commit_id} is published, but not settled yet: {unsettled}"))
    if commit is not None:
        return commit
    if isinstance(error, CommitInterleaved):
        raise ReadSetConflict(
            f"stale view of branch '{sidecar.branch_name}': {error} — refresh and retry",
            member="table_version",
            expected=str(sidecar.graph_version),
            actual=None,
        ) from error
    raise error


def _visible_commit(context: GraphContext, sidecar: Sidecar) -> Commit | None:
    """Look whether the operation's commit can be seen; None if it cannot, or nobody can tell."""
    try:
        return visible_commit(context, sidecar)
    except (OmniError, OSError):
        return None
