"""What a run would do to one table, and what of it writers wait for."""

from collections.abc import Mapping, Sequence
from typing import Any

from omnigraph.base.values import dataclass
from omnigraph.catalog.model import TableKey
from omnigraph.maintenance.optimize.costs import (
    COMMIT_SECONDS,
    add_seconds,
    fold_seconds,
    follow_seconds,
    keep_seconds,
    live_rows,
)
from omnigraph.maintenance.optimize.facts import TableFacts
from omnigraph.maintenance.optimize.grouping import RewriteGroup
from omnigraph.storage.index_kinds import kind_built
from omnigraph.storage.layout import FragmentLayout, IndexLayout

DRIFT = "DriftNeedsRepair"
BEHIND = "BehindNeedsRestore"
DAMAGED = "DamagedNeedsRestore"
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
        return kind_built(self.lance_type).holds_addresses


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingIndex:
    """A declared index that cannot be built yet."""

    column: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftIndex(PendingIndex):
    """An index that this run leaves incomplete and the next one can complete."""


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
    postponed: tuple[LeftIndex, ...] = ()
    """Indexes that would take too long under the gates: the next run goes on with them."""
    foresees: bool = False
    """Whether BTREEs are built on the rewritten files before the rewrites are committed. If not they take in under the
    gates what was rewritten."""
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
        """Whether something would be committed besides rewrites."""
        return bool(self.folds or self.builds or self.drops or self.facts.layout.needs_upkeep)

    @property
    def drops(self) -> tuple[IndexLayout, ...]:
        """Indexes to take out because they cannot be read; what is declared of them is among `builds`."""
        return self.facts.lost_indexes

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
        by_row_ids = (index for index in self.folds if not index.follows_rewrites)
        folding = sum(fold_seconds(self.facts.layout, index) for index in by_row_ids)
        return COMMIT_SECONDS + folding + self.btree_seconds

    @property
    def btree_seconds(self) -> float:
        """What BTREEs add to the tail: each is written whole if it takes something in, or follows a rewrite.

        New ones as well: unless they are built on the rewritten files, they take these in like the others.
        """
        layout = self.facts.layout
        btrees = [index for index in layout.indexes if index.follows_rewrites]
        if not self.reindex:
            rows = live_rows(fragment for group in self.groups for fragment in group.fragments)
            return len(btrees) * (keep_seconds(layout.rows) + follow_seconds(rows)) if self.groups else 0.0
        if self.foresees or not self.groups:
            return sum(fold_seconds(layout, index) for index in self.folds if index.follows_rewrites)
        built = frozenset(build.name for build in self.builds if build.holds_addresses)
        known = [index for index in btrees if index.name not in built]
        seconds = sum(fold_seconds(layout, index) for index in known) + keep_seconds(layout.rows) * len(built)
        for group in self.groups:
            # What a BTREE does not know yet is part of its fold already.
            taken_in = sum(covered_rows(group.fragments, index) for index in known) + group.live_rows * len(built)
            seconds += add_seconds(taken_in)
        return seconds


def covered_rows(fragments: Sequence[FragmentLayout], index: IndexLayout) -> int:
    """Count the rows of some fragments that an index knows."""
    return sum(
        fragment.live_rows
        for fragment in fragments
        if any(fragment.fragment_id in segment.fragment_ids for segment in index.segments)
    )


def staying_fragments(
    fragments: Sequence[FragmentLayout], groups: Sequence[RewriteGroup]
) -> tuple[FragmentLayout, ...]:
    """Return the fragments that no rewrite replaces."""
    rewritten = {number for group in groups for number in group.fragment_ids}
    return tuple(fragment for fragment in fragments if fragment.fragment_id not in rewritten)
