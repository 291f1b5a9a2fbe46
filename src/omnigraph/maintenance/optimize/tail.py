"""Act, second half: commit everything that is ready, table by table, and publish all tables at once.

This is the only part that writers wait for. Nothing is read or computed here that could have been done before.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field
from functools import partial
from typing import Any

from omnigraph.base import clock, faults, ids
from omnigraph.base.events import Events, Phase, phase
from omnigraph.base.values import dataclass
from omnigraph.branches.gates import hold_branches
from omnigraph.catalog.model import TableKey
from omnigraph.graphs.context import GraphContext
from omnigraph.maintenance.admission import refuse_pending_on
from omnigraph.maintenance.optimize.costs import PAUSE_SECONDS_MAX, PUBLISH_SECONDS
from omnigraph.maintenance.optimize.table_commits import TableCommit, commit_table
from omnigraph.maintenance.optimize.table_work import FinishedBuild, FinishedRewrite, TableWork
from omnigraph.maintenance.unreadable import UNREADABLE, problem_of, refuse_unreachable
from omnigraph.manifest.commits import MESSAGE, Commit, CommitKind
from omnigraph.manifest.publish import ManifestChanges, PinMove, Preconditions
from omnigraph.manifest.snapshot import GraphSnapshot, TablePin
from omnigraph.storage.checksums import for_sidecar
from omnigraph.storage.compaction import same_files, unchanged
from omnigraph.storage.file_references import missing_or_short
from omnigraph.storage.foreseen import highest_fragment_number
from omnigraph.storage.locks import HeldLock
from omnigraph.storage.tables import Table
from omnigraph.writes.prepared import WriteIdentity
from omnigraph.writes.publishing import Achieved, carry_out, describe_operation
from omnigraph.writes.sidecar import EffectKind, SidecarEffect, SidecarKind

MAINTENANCE_ACTOR = "omnigraph:maintenance"


@dataclass(slots=True, kw_only=True)
class Tail:
    """What happened under the gates."""

    commits: list[TableCommit] = field(default_factory=list)
    commit: Commit | None = None
    stale: list[TableKey] = field(default_factory=list)
    """Tables of which something was changed meanwhile."""
    drifted: dict[TableKey, int] = field(default_factory=dict)
    """Tables that moved without the graph, with their HEAD."""
    behind: dict[TableKey, int | None] = field(default_factory=dict)
    """Tables whose pinned state is lost, with the newest that is left."""
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
    started: float,
    message: str | None,
    events: Events,
) -> Tail:
    """Take the gates once for all tables, check what writers did meanwhile, commit and publish.

    With `may_replan`, anything that changed makes this return before a single effect, so that it can be made again;
    without, the rest goes on alone. `started` is when the run began, by the monotonic clock.
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
        _share_spare_time(ready)
        tail.commits = ready
        effects = tuple(found.effect for found in ready)
        said = {} if message is None else {MESSAGE: message}
        sidecar = describe_operation(
            snapshot, identity, effects, {"tables": {found.pin.table_key: {} for found in ready}, **said}
        )
        preconditions = Preconditions.of(snapshot, [found.pin for found in ready])
        with phase(events, "publishing", total=len(ready), unit="tables") as publishing:
            commit_ready = partial(
                _commit_tables, context, ready, lock, identity.transaction_properties, concurrency, started, publishing
            )
            tail.commit = carry_out(context, sidecar, lock, commit_ready, preconditions, events)
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
        heads = list(pool.map(lambda work: _head_of(context, work), works))
    tail.stale += _set_lost_files_aside(context, works)
    ready = []
    for work, head in zip(works, heads, strict=True):
        if work.error is not None:
            continue
        pin = snapshot.pin_of(work.plan.facts.pin.identity)
        if pin is None or pin.address != work.pinned.address or not same_schema:
            tail.stale.append(work.plan.table_key)
        elif head is None or head.version < pin.version:
            tail.behind[pin.table_key] = None if head is None else head.version
        elif head.version > pin.version:
            tail.drifted[pin.table_key] = head.version
        else:
            found = _still_good(context, work, pin, head)
            is_overtaken = len(found.rewrites) < len(work.rewrites) or len(found.builds) < len(work.builds)
            if is_overtaken and pin.table_key not in tail.stale:
                tail.stale.append(pin.table_key)
            if _has_work(found):
                ready.append(found)
    return ready


def _set_lost_files_aside(context: GraphContext, works: Sequence[TableWork]) -> list[TableKey]:
    """Look for every new file; what lost one is to be made again. Return the tables that it belongs to."""
    files = {file.path for work in works for _, needed in work.new_files() for file in needed}
    present = context.store.objects.sizes_of(files)
    stale = []
    for work in works:
        lost = [made for made, needed in work.new_files() if missing_or_short(needed, present)]
        if lost:
            work.make_again(lost)
            stale.append(work.plan.table_key)
    return stale


def _head_of(context: GraphContext, work: TableWork) -> Table | None:
    """Open a table as it is now; one that broke meanwhile is given up, and the others are committed."""
    try:
        return context.store.tables.head(work.pinned.address)
    except UNREADABLE as error:
        refuse_unreachable(error)
        work.error = problem_of(str(error))
        return None


def _still_good(context: GraphContext, work: TableWork, pin: TablePin, head: Table) -> TableCommit:
    """Keep what was made from fragments that are the same at HEAD; whatever else happened does not matter."""
    holds = unchanged([made.result for made in work.rewrites], head)
    are_free = _numbers_are_free(context, work.builds, head)
    return TableCommit(
        work=work,
        pin=pin,
        head=head,
        rewrites=tuple(made for made, is_good in zip(work.rewrites, holds, strict=True) if is_good),
        builds=tuple(
            made
            for made in work.builds
            if (are_free or not made.awaited) and same_files(made.built_on, head, made.fragments_there)
        ),
        effect=_effect(pin, work.rewrites),
    )


def _numbers_are_free(context: GraphContext, builds: Sequence[FinishedBuild], head: Table) -> bool:
    """Whether no fragment ever had one of the numbers that indexes await: writers may have used them up meanwhile."""
    awaited = frozenset[int]().union(*(made.awaited for made in builds))
    return not awaited or highest_fragment_number(context.store.objects, head) < min(awaited)


def _checksums(rewrites: Sequence[FinishedRewrite]) -> dict[str, str]:
    return {name: value for made in rewrites for name, value in made.checksums.items()}


def _effect(pin: TablePin, rewrites: Sequence[FinishedRewrite]) -> SidecarEffect:
    return SidecarEffect(
        table_key=pin.table_key,
        identity=pin.identity,
        location=pin.location,
        ref=pin.ref,
        expected_version=pin.version,
        effect=EffectKind.MAINTENANCE,
        planned=(),
        compensation_uuid=ids.new_uuid(),
        checksums=for_sidecar(_checksums(rewrites)),
    )


def _share_spare_time(ready: Sequence[TableCommit]) -> None:
    planned = PUBLISH_SECONDS + sum(found.work.plan.tail_seconds for found in ready)
    for found in ready:
        found.spare_seconds = max(0.0, PAUSE_SECONDS_MAX - planned) / len(ready)


def _has_work(found: TableCommit) -> bool:
    plan = found.work.plan
    return bool(found.rewrites or found.builds or plan.folds or plan.drops or plan.facts.layout.needs_upkeep)


def _commit_tables(
    context: GraphContext,
    ready: Sequence[TableCommit],
    lock: HeldLock,
    properties: Mapping[str, str],
    concurrency: int,
    started: float,
    publishing: Phase,
) -> Achieved | None:
    """Commit every table, several at a time; one that fails half-way is published where it stands, with the others."""
    with ThreadPoolExecutor(max_workers=concurrency, thread_name_prefix="optimize") as pool:
        for _ in pool.map(lambda found: commit_table(context, found, lock, properties), ready):
            publishing.advance()
    faults.reach("optimize.before_publish")
    moved = [found for found in ready if found.reached is not None]
    if not moved:
        return None
    return Achieved(
        changes=ManifestChanges(pins=tuple(_pin_move(found) for found in moved)),
        metadata={
            "duration_ms": _milliseconds(clock.monotonic_seconds() - started),
            "tables": {found.pin.table_key: _stats(found) for found in moved},
        },
    )


def _pin_move(found: TableCommit) -> PinMove:
    assert found.reached is not None
    return PinMove.to(
        found.reached,
        table_key=found.pin.table_key,
        identity=found.pin.identity,
        transaction_uuid=found.reached.transaction_uuid,
        checksums=_checksums(found.rewritten),
    )


def _stats(found: TableCommit) -> Mapping[str, Any]:
    return {
        "fragments_removed": sum(len(made.group.fragments) for made in found.rewritten),
        "fragments_added": sum(made.fragments_added for made in found.rewritten),
        "bytes_written": sum(made.bytes_written for made in found.rewritten),
        "indexes_built": sorted({made.build.column for made in found.built}),
        "indexes_updated": list(found.folded),
        "pause_ms": _milliseconds(found.pause_seconds),
        "duration_ms": _milliseconds(found.work.seconds + found.pause_seconds),
    }


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1_000)
