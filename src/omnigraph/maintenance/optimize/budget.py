"""Admit: what of all the work that would pay fits into the bytes that may be rewritten and the time writers may wait.

Nobody waits for what is done before the gates are taken. A BTREE is folded under them only where that takes next to no
time; otherwise it is built anew before, on the rewritten files if there are any. What can only be folded (of a vector
index the training would be lost) fits into the tail or is left to the next run.
"""

from collections.abc import Iterator, Sequence
from dataclasses import field, replace

from omnigraph.base.values import dataclass
from omnigraph.catalog.model import TableKey
from omnigraph.maintenance.optimize.costs import (
    COMMIT_SECONDS,
    FOLD_SECONDS_MAX,
    PUBLISH_SECONDS,
    TAIL_SECONDS_MAX,
    fold_seconds,
    follow_seconds,
    keep_seconds,
)
from omnigraph.maintenance.optimize.grouping import RewriteGroup
from omnigraph.maintenance.optimize.request import OptimizeRequest
from omnigraph.maintenance.optimize.table_plan import IndexBuild, LeftIndex, TablePlan
from omnigraph.storage.index_kinds import lance_index
from omnigraph.storage.layout import IndexLayout

_BUDGET_SECONDS = TAIL_SECONDS_MAX - PUBLISH_SECONDS


def admit(plans: tuple[TablePlan, ...], options: OptimizeRequest) -> tuple[TablePlan, ...]:
    """Keep what fits: index work first, then the groups that remove the most fragments per byte."""
    budget = _Budget(bytes_left=options.max_bytes, seconds_left=_BUDGET_SECONDS)
    tables = {plan.table_key: _Admission(plan) for plan in plans if not plan.skipped}
    # The longest first: a table that had to wait has more to fold by the next run, and then it is its turn.
    for table in sorted(tables.values(), key=lambda table: (-table.indivisible_seconds, table.plan.table_key)):
        table.admit_index_work(budget)
    for key, group in _offered(plans):
        tables[key].admit_group(group, budget)
    settled = {key: table.settle() for key, table in tables.items()}
    settled |= {plan.table_key: plan for plan in _without_long_folds(list(settled.values()))}
    return tuple(settled.get(plan.table_key, plan) for plan in plans)


def _offered(plans: Sequence[TablePlan]) -> Iterator[tuple[TableKey, RewriteGroup]]:
    offers = ((plan.table_key, group) for plan in plans if not plan.skipped for group in plan.groups)
    yield from sorted(
        offers, key=lambda offer: (offer[1].bytes / len(offer[1].fragments), offer[0], offer[1].fragment_ids)
    )


@dataclass(slots=True, kw_only=True)
class _Budget:
    """What is left of the bytes to rewrite and of the seconds under the gates."""

    bytes_left: int | None
    seconds_left: float
    is_used: bool = False

    def take(self, seconds: float, *, size: int = 0, is_indivisible: bool = False) -> bool:
        """Take a share, or leave everything as it is; what cannot be divided fits once, or it never would."""
        if self.bytes_left is not None and size > self.bytes_left:
            return False
        if seconds > max(0.0, self.seconds_left) and not (is_indivisible and not self.is_used):
            return False
        if self.bytes_left is not None:
            self.bytes_left -= size
        self.seconds_left -= seconds
        self.is_used = self.is_used or seconds > 0.0
        return True


@dataclass(slots=True)
class _Admission:
    """One table while shares are given out."""

    plan: TablePlan
    is_open: bool = False
    """Whether its commits are paid for."""
    is_left: bool = False
    """Whether there was no time for its commits at all."""
    leaves_folds: bool = False
    """Whether there was no time for what can only be folded; Lance refuses to rewrite before that."""
    groups: list[RewriteGroup] = field(default_factory=list)

    @property
    def indivisible_seconds(self) -> float:
        return sum(fold_seconds(self.plan.facts.layout, index) for index in self._indivisible)

    @property
    def _indivisible(self) -> tuple[IndexLayout, ...]:
        """Only a BTREE can be built instead: of vectors the training would be lost, of others how they were made."""
        return tuple(index for index in self.plan.folds if not index.follows_rewrites)

    def admit_index_work(self, budget: _Budget) -> None:
        if not self.plan.has_index_work:
            return
        self.is_open = budget.take(COMMIT_SECONDS + self.indivisible_seconds, is_indivisible=True)
        if not self.is_open:
            self.leaves_folds = bool(self._indivisible)
            self.is_open = self.leaves_folds and budget.take(COMMIT_SECONDS)
            self.is_left = not self.is_open

    def admit_group(self, group: RewriteGroup, budget: _Budget) -> None:
        if self.is_left or self.leaves_folds:
            return
        seconds = (0.0 if self.is_open else COMMIT_SECONDS) + self._following_seconds(group)
        if budget.take(seconds, size=group.bytes):
            self.groups.append(group)
            self.is_open = True

    def _following_seconds(self, group: RewriteGroup) -> float:
        """Estimate what one more group adds to the tail, where BTREEs are not built but follow rewrites."""
        if self.plan.reindex:
            return 0.0
        layout = self.plan.facts.layout
        opening = 0.0 if self.groups else keep_seconds(layout.rows)
        return (opening + follow_seconds(group.live_rows)) * sum(index.follows_rewrites for index in layout.indexes)

    def settle(self) -> TablePlan:
        """Decide what becomes of what there was no time for."""
        kept = tuple(group for group in self.plan.groups if group in self.groups)
        plan = replace(
            self.plan, groups=kept, left=tuple(group for group in self.plan.groups if group not in self.groups)
        )
        if self.is_left:
            late = (*(column for index in plan.folds for column in index.columns), *(b.column for b in plan.builds))
            return replace(plan, folds=(), builds=(), postponed=_postponed(late))
        if self.leaves_folds:
            late = tuple(column for index in self._indivisible for column in index.columns)
            return replace(
                plan, folds=tuple(index for index in plan.folds if index.follows_rewrites), postponed=_postponed(late)
            )
        return plan


def _without_long_folds(plans: Sequence[TablePlan]) -> Iterator[TablePlan]:
    """Build BTREEs before the gates are taken, except where folding them takes next to no time; small tables first."""
    seconds_left = FOLD_SECONDS_MAX
    for plan in sorted(plans, key=lambda plan: (plan.btree_seconds, plan.table_key)):
        seconds = plan.btree_seconds
        if not plan.reindex or not seconds:
            continue
        if seconds <= seconds_left:
            seconds_left -= seconds
        else:
            yield _with_builds_for_folds(plan)


def _with_builds_for_folds(plan: TablePlan) -> TablePlan:
    layout = plan.facts.layout
    # A rewrite takes what it replaces out of every BTREE.
    affected = [index for index in layout.indexes if index.follows_rewrites and (plan.groups or index in plan.folds)]
    return replace(
        plan,
        folds=tuple(index for index in plan.folds if not index.follows_rewrites),
        builds=(*plan.builds, *map(_anew, affected)),
        foresees=bool(plan.groups),
    )


def _anew(index: IndexLayout) -> IndexBuild:
    assert index.index_kind is not None  # only indexes of ours follow rewrites
    lance_type, parameters = lance_index(index.index_kind).choose(0, 0)
    return IndexBuild(
        name=index.name, column=index.columns[0], lance_type=lance_type, parameters=parameters, is_new=False
    )


def _postponed(columns: Sequence[str]) -> tuple[LeftIndex, ...]:
    reason = "left to the next run: other tables took its time"
    return tuple(LeftIndex(column=column, reason=reason) for column in dict.fromkeys(columns))
