"""Decide: facts and options in, one plan per table out. Pure: the preview prints the very plan that a run carries out.

Cost of a run: every group is read and written once, without a lock. Under the gates of the branch only metadata moves,
except that Lance rewrites an index when it folds into it, and that every BTREE of a rewritten table is folded, because
it holds addresses of rows. `tail_seconds` estimates that from measured speeds, and work is admitted only while the sum
stays bearable for waiting writers.
"""

from collections.abc import Hashable, Iterable

from omnigraph.catalog.indexes import IndexIntent
from omnigraph.maintenance.optimize.budget import admit
from omnigraph.maintenance.optimize.facts import TableFacts
from omnigraph.maintenance.optimize.grouping import RewriteGroup, group_fragments
from omnigraph.maintenance.optimize.request import OptimizeRequest
from omnigraph.maintenance.optimize.table_plan import BEHIND, BLOBS, DAMAGED, DRIFT, IndexBuild, PendingIndex, TablePlan
from omnigraph.storage.compaction import LANCE_SUPPORTS_BLOB_COMPACTION
from omnigraph.storage.index_kinds import lance_index
from omnigraph.storage.layout import FragmentLayout, TableLayout

__all__ = ["TablePlan", "plan_table", "plan_tables"]


def plan_tables(facts: Iterable[TableFacts], options: OptimizeRequest) -> tuple[TablePlan, ...]:
    """Plan every table, then admit what the budgets of bytes and of the tail have room for."""
    return admit(tuple(_wished(found, options) for found in facts), options)


def plan_table(facts: TableFacts, options: OptimizeRequest) -> TablePlan:
    """Plan one table as if there were no others."""
    (plan,) = plan_tables([facts], options)
    return plan


def _wished(facts: TableFacts, options: OptimizeRequest) -> TablePlan:
    """Choose the rewrites and index work that bring one table to its target layout, whatever they cost."""
    if facts.problem is not None:
        return TablePlan(facts=facts, skipped=DAMAGED)
    if facts.is_behind:
        return TablePlan(facts=facts, skipped=BEHIND)
    if facts.is_drifted:
        return TablePlan(facts=facts, skipped=DRIFT)
    if facts.layout.has_blobs and not LANCE_SUPPORTS_BLOB_COMPACTION:
        return TablePlan(facts=facts, skipped=BLOBS)
    if not options.reindex:
        return TablePlan(facts=facts, groups=_groups_as_covered(facts.layout, options), reindex=False)
    groups = group_fragments(facts.layout.fragments, options, column_count=facts.layout.column_count)
    missing, pending = _missing_indexes(facts)
    stale = [index for index in facts.layout.indexes if facts.layout.is_stale(index)]
    declared = {intent.name: intent for intent in facts.intents}
    # Folding full text costs as much as building it, and only a build can do without the gates.
    anew = [index.name for index in stale if index.folds_like_a_build and index.name in declared]
    return TablePlan(
        facts=facts,
        groups=groups,
        folds=tuple(index for index in stale if index.name not in anew),
        builds=(*missing, *(_build(facts, declared[name], is_new=False) for name in anew)),
        pending=pending,
    )


def _groups_as_covered(layout: TableLayout, options: OptimizeRequest) -> tuple[RewriteGroup, ...]:
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
        if index.follows_rewrites
        for segment in index.segments
        if segment.is_inherited
        for number in segment.fragment_ids
    )


def _missing_indexes(facts: TableFacts) -> tuple[tuple[IndexBuild, ...], tuple[PendingIndex, ...]]:
    builds: list[IndexBuild] = []
    pending: list[PendingIndex] = []
    lost = {index.name for index in facts.lost_indexes}
    for intent in facts.intents:
        if intent.name in facts.layout.index_by_name:
            continue
        reason = _cannot_be_built(facts, intent)
        if reason is None:
            builds.append(_build(facts, intent, is_new=intent.name not in lost))
        else:
            pending.append(PendingIndex(column=intent.column, reason=reason))
    return tuple(builds), tuple(pending)


def _cannot_be_built(facts: TableFacts, intent: IndexIntent) -> str | None:
    if not facts.layout.rows:
        return "no rows yet"
    needed = lance_index(intent.kind).values_min
    if needed:
        found = facts.vectors[intent.column]
        if not found:
            return "no non-null vectors yet"
        if found < needed:
            return f"{found} non-null vectors, {needed} are needed to train on"
    return None


def _build(facts: TableFacts, intent: IndexIntent, *, is_new: bool) -> IndexBuild:
    choose = lance_index(intent.kind).choose
    lance_type, parameters = choose(facts.vectors.get(intent.column, 0), facts.dimensions.get(intent.column, 0))
    return IndexBuild(
        name=intent.name, column=intent.column, lance_type=lance_type, parameters=parameters, is_new=is_new
    )
