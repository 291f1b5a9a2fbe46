"""How a table is divided among the tasks of a read: by the bytes of its fragments, large ones cut into ranges of rows.

Worked out from metadata alone.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from operator import attrgetter

from omnigraph.base.grouping import fitted
from omnigraph.storage.layout import FragmentLayout

PARTITIONS_WANTED = 64
"""Enough for most clusters to have something to do on every core, and no burden for a laptop."""
PARTITION_BYTES_MIN = 4 << 20
"""Less is not worth the start of a task."""
PARTITION_BYTES_MAX = 128 << 20
"""What Spark gives one task of a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FragmentPart:
    """What one task reads: some whole fragments, or a range of the rows of one."""

    fragment_ids: tuple[int, ...]
    rows: int
    """How many rows readers see there, whatever a filter says."""
    first_row: int | None = None
    """Where a range begins, counted in the rows that readers see; None for whole fragments."""


def divide(fragments: Iterable[FragmentLayout], *, partition_bytes: int | None, may_cut: bool) -> list[FragmentPart]:
    """Divide fragments into parts of about so many bytes; without a size, so that a cluster is kept busy.

    `may_cut` says whether a fragment may become several parts.
    """
    known = [fragment for fragment in fragments if fragment.live_rows]
    wanted = partition_bytes or _useful_bytes(sum(fragment.bytes for fragment in known))
    cuts = {each.fragment_id: min(-(-each.bytes // wanted), each.live_rows) for each in known} if may_cut else {}
    parts: list[FragmentPart] = []
    for is_cut, run in groupby(known, lambda fragment: cuts.get(fragment.fragment_id, 1) > 1):
        if is_cut:
            parts += [part for fragment in run for part in _cut(fragment, cuts[fragment.fragment_id])]
        else:
            parts += map(_whole, fitted(run, (attrgetter("bytes"), wanted)))
    return parts


def _useful_bytes(total: int) -> int:
    return min(max(total // PARTITIONS_WANTED, PARTITION_BYTES_MIN), PARTITION_BYTES_MAX)


def _whole(fragments: Sequence[FragmentLayout]) -> FragmentPart:
    return FragmentPart(
        fragment_ids=tuple(fragment.fragment_id for fragment in fragments),
        rows=sum(fragment.live_rows for fragment in fragments),
    )


def _cut(fragment: FragmentLayout, pieces: int) -> Iterable[FragmentPart]:
    bounds = [fragment.live_rows * number // pieces for number in range(pieces + 1)]
    for first, end in pairwise(bounds):
        yield FragmentPart(fragment_ids=(fragment.fragment_id,), rows=end - first, first_row=first)
