"""What a prepared write does to tables: as its sidecar plans it, as it is done, and the pins that come of it."""

from collections.abc import Iterable, Iterator, Mapping

from omnigraph.base import faults, ids
from omnigraph.base.events import Phase
from omnigraph.base.logs import logger_of
from omnigraph.base.units import counted
from omnigraph.catalog.model import TableKey
from omnigraph.errors import DriftNeedsRepair, ReadSetConflict
from omnigraph.graphs.context import GraphContext
from omnigraph.manifest.publish import PinMove
from omnigraph.manifest.snapshot import TablePin
from omnigraph.storage.checksums import for_sidecar
from omnigraph.storage.file_references import missing_or_short
from omnigraph.storage.locks import HeldLock
from omnigraph.storage.refs import create_ref, has_ref
from omnigraph.storage.table_store import TableStore
from omnigraph.storage.tables import Table
from omnigraph.storage.transactions import commit_staged
from omnigraph.writes.creation import NewTable
from omnigraph.writes.prepared import PreparedTable, PreparedWrite
from omnigraph.writes.sidecar import EffectKind, Fork, PlannedCommit, SidecarEffect

_log = logger_of(__name__)


def planned_effect(table: NewTable | PreparedTable) -> SidecarEffect:
    """Describe what will be done to a table, as whoever recovers the write has to know it."""
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


def apply_effects(
    context: GraphContext, prepared: PreparedWrite, lock: HeldLock, publishing: Phase
) -> dict[TableKey, Table]:
    """Commit every staged transaction, table by table; return the state that each table has reached."""
    achieved: dict[TableKey, Table] = {}
    for position, table in enumerate(prepared.effects):
        if position:
            faults.reach("write.between_tables")
        fork = table if isinstance(table, PreparedTable) and table.is_first_touch else None
        if fork is not None:
            lock.ensure_seconds_left()
            _fork(context, fork)
        for step, staged in enumerate(table.chain):
            if step:
                faults.reach("write.between_steps")
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
    inherited = table.pin.state.open(context.store.tables)
    create_ref(context.store.tables, inherited, table.target.ref)
    faults.reach("fork.after_create")


def expect_absent_ref(context: GraphContext, table: PreparedTable) -> None:
    """Demand that the ref is not there that the write is going to fork."""
    assert table.target.ref is not None
    if has_ref(context.store.objects, table.target.location, table.target.ref):
        raise DriftNeedsRepair(
            f"stale view of '{table.pin.table_key}': the branch's own {table.target.path} exists although the graph "
            "does not pin it, and no pending operation explains it. Nothing was written; run omnigraph repair.",
            tables=[table.pin.table_key],
        )


def lost_staged_files(context: GraphContext, branch: str, prepared: PreparedWrite) -> ReadSetConflict | None:
    """Look for every staged file, and say which are gone: what is published must never name one that is.

    Nothing refers to staged files yet, so cleanup takes those that lie around for a week. Those of a first write wait
    in the tree of a ref that does not exist yet: if another writer made that ref and died, whoever settled it removed
    the tree, and our files with it.
    """
    files = [file for table in prepared.effects for staged in table.chain for file in staged.files]
    lost = missing_or_short(files, context.store.objects.sizes_of({file.path for file in files}))
    if not lost:
        return None
    return ReadSetConflict(
        f"stale view of branch '{branch}': {counted(len(lost), 'file')} that this write had staged "
        f"{'is' if len(lost) == 1 else 'are'} gone ({lost[0]}); nothing was committed — refresh and retry",
        member="staged_files",
        expected=counted(len(files), "file"),
        actual=counted(len(files) - len(lost), "file"),
    )


def pin_moves(prepared: PreparedWrite, achieved: Mapping[TableKey, Table]) -> Iterator[PinMove]:
    """Pin what was achieved."""
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


def pointer_moves(store: TableStore, pins: Iterable[TablePin]) -> tuple[PinMove, ...]:
    """Return the moves of these pins; opens each state, so that one that cleanup has taken is refused by name."""
    moves = []
    for pin in pins:
        table = pin.state.open(store)
        moves.append(
            PinMove.to(table, table_key=pin.table_key, identity=pin.identity, transaction_uuid=table.transaction_uuid)
        )
    return tuple(moves)
