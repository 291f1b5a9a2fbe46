"""Admit: what of all the work that would pay fits into the bytes that may be rewritten and the time writers may wait.

Nobody waits for an index that is built before the gates are taken, so what does not fit into the tail is done that way
where it can be. A BTREE cannot be built over fragments that a rewrite has yet to commit: when folding it would take too
long, the table is rewritten, the index loses the rewritten rows, and the next run builds it anew. So a large table is
never left alone for its size.
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
    live_rows,
)
from omnigraph.maintenance.optimize.grouping import RewriteGroup
from omnigraph.maintenance.optimize.options import OptimizeOptions
from omnigraph.maintenance.optimize.table_plan import (
    IndexBuild,
    LeftIndex,
    TablePlan,
    covered_rows,
    staying_fragments,
)
from omnigraph.storage.indexing import btree_parameters
from omnigraph.storage.layout import IndexLayout

_LOST_SHARE_MAX = 0.05
"""Lookups scan the rows that an index lost, until the next run. Only a table that no run has the time to fold loses
more, one group at a time: it would never be rewritten otherwise."""
_BUDGET_SECONDS = TAIL_SECONDS_MAX - PUBLISH_SECONDS


def admit(plans: tuple[TablePlan, ...], options: OptimizeOptions) -> tuple[TablePlan, ...]:
    """Keep what fits: index work first, then the groups that remove the most fragments per byte."""
    budget = _Budget(bytes_left=options.max_bytes, seconds_left=_BUDGET_SECONDS)
    tables = {plan.table_key: _Admission(plan) for plan in plans if not plan.skipped}
    # The longest first: a table that had to wait has more to fold by the next run, and then it is its turn.
    for table in sorted(tables.values(), key=lambda table: (-table.indivisible_seconds, table.plan.table_key)):
        table.admit_index_work(budget)
    for key, group in _offered(plans):
        tables[key].admit_group(group, budget)
    return tuple(tables[plan.table_key].settle(budget) if plan.table_key in tables else plan for plan in plans)


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
    folds_addresses: bool = True
    groups: list[RewriteGroup] = field(default_factory=list)
    lost_rows: int = 0
    """Rows that an index knows now and will not know after the run."""
    rewriting_seconds: float = field(init=False)
    lost_rows_max: float = field(init=False)

    def __post_init__(self) -> None:
        """Compute once what every group of a large table asks for."""
        self.rewriting_seconds = self.plan.rewriting_seconds if self.plan.groups else 0.0
        self.lost_rows_max = self.plan.facts.layout.rows * _LOST_SHARE_MAX

    @property
    def indivisible_seconds(self) -> float:
        return sum(fold_seconds(self.plan.facts.layout, index) for index in self._indivisible)

    @property
    def _indivisible(self) -> tuple[IndexLayout, ...]:
        """Only a BTREE can be built instead: of vectors the training would be lost, of others how they were made."""
        return tuple(index for index in self.plan.folds if not index.is_btree)

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
        opening = 0.0 if self.is_open else COMMIT_SECONDS
        if self.folds_addresses:
            seconds = opening + self.plan.group_seconds(group)
            seconds += 0.0 if self.groups else self.rewriting_seconds
            if budget.take(seconds, size=group.bytes):
                self._take(group)
                return
            if self.groups or not self.plan.reindex:
                return
        lost = max((covered_rows(group.fragments, index) for index in self._btrees), default=0)
        if self.lost_rows + lost > self.lost_rows_max and (self.groups or self._fits_alone(group)):
            return
        if budget.take(opening, size=group.bytes):
            self.folds_addresses = False
            self.lost_rows += lost
            self._take(group)

    def _fits_alone(self, group: RewriteGroup) -> bool:
        rewriting = self.rewriting_seconds + self.plan.group_seconds(group)
        return COMMIT_SECONDS + self.indivisible_seconds + rewriting <= _BUDGET_SECONDS

    def _take(self, group: RewriteGroup) -> None:
        self.groups.append(group)
        self.is_open = True

    @property
    def _btrees(self) -> tuple[IndexLayout, ...]:
        return tuple(index for index in self.plan.facts.layout.indexes if index.is_btree)

    def settle(self, budget: _Budget) -> TablePlan:
        """Decide what becomes of each index, now that it is known what is rewritten."""
        kept = tuple(group for group in self.plan.groups if group in self.groups)
        plan = replace(
            self.plan, groups=kept, left=tuple(group for group in self.plan.groups if group not in self.groups)
        )
        if self.is_left:
            late = (*(column for index in plan.folds for column in index.columns), *(b.column for b in plan.builds))
            return replace(plan, folds=(), builds=(), postponed=_postponed(late, "other tables took its time"))
        if self.leaves_folds:
            late = tuple(column for index in self._indivisible for column in index.columns)
            plan = replace(
                plan,
                folds=tuple(index for index in plan.folds if index.is_btree),
                postponed=_postponed(late, "other tables took its time"),
            )
        if not kept:
            return _without_long_folds(plan, budget)
        return plan if self.folds_addresses else _without_address_folds(plan)


def _without_long_folds(plan: TablePlan, budget: _Budget) -> TablePlan:
    """Build the BTREEs anew that take long to fold, of a table that is not rewritten: nobody waits for a build."""
    folds, builds = [], list(plan.builds)
    for index in plan.folds:
        seconds = fold_seconds(plan.facts.layout, index)
        if index.is_btree and (seconds > FOLD_SECONDS_MAX or not budget.take(seconds)):
            builds.append(_anew(index))
        else:
            folds.append(index)
    return replace(plan, folds=tuple(folds), builds=tuple(builds))


def _without_address_folds(plan: TablePlan) -> TablePlan:
    """Leave what is rewritten out of the BTREEs; what stays is in them after this run, built anew where it was not."""
    layout = plan.facts.layout
    staying = staying_fragments(layout.fragments, plan.groups)
    btrees = [index for index in layout.indexes if index.is_btree]
    rebuilt = [
        _anew(index)
        for index in btrees
        # An index of the parent's must not be left with part of its fragments: lookups would fail.
        if any(segment.is_inherited for segment in index.segments)
        or (staying and (len(index.segments) > 1 or covered_rows(staying, index) < live_rows(staying)))
    ]
    new = [build for build in plan.builds if staying or not build.holds_addresses]
    seconds = plan.rewriting_seconds + sum(map(plan.group_seconds, plan.groups))
    late = (
        *(column for index in btrees for column in index.columns),
        *(build.column for build in plan.builds if build.holds_addresses),
    )
    return replace(
        plan,
        folds=tuple(index for index in plan.folds if not index.is_btree),
        builds=(*new, *rebuilt),
        postponed=(
            *plan.postponed,
            *_postponed(late, f"adding the rewritten rows now would keep writers waiting for about {seconds:.0f} s"),
        ),
        folds_addresses=False,
    )


def _anew(index: IndexLayout) -> IndexBuild:
    lance_type, parameters = btree_parameters()
    return IndexBuild(
        name=index.name, column=index.columns[0], lance_type=lance_type, parameters=parameters, is_new=False
    )


def _postponed(columns: Sequence[str], reason: str) -> tuple[LeftIndex, ...]:
    return tuple(
        LeftIndex(column=column, reason=f"left to the next run: {reason}") for column in dict.fromkeys(columns)
    )
