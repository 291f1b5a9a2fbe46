"""The commits of one table under the gates, in the one order that converges within a run.

Strip, fold, replace, rewrite, replace, fold. Lance refuses to rewrite fragments that an index by row ids (full text,
vectors) knows in part, so these indexes are brought up to date before. An index with row addresses (BTREE) loses what
is rewritten, so after that it is replaced by one that was built on the new files, or folded if that takes next to no
time: twice as fast as having it follow the rewrite.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from omnigraph.base import clock, faults
from omnigraph.base.values import dataclass
from omnigraph.errors import OmniError
from omnigraph.graphs.context import GraphContext
from omnigraph.maintenance.optimize.costs import fold_seconds
from omnigraph.maintenance.optimize.table_plan import TablePlan
from omnigraph.maintenance.optimize.table_work import FinishedBuild, FinishedRewrite, TableWork
from omnigraph.manifest.snapshot import TablePin
from omnigraph.storage.compaction import commit_rewrites, stage_rewrites
from omnigraph.storage.indexing import as_built_on, fold_indexes, stage_indexes
from omnigraph.storage.layout import IndexLayout, TableLayout, read_layout
from omnigraph.storage.locks import HeldLock, LeaseLost
from omnigraph.storage.stored_settings import stage_upkeep
from omnigraph.storage.tables import Table
from omnigraph.storage.transactions import CommitInterleaved, StagedCommit, commit_staged
from omnigraph.writes.recovery.facts import observe_effect
from omnigraph.writes.sidecar import SidecarEffect


@dataclass(slots=True, kw_only=True)
class TableCommit:
    """One table that passed the checks under the gates, and what its commits came to."""

    work: TableWork
    pin: TablePin
    head: Table
    rewrites: tuple[FinishedRewrite, ...]
    builds: tuple[FinishedBuild, ...]
    effect: SidecarEffect
    spare_seconds: float = 0.0
    """How long writers may wait for what was not planned: rows that an append added meanwhile."""
    reached: Table | None = None
    """Where the table ended; None when nothing was committed to it."""
    rewritten: tuple[FinishedRewrite, ...] = ()
    built: tuple[FinishedBuild, ...] = ()
    folded: tuple[str, ...] = ()
    """Columns of the indexes that took in what they did not know."""
    error: str | None = None
    pause_seconds: float = 0.0


def commit_table(context: GraphContext, found: TableCommit, lock: HeldLock, properties: Mapping[str, str]) -> None:
    """Commit what is ready of one table; whatever fails half-way, `found` says where it ended and why."""
    started = clock.monotonic_seconds()
    try:
        _Steps(context, found, lock, properties).take()
    except LeaseLost:
        raise
    except (OmniError, OSError, CommitInterleaved) as error:
        found.error = str(error)
    _look_where_it_ended(context, found)
    found.pause_seconds = clock.monotonic_seconds() - started


class _Steps:
    """One table on its way: each step goes on from where the last one left HEAD."""

    def __init__(
        self, context: GraphContext, found: TableCommit, lock: HeldLock, properties: Mapping[str, str]
    ) -> None:
        self._store = context.store.tables
        self._found = found
        self._lock = lock
        self._properties = properties
        self._head = found.head
        self._is_own = False
        self._known = found.work.plan.facts.layout

    def take(self) -> None:
        self._strip()
        stale = self._stale()
        self._fold_by_row_ids(stale)
        self._replace()
        self._rewrite()
        self._replace_foreseen()
        self._fold_by_addresses(stale)

    def _strip(self) -> None:
        """Lance prunes old versions inside any later commit while this config is set, pinned ones included.

        A table from before tables carried their identity gets it in the same commit.
        """
        upkeep = stage_upkeep(self._head, self._found.pin.expected, properties=self._properties)
        if upkeep is not None:
            self._commit(upkeep)
            faults.reach("optimize.after_strip")

    def _fold_by_row_ids(self, stale: Sequence[IndexLayout]) -> None:
        indexes = [index for index in stale if not index.holds_addresses]
        if indexes:
            self._fold(indexes)
            self._found.folded = _columns(indexes)
            faults.reach("optimize.after_index_fold")

    def _replace(self) -> None:
        """Put in what was built, and take out what it replaces and what cannot be read."""
        builds, lost = [made for made in self._found.builds if not made.awaited], self._found.work.plan.drops
        there = {index.name: index for index in (*lost, *self._layout().indexes)}
        names = {*(made.build.name for made in builds), *(index.name for index in lost)}
        # Rewriting what an index of the parent's knows would leave it pointing there, and every lookup would fail.
        names |= {made.build.name for made in self._foreseen if _is_inherited(there.get(made.build.name))}
        replaced = [index for name, index in sorted(there.items()) if name in names]
        if builds or replaced:
            self._put_in([made.segment for made in builds], replaced)
            self._found.built = tuple(builds)
            faults.reach("optimize.after_index_build")

    def _put_in(self, segments: Sequence[Any], replaced: Sequence[IndexLayout]) -> None:
        self._commit(stage_indexes(self._head, segments, replaced, properties=self._properties))

    def _rewrite(self) -> None:
        layout = self._layout()
        fitting = tuple(made for made in self._found.rewrites if _fits(made, layout, self._found.work.plan))
        if not fitting:
            return
        results, compared = [made.result for made in fitting], self._found.head.version
        if self._foreseen:
            self._commit(stage_rewrites(self._head, results, properties=self._properties, unchanged_at=compared))
        else:
            commit_rewrites(self._own_handle(), results, unchanged_at=compared)
        self._found.rewritten = fitting
        faults.reach("optimize.after_rewrite")

    @property
    def _foreseen(self) -> list[FinishedBuild]:
        """Indexes that were built on rewritten files."""
        return [made for made in self._found.builds if made.awaited]

    def _replace_foreseen(self) -> None:
        """Put in what was built on rewritten files, as far as these are there now.

        A rewrite that was given up left a number unused. If a later fragment could still get it, the index would answer
        for rows that it has never seen: then it is of no use.
        """
        here = {fragment.fragment_id for fragment in self._layout().fragments}
        usable = [made for made in self._foreseen if max(made.awaited, default=-1) <= max(here, default=-1)]
        if usable:
            segments = [as_built_on(made.segment, self._head, here & set(made.segment.fragment_ids)) for made in usable]
            names = {made.build.name for made in usable}
            self._put_in(segments, [index for index in self._layout().indexes if index.name in names])
            self._found.built += tuple(usable)
            faults.reach("optimize.after_foreseen_index")

    def _fold_by_addresses(self, stale: Sequence[IndexLayout]) -> None:
        indexes = [index for index in self._stale() if index.holds_addresses]
        if indexes:
            self._fold(indexes)
            # An index that only lost what was rewritten has taken in nothing new, and a new one is told of as built.
            built = {made.build.name for made in self._found.built}
            took_in = [index for index in stale if index.holds_addresses and index.name not in built]
            self._found.folded = tuple(sorted({*self._found.folded, *_columns(took_in)}))
            faults.reach("optimize.after_address_fold")

    def _stale(self) -> list[IndexLayout]:
        """Return the indexes to fold: as planned, and those that an append made stale since, while there is time."""
        if not self._found.work.plan.reindex:
            return []
        layout = self._layout()
        folds, spare = [], self._found.spare_seconds
        for index in layout.indexes:
            if not layout.is_stale(index):
                continue
            if self._is_planned(index):
                folds.append(index)
            elif self._was_complete(index) and fold_seconds(layout, index) <= spare:
                spare -= fold_seconds(layout, index)
                folds.append(index)
        return folds

    def _is_planned(self, index: IndexLayout) -> bool:
        """Whether the time to fold an index is part of what the plan estimated."""
        plan = self._found.work.plan
        is_to_come = plan.foresees and index.follows_rewrites
        if index.holds_addresses and not is_to_come and (self._found.rewritten or index.name in self._half_built):
            return True
        return index.name not in self._replaced and index.name in {planned.name for planned in plan.folds}

    def _was_complete(self, index: IndexLayout) -> bool:
        """Whether an index of an earlier run knew everything; what this run built or left waits for the next one.

        Full text takes as long to fold as to build: what an append added waits for the next run, which builds anew.
        """
        plan = self._found.work.plan
        then = plan.facts.layout.index_by_name.get(index.name)
        was_stale = then is None or plan.facts.layout.is_stale(then)
        return not was_stale and not index.folds_like_a_build and index.name not in self._replaced

    @property
    def _replaced(self) -> set[str]:
        return {made.build.name for made in self._found.builds}

    @property
    def _half_built(self) -> set[str]:
        """Indexes that were to take in what is rewritten; they have to, even if in the end nothing was."""
        return {made.build.name for made in self._found.builds if made.takes_in_rewritten}

    def _fold(self, indexes: Sequence[IndexLayout]) -> None:
        fold_indexes(self._own_handle(), indexes)

    def _commit(self, staged: StagedCommit) -> None:
        self._lock.ensure_seconds_left()
        self._head, self._is_own = commit_staged(self._store, self._found.pin.address, staged), False

    def _own_handle(self) -> Table:
        """Return HEAD on a handle that a commit of Lance's own moves on; others may be reading through the first."""
        self._lock.ensure_seconds_left()
        if not self._is_own:
            self._head, self._is_own = self._store.fresh(self._found.pin.address, self._head.version), True
        return self._head

    def _layout(self) -> TableLayout:
        """Return how HEAD lies on disk; read anew only if something was committed."""
        if self._known.version != self._head.version:
            self._known = read_layout(self._head)
        return self._known


def _is_inherited(index: IndexLayout | None) -> bool:
    return index is not None and any(segment.is_inherited for segment in index.segments)


def _columns(indexes: Sequence[IndexLayout]) -> tuple[str, ...]:
    return tuple(sorted({column for index in indexes for column in index.columns}))


def _fits(made: FinishedRewrite, layout: TableLayout, plan: TablePlan) -> bool:
    """Whether Lance can commit a rewrite as the indexes are now: no segment covers only a part of its fragments.

    Indexes with row addresses are in the way only if they are to follow it, or if they lie with the parent and are not
    folded afterwards: they would be left pointing there, and every lookup on the ref would fail.
    """
    originals = frozenset(made.group.fragment_ids)
    is_folded = plan.reindex and not plan.foresees
    for index in layout.indexes:
        for segment in index.segments:
            shared = originals & segment.fragment_ids
            if not shared:
                continue
            if index.holds_addresses and segment.is_inherited and not is_folded:
                return False
            if shared != originals and (plan.follows_addresses or not index.holds_addresses):
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
