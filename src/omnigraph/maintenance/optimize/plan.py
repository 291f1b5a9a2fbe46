"""Decide: facts and options in, one plan per table out. Pure: the preview prints the very plan that a run carries out.

Cost of a run: every group is read and written once, without a lock. Under the gates of the branch only metadata moves,
except that Lance rewrites an index when it folds into it, and that every BTREE of a rewritten table is folded, because
it holds addresses of rows. `tail_seconds` estimates that from measured speeds, and groups are admitted only while the
sum stays bearable for waiting writers.
"""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from omnigraph.catalog.indexes import IndexIntent, IndexKind
from omnigraph.catalog.model import TableKey
from omnigraph.maintenance.optimize.facts import TableFacts
from omnigraph.maintenance.optimize.grouping import RewriteGroup, group_fragments
from omnigraph.maintenance.optimize.options import OptimizeOptions
from omnigraph.storage.compaction import LANCE_SUPPORTS_BLOB_COMPACTION
from omnigraph.storage.indexing import (
    VECTORS_TO_TRAIN_MIN,
    btree_parameters,
    full_text_parameters,
    vector_parameters,
)
from omnigraph.storage.layout import FragmentLayout, IndexLayout, TableLayout

TAIL_SECONDS_MAX = 20.0
"""A writer waits 30 seconds for its gate; the tail must be over well before."""
PUBLISH_SECONDS = 0.1
"""What a run does under the gates whatever it commits: checks, the recovery record, the publish."""
_COMMIT_SECONDS = 0.03
"""All commits of one table, beside other tables."""
_KEEP_SECONDS_PER_ENTRY = 0.15e-6
_ADD_SECONDS_PER_ENTRY = 0.35e-6
"""What folding a BTREE takes: it is written whole, and what is new to it is read and sorted as well."""
_FOLLOW_SECONDS_PER_ENTRY = 0.8e-6
_FOLD_SECONDS_PER_VECTOR = 4e-6
_FOLD_SECONDS_PER_TEXT = 7e-6
_FOLD_SECONDS_MAX = 2.0
"""A BTREE that takes longer to fold is built anew instead, which happens before the gates are taken."""

DRIFT = "DriftNeedsRepair"
BLOBS = "BlobColumnsUnsupportedByLance"
CONTENDED = "Contended"


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexBuild:
    """Build one index over the fragments of the pin; it replaces an index of the same name."""

    name: str
    column: str
    lance_type: str
    parameters: Mapping[str, Any]
    is_new: bool

    @property
    def holds_addresses(self) -> bool:
        """Whether a rewrite takes what it replaced out of the index: building over that would be for nothing."""
        return self.lance_type == "BTREE"


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingIndex:
    """A declared index that cannot be built yet."""

    column: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TablePlan:
    """Everything a run would do to one table."""

    facts: TableFacts
    groups: tuple[RewriteGroup, ...] = ()
    left: tuple[RewriteGroup, ...] = ()
    """Groups that pay but do not fit into a budget."""
    folds: tuple[IndexLayout, ...] = ()
    builds: tuple[IndexBuild, ...] = ()
    pending: tuple[PendingIndex, ...] = ()
    reindex: bool = True
    skipped: str | None = None

    @property
    def table_key(self) -> TableKey:
        """The table's name."""
        return self.facts.table_key

    @property
    def has_work(self) -> bool:
        """Whether anything would be committed to the table."""
        return not self.skipped and (bool(self.groups) or self.has_index_work)

    @property
    def has_index_work(self) -> bool:
        """Whether something would be committed that no budget keeps back."""
        return bool(self.folds or self.builds or self.facts.layout.has_auto_cleanup)

    @property
    def bytes_read(self) -> int:
        """Bytes that rewrites read."""
        return sum(group.bytes for group in self.groups)

    @property
    def bytes_written(self) -> int:
        """Bytes that rewrites write, estimated."""
        return sum(group.bytes_after for group in self.groups)

    @property
    def follows_addresses(self) -> bool:
        """Whether indexes with row addresses follow each rewrite in its commit, as they are not going to be folded."""
        return not self.reindex and any(index.holds_addresses for index in self.facts.layout.indexes)

    @property
    def tail_seconds(self) -> float:
        """How long the branch is closed for this table's commits, estimated."""
        if not self.has_work:
            return 0.0
        rewriting = self.rewriting_seconds if self.groups else 0.0
        return self.fixed_seconds + rewriting + sum(self.group_seconds(group) for group in self.groups)

    @property
    def fixed_seconds(self) -> float:
        """The part of the tail that does not depend on rewrites."""
        return _COMMIT_SECONDS + sum(_fold_seconds(self.facts.layout, index) for index in self.folds)

    @property
    def rewriting_seconds(self) -> float:
        """What the first rewrite adds to the tail, whatever its size: BTREEs that knew every row are folded as well."""
        folded = {index.name for index in self.folds}
        known = [index for index in self.facts.layout.indexes if index.is_btree and index.name not in folded]
        return self.facts.layout.rows * len(known) * (_KEEP_SECONDS_PER_ENTRY if self.reindex else 0.0)

    def group_seconds(self, group: RewriteGroup) -> float:
        """Estimate what committing one group adds to the tail."""
        built = {build.name for build in self.builds if build.holds_addresses}
        btrees = len(built | {index.name for index in self.facts.layout.indexes if index.is_btree})
        return group.live_rows * btrees * (_ADD_SECONDS_PER_ENTRY if self.reindex else _FOLLOW_SECONDS_PER_ENTRY)


def plan_tables(facts: Iterable[TableFacts], options: OptimizeOptions) -> tuple[TablePlan, ...]:
    """Plan every table, then admit groups while the budgets of bytes and of the tail last."""
    return _admit(tuple(plan_table(found, options) for found in facts), options)


def plan_table(facts: TableFacts, options: OptimizeOptions) -> TablePlan:
    """Choose the rewrites and index work that bring one table to its target layout, whatever the budgets."""
    if facts.is_drifted:
        return TablePlan(facts=facts, skipped=DRIFT)
    if facts.layout.has_blobs and not LANCE_SUPPORTS_BLOB_COMPACTION:
        return TablePlan(facts=facts, skipped=BLOBS)
    if not options.reindex:
        return TablePlan(facts=facts, groups=_groups_as_covered(facts.layout, options), reindex=False)
    groups = group_fragments(facts.layout.fragments, options, column_count=facts.layout.column_count)
    missing, pending = _missing_indexes(facts)
    folds, rebuilds = _stale_indexes(facts, groups)
    return TablePlan(facts=facts, groups=groups, folds=folds, builds=(*missing, *rebuilds), pending=pending)


def _groups_as_covered(layout: TableLayout, options: OptimizeOptions) -> tuple[RewriteGroup, ...]:
    """Group fragments that the same segments cover: without folding, Lance refuses any other mix.

    Fragments under an inherited BTREE stay: having it follow their rewrite would leave it pointing into the parent's
    files.
    """

    def kind(fragment: FragmentLayout) -> Hashable:
        return tuple(
            sorted(
                segment.uuid
                for index in layout.indexes
                for segment in index.segments
                if fragment.fragment_id in segment.fragment_ids
            )
        )

    inherited = _inherited_btree_fragments(layout)
    own = [fragment for fragment in layout.fragments if fragment.fragment_id not in inherited]
    return group_fragments(own, options, column_count=layout.column_count, kind=kind)


def _inherited_btree_fragments(layout: TableLayout) -> frozenset[int]:
    return frozenset(
        number
        for index in layout.indexes
        if index.is_btree
        for segment in index.segments
        if segment.is_inherited
        for number in segment.fragment_ids
    )


def _missing_indexes(facts: TableFacts) -> tuple[tuple[IndexBuild, ...], tuple[PendingIndex, ...]]:
    builds: list[IndexBuild] = []
    pending: list[PendingIndex] = []
    for intent in facts.intents:
        if intent.name in facts.layout.index_by_name:
            continue
        reason = _cannot_be_built(facts, intent)
        if reason is None:
            builds.append(_build(facts, intent, is_new=True))
        else:
            pending.append(PendingIndex(column=intent.column, reason=reason))
    return tuple(builds), tuple(pending)


def _cannot_be_built(facts: TableFacts, intent: IndexIntent) -> str | None:
    if not facts.layout.rows:
        return "no rows yet"
    if intent.kind is IndexKind.VECTOR:
        found = facts.vectors[intent.column]
        if not found:
            return "no non-null vectors yet"
        if found < VECTORS_TO_TRAIN_MIN:
            return f"{found} non-null vectors, {VECTORS_TO_TRAIN_MIN} are needed to train on"
    return None


def _build(facts: TableFacts, intent: IndexIntent, *, is_new: bool) -> IndexBuild:
    match intent.kind:
        case IndexKind.BTREE:
            lance_type, parameters = btree_parameters()
        case IndexKind.FTS:
            lance_type, parameters = full_text_parameters()
        case IndexKind.VECTOR:
            lance_type, parameters = vector_parameters(
                vectors=facts.vectors[intent.column], dimension=facts.dimensions[intent.column]
            )
    return IndexBuild(
        name=intent.name, column=intent.column, lance_type=lance_type, parameters=parameters, is_new=is_new
    )


def _stale_indexes(
    facts: TableFacts, groups: tuple[RewriteGroup, ...]
) -> tuple[tuple[IndexLayout, ...], tuple[IndexBuild, ...]]:
    """Sort the existing indexes into those that Lance folds in the tail and those that are built anew before it."""
    folds: list[IndexLayout] = []
    rebuilds: list[IndexBuild] = []
    for index in facts.layout.indexes:
        if not facts.layout.is_stale(index):
            continue
        intent = next((intent for intent in facts.intents if intent.name == index.name), None)
        if intent is not None and _is_better_rebuilt(facts.layout, index, is_rewritten=bool(groups)):
            rebuilds.append(_build(facts, intent, is_new=False))
        else:
            folds.append(index)
    return tuple(folds), tuple(rebuilds)


def _is_better_rebuilt(layout: TableLayout, index: IndexLayout, *, is_rewritten: bool) -> bool:
    """Whether an index is built anew without a lock, rather than folded under the gates.

    Folding full text costs as much as building it. A BTREE of a table that is rewritten has to be folded in any case.
    """
    if index.is_full_text:
        return True
    return index.is_btree and not is_rewritten and _fold_seconds(layout, index) > _FOLD_SECONDS_MAX


def _fold_seconds(layout: TableLayout, index: IndexLayout) -> float:
    new = sum(fragment.live_rows for fragment in layout.uncovered(index))
    if index.is_vector:
        return new * _FOLD_SECONDS_PER_VECTOR
    if index.is_full_text:
        return layout.rows * _FOLD_SECONDS_PER_TEXT
    return layout.rows * _KEEP_SECONDS_PER_ENTRY + new * _ADD_SECONDS_PER_ENTRY


def _admit(plans: tuple[TablePlan, ...], options: OptimizeOptions) -> tuple[TablePlan, ...]:
    """Keep the groups that fit, those first that remove the most fragments per byte."""
    certain = {plan.table_key for plan in plans if not plan.skipped and plan.has_index_work}
    fixed = sum(plan.fixed_seconds for plan in plans if plan.table_key in certain)
    budget = _Budget(bytes_left=options.max_bytes, tail_left=TAIL_SECONDS_MAX - PUBLISH_SECONDS - fixed)
    offered = sorted(
        ((plan, group) for plan in plans if not plan.skipped for group in plan.groups),
        key=lambda offer: (offer[1].bytes / len(offer[1].fragments), offer[0].table_key, offer[1].fragment_ids),
    )
    admitted: dict[TableKey, list[RewriteGroup]] = {plan.table_key: [] for plan in plans}
    for plan, group in offered:
        seconds = plan.group_seconds(group)
        if not admitted[plan.table_key]:
            seconds += plan.rewriting_seconds + (0.0 if plan.table_key in certain else plan.fixed_seconds)
        if budget.take(group.bytes, seconds):
            admitted[plan.table_key].append(group)
    return tuple(_keep(plan, admitted[plan.table_key]) for plan in plans)


@dataclass(slots=True, kw_only=True)
class _Budget:
    """What is left of the bytes to rewrite and of the seconds under the gates."""

    bytes_left: int | None
    tail_left: float
    is_used: bool = False

    def take(self, size: int, seconds: float) -> bool:
        """Take a share, or leave everything as it is; one group always fits into the tail, or none ever would."""
        if self.bytes_left is not None and size > self.bytes_left:
            return False
        if self.is_used and seconds > self.tail_left:
            return False
        if self.bytes_left is not None:
            self.bytes_left -= size
        self.tail_left -= seconds
        self.is_used = True
        return True


def _keep(plan: TablePlan, admitted: list[RewriteGroup]) -> TablePlan:
    kept = tuple(group for group in plan.groups if group in admitted)
    return replace(plan, groups=kept, left=tuple(group for group in plan.groups if group not in admitted))
