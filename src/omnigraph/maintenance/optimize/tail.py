"""Act, second half: commit everything that is ready, table by table, and publish all tables at once.

This is the only part that writers wait for. Nothing is read or computed here that could have been done before.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from omnigraph.base import clock, faults, ids
from omnigraph.base.events import Events
from omnigraph.branches.gates import hold_branches
from omnigraph.catalog.model import TableKey
from omnigraph.errors import GraphCorrupt, OmniError
from omnigraph.maintenance.admission import refuse_pending_on
from omnigraph.maintenance.optimize.work import FinishedBuild, FinishedRewrite, TableWork
from omnigraph.manifest.commits import Commit, CommitKind
from omnigraph.manifest.publish import ManifestChanges, PinMove, Preconditions
from omnigraph.manifest.snapshot import GraphSnapshot, TablePin
from omnigraph.storage.compaction import commit_rewrites, same_files, unchanged
from omnigraph.storage.indexing import fold_indexes, stage_indexes
from omnigraph.storage.layout import IndexLayout, TableLayout, read_layout
from omnigraph.storage.locks import HeldLock, LeaseLost
from omnigraph.storage.staging import CommitInterleaved, commit_staged, stage_auto_cleanup_strip
from omnigraph.storage.tables import Table
from omnigraph.writes.context import GraphContext
from omnigraph.writes.protocol import Achieved, WriteIdentity, carry_out, describe_operation
from omnigraph.writes.recovery.facts import observe_effect
from omnigraph.writes.sidecar import EffectKind, SidecarEffect, SidecarKind

MAINTENANCE_ACTOR = "omnigraph:maintenance"


@dataclass(slots=True, kw_only=True)
class TableCommit:
    """One table that passed the checks under the gates, and what its commits came to."""

    work: TableWork
    pin: TablePin
    head: Table
    rewrites: tuple[FinishedRewrite, ...]
    builds: tuple[FinishedBuild, ...]
    effect: SidecarEffect
    reached: Table | None = None
    """Where the table ended; None when nothing was committed to it."""
    rewritten: tuple[FinishedRewrite, ...] = ()
    built: tuple[FinishedBuild, ...] = ()
    folded: tuple[str, ...] = ()
    """Columns of the indexes that took in what they did not know."""
    error: str | None = None
    pause_seconds: float = 0.0


@dataclass(slots=True, kw_only=True)
class Tail:
    """What happened under the gates."""

    commits: list[TableCommit] = field(default_factory=list)
    commit: Commit | None = None
    stale: list[TableKey] = field(default_factory=list)
    """Tables of which something was changed meanwhile."""
    drifted: dict[TableKey, int] = field(default_factory=dict)
    """Tables that moved without the graph, with their HEAD."""
    closed_seconds: float = 0.0
    """How long the branch was closed to other writers."""

    def share_pause(self) -> None:
        """Divide the time that the branch was closed among the tables, which were committed side by side."""
        total = sum(found.pause_seconds for found in self.commits)
        for found in self.commits:
            found.pause_seconds *= self.closed_seconds / total if total else 0.0


def run_tail(
    context: GraphContext,
    branch: str,
    works: Sequence[TableWork],
    *,
    ir_hash: str,
    concurrency: int,
    may_replan: bool,
    events: Events,
) -> Tail:
    """Take the gates once for all tables, check what writers did meanwhile, commit and publish.

    With `may_replan`, anything that changed makes this return before a single effect, so that it can be made again;
    without, the rest goes on alone.
    """
    # What writers have published meanwhile is read now, so that under the gates next to nothing is left to read.
    context.manifest.load(branch)
    identity = WriteIdentity.mint(SidecarKind.OPTIMIZE, CommitKind.MAINTENANCE, MAINTENANCE_ACTOR)
    tail = Tail()
    with hold_branches(context, [branch], operation=f"optimize {identity.operation_id}", events=events) as lock:
        closed_at = clock.monotonic_seconds()
        faults.reach("write.after_gates")
        refuse_pending_on(context, branch, "optimize")
        snapshot = context.manifest.load(branch).snapshot
        ready = _check_tables(
            context, snapshot, works, tail, concurrency, same_schema=snapshot.schema.ir_hash == ir_hash
        )
        if not ready or (tail.stale and may_replan):
            return tail
        tail.commits = ready
        effects = tuple(found.effect for found in ready)
        sidecar = describe_operation(
            snapshot, identity, effects, {"tables": {found.pin.table_key: {} for found in ready}}
        )
        preconditions = Preconditions(
            incarnation=snapshot.incarnation,
            exact_head=None,
            ir_hash=snapshot.schema.ir_hash,
            expected_pins={found.pin.identity: (found.pin.ref, found.pin.version) for found in ready},
        )
        tail.commit = carry_out(
            context,
            sidecar,
            lock,
            lambda: _commit_tables(context, ready, lock, identity.transaction_properties, concurrency),
            preconditions,
            events,
        )
    tail.closed_seconds = clock.monotonic_seconds() - closed_at
    tail.share_pause()
    return tail


def _check_tables(
    context: GraphContext,
    snapshot: GraphSnapshot,
    works: Sequence[TableWork],
    tail: Tail,
    concurrency: int,
    *,
    same_schema: bool,
) -> list[TableCommit]:
    """Look at every table as it is now; return what can be committed, and note in `tail` what writers overtook."""
    with ThreadPoolExecutor(max_workers=concurrency, thread_name_prefix="optimize") as pool:
        heads = list(pool.map(lambda work: context.store.tables.head(work.pinned.address), works))
    ready = []
    for work, head in zip(works, heads, strict=True):
        pin = snapshot.pin_of(work.plan.facts.pin.identity)
        if pin is None or pin.address != work.pinned.address or not same_schema:
            tail.stale.append(work.plan.table_key)
        elif head is None or head.version < pin.version:
            raise GraphCorrupt(f"Table {pin.table_key} is pinned at version {pin.version} but its newest is older.")
        elif head.version > pin.version:
            tail.drifted[pin.table_key] = head.version
        else:
            found = _still_good(work, pin, head)
            if len(found.rewrites) < len(work.rewrites) or len(found.builds) < len(work.builds):
                tail.stale.append(pin.table_key)
            if _has_work(found):
                ready.append(found)
    return ready


def _still_good(work: TableWork, pin: TablePin, head: Table) -> TableCommit:
    """Keep what was made from fragments that are the same at HEAD; whatever else happened does not matter."""
    holds = unchanged([made.result for made in work.rewrites], head)
    return TableCommit(
        work=work,
        pin=pin,
        head=head,
        rewrites=tuple(made for made, is_good in zip(work.rewrites, holds, strict=True) if is_good),
        builds=tuple(
            made for made in work.builds if same_files(made.built_on, head, frozenset(made.segment.fragment_ids))
        ),
        effect=_effect(pin),
    )


def _effect(pin: TablePin) -> SidecarEffect:
    return SidecarEffect(
        table_key=pin.table_key,
        identity=pin.identity,
        location=pin.location,
        ref=pin.ref,
        expected_version=pin.version,
        effect=EffectKind.MAINTENANCE,
        planned=(),
        compensation_uuid=ids.new_uuid(),
    )


def _has_work(found: TableCommit) -> bool:
    plan = found.work.plan
    return bool(found.rewrites or found.builds or plan.folds or plan.facts.layout.has_auto_cleanup)


def _commit_tables(
    context: GraphContext,
    ready: Sequence[TableCommit],
    lock: HeldLock,
    properties: Mapping[str, str],
    concurrency: int,
) -> Achieved | None:
    """Commit every table, several at a time; one that fails half-way is published where it stands, with the others."""
    with ThreadPoolExecutor(max_workers=concurrency, thread_name_prefix="optimize") as pool:
        list(pool.map(lambda found: _commit_table(context, found, lock, properties), ready))
    faults.reach("optimize.before_publish")
    moved = [found for found in ready if found.reached is not None]
    if not moved:
        return None
    return Achieved(
        changes=ManifestChanges(pins=tuple(_pin_move(found) for found in moved)),
        metadata={"tables": {found.pin.table_key: _stats(found) for found in moved}},
    )


def _commit_table(context: GraphContext, found: TableCommit, lock: HeldLock, properties: Mapping[str, str]) -> None:
    started = clock.monotonic_seconds()
    try:
        _advance(context, found, lock, properties)
    except LeaseLost:
        raise
    except (OmniError, OSError, CommitInterleaved) as error:
        found.error = str(error)
    _look_where_it_ended(context, found)
    found.pause_seconds = clock.monotonic_seconds() - started


def _advance(context: GraphContext, found: TableCommit, lock: HeldLock, properties: Mapping[str, str]) -> None:
    """Make the commits of one table in the one order that converges within a run: strip, fold, replace, rewrite, fold.

    Lance refuses a rewrite of fragments that an index by row ids knows in part, so these indexes come before it. Those
    with row addresses lose what is rewritten, so they come after it: once is enough, and twice as fast as following it.
    """
    store, address = context.store.tables, found.pin.address
    head = found.head
    strip = stage_auto_cleanup_strip(head, properties=properties)
    if strip is not None:
        # Lance prunes old versions inside any later commit while this config is set, pinned ones included.
        lock.ensure_seconds_left()
        head = commit_staged(store, address, strip)
        faults.reach("optimize.after_strip")
    planned = found.work.plan.facts.layout
    layout = planned if planned.version == head.version else read_layout(head)
    stale = _stale(layout, found)
    by_row_ids = [index for index in stale if not index.holds_addresses]
    if by_row_ids:
        head = store.fresh(address, head.version)
        lock.ensure_seconds_left()
        fold_indexes(head, by_row_ids)
        layout = read_layout(head)
        found.folded = _columns(by_row_ids)
        faults.reach("optimize.after_index_fold")
    if found.builds:
        names = {made.build.name for made in found.builds}
        replaced = [index for index in layout.indexes if index.name in names]
        lock.ensure_seconds_left()
        segments = [made.segment for made in found.builds]
        head = commit_staged(store, address, stage_indexes(head, segments, replaced, properties=properties))
        layout = read_layout(head)
        found.built = found.builds
        faults.reach("optimize.after_index_build")
    head = store.fresh(address, head.version)
    fitting = tuple(made for made in found.rewrites if _fits(made, layout, follows=found.work.plan.follows_addresses))
    if fitting:
        lock.ensure_seconds_left()
        commit_rewrites(head, [made.result for made in fitting], unchanged_at=found.head.version)
        layout = read_layout(head)
        found.rewritten = fitting
        faults.reach("optimize.after_rewrite")
    by_addresses = [index for index in _stale(layout, found) if index.holds_addresses]
    if by_addresses:
        lock.ensure_seconds_left()
        fold_indexes(head, by_addresses)
        # An index that only lost what was rewritten has taken in nothing new.
        found.folded = _columns([*by_row_ids, *(index for index in stale if index.holds_addresses)])
        faults.reach("optimize.after_address_fold")


def _columns(indexes: Sequence[IndexLayout]) -> tuple[str, ...]:
    return tuple(sorted({column for index in indexes for column in index.columns}))


def _stale(layout: TableLayout, found: TableCommit) -> list[IndexLayout]:
    """Return the indexes to fold: those that were planned, and those that an append or a rewrite has made stale since.

    Full text takes as long to fold as to build; what an append added waits for the next run, which builds anew.
    """
    if not found.work.plan.reindex:
        return []
    replaced = {made.build.name for made in found.builds}
    planned = {index.name for index in found.work.plan.folds}
    return [
        index
        for index in layout.indexes
        if layout.is_stale(index)
        and (index.name not in replaced or (index.holds_addresses and found.rewritten))
        and (index.name in planned or not index.is_full_text)
    ]


def _fits(made: FinishedRewrite, layout: TableLayout, *, follows: bool) -> bool:
    """Whether Lance can commit a rewrite as the indexes are now: no segment covers only a part of its fragments.

    Indexes with row addresses are in the way only if they are to follow it; one whose files lie with the parent would
    be left pointing there, and every lookup on the ref would fail.
    """
    originals = frozenset(made.group.fragment_ids)
    for index in layout.indexes:
        if index.holds_addresses and not follows:
            continue
        for segment in index.segments:
            shared = originals & segment.fragment_ids
            if (shared and shared != originals) or (shared and index.holds_addresses and segment.is_inherited):
                return False
    return True


def _look_where_it_ended(context: GraphContext, found: TableCommit) -> None:
    """Read which commits there are above the pin; the table is published there if every one of them kept its rows."""
    facts = observe_effect(context, found.effect)
    if not facts.operations or facts.head_version is None:
        return
    if all(made.is_maintenance for made in facts.operations):
        found.reached = context.store.tables.open(found.pin.address, facts.head_version)
        return
    strange = ", ".join(made.name for made in facts.operations if not made.is_maintenance)
    found.error = f"somebody else committed to the table meanwhile ({strange}); look at it with `omnigraph repair`"


def _pin_move(found: TableCommit) -> PinMove:
    assert found.reached is not None
    return PinMove.to(
        found.reached,
        table_key=found.pin.table_key,
        identity=found.pin.identity,
        transaction_uuid=found.reached.transaction_uuid,
    )


def _stats(found: TableCommit) -> Mapping[str, Any]:
    return {
        "fragments_removed": sum(len(made.group.fragments) for made in found.rewritten),
        "fragments_added": sum(made.fragments_added for made in found.rewritten),
        "bytes_written": sum(made.bytes_written for made in found.rewritten),
        "indexes_built": sorted({made.build.column for made in found.built}),
        "indexes_updated": list(found.folded),
        "pause_ms": round(found.pause_seconds * 1_000),
    }
