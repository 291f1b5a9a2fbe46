"""Which fragments are rewritten together. Pure, and written so that a second run finds nothing left to do.

A fragment is small when it is below the target in rows *and* far below it in bytes. Small ones are collected in id
order until a group is full; only the last group may stay below the target, so a table ends with at most one small
fragment. Closing at the target but calling only a quarter of it small leaves room for files that shrink when they are
rewritten: without it, wide tables would be rewritten whole by every run.
"""

from collections.abc import Callable, Hashable, Iterable
from itertools import groupby

from omnigraph.base.grouping import grouped
from omnigraph.base.values import dataclass
from omnigraph.maintenance.optimize.request import OptimizeRequest
from omnigraph.storage.layout import FragmentLayout

_SMALL_SHARE = 0.25
_ALONE_SHARE = 0.5
_COPIED_ROWS_MIN = 2_048
_COPIED_BYTES_MIN = 256 << 10
_FILE_OVERHEAD_BYTES = 1_024
_COLUMN_OVERHEAD_BYTES = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class RewriteGroup:
    """Fragments that become one."""

    fragments: tuple[FragmentLayout, ...]

    @property
    def fragment_ids(self) -> tuple[int, ...]:
        """Their ids, ascending."""
        return tuple(fragment.fragment_id for fragment in self.fragments)

    @property
    def live_rows(self) -> int:
        """Rows that the new fragment will have."""
        return sum(fragment.live_rows for fragment in self.fragments)

    @property
    def physical_rows(self) -> int:
        """Rows that are read, deleted ones included."""
        return sum(fragment.physical_rows for fragment in self.fragments)

    @property
    def bytes(self) -> int:
        """Bytes to read."""
        return sum(fragment.bytes for fragment in self.fragments)

    @property
    def bytes_after(self) -> int:
        """Bytes to write, as far as one can tell before: the share of live rows."""
        return sum(fragment.bytes * fragment.live_rows // max(1, fragment.physical_rows) for fragment in self.fragments)

    @property
    def pays_to_copy(self) -> bool:
        """Whether copying pages is faster than encoding anew: it costs a millisecond per file, whatever is in it.

        Tiny fragments are better encoded in any case, since copied pages stay as small as they were.
        """
        count = len(self.fragments)
        return self.physical_rows >= count * _COPIED_ROWS_MIN or self.bytes >= count * _COPIED_BYTES_MIN

    @property
    def pays(self) -> bool:
        """Whether fewer fragments or fewer dead rows come of it."""
        return len(self.fragments) > 1 or any(fragment.deleted_rows for fragment in self.fragments)


def group_fragments(
    fragments: Iterable[FragmentLayout],
    options: OptimizeRequest,
    *,
    column_count: int,
    kind: Callable[[FragmentLayout], Hashable] = lambda _: None,
) -> tuple[RewriteGroup, ...]:
    """Choose the groups that pay; fragments of different `kind` never share one."""
    overhead = _FILE_OVERHEAD_BYTES + column_count * _COLUMN_OVERHEAD_BYTES
    chosen: list[RewriteGroup] = []
    ordered = sorted(fragments, key=lambda fragment: fragment.fragment_id)
    by_kind = groupby(sorted(ordered, key=lambda fragment: repr(kind(fragment))), key=kind)
    for _, alike in by_kind:
        chosen += _group_alike(list(alike), options, overhead)
    return tuple(sorted((group for group in chosen if group.pays), key=lambda group: group.fragment_ids))


def _group_alike(fragments: list[FragmentLayout], options: OptimizeRequest, overhead: int) -> list[RewriteGroup]:
    alone: list[FragmentLayout] = []
    collected: list[FragmentLayout] = []
    for fragment in fragments:
        live_bytes = _live_bytes(fragment, overhead)
        is_small = fragment.live_rows < options.target_rows and live_bytes < options.max_bytes_per_file * _SMALL_SHARE
        has_dead = fragment.deleted_rows > fragment.physical_rows * options.deleted_ratio
        if not is_small and not has_dead:
            continue
        is_full = fragment.live_rows >= options.target_rows or live_bytes >= options.max_bytes_per_file * _ALONE_SHARE
        (alone if not is_small and is_full else collected).append(fragment)
    together = grouped(
        collected,
        (lambda fragment: fragment.live_rows, options.target_rows),
        (lambda fragment: _live_bytes(fragment, overhead), options.max_bytes_per_file),
    )
    return [RewriteGroup(fragments=group) for group in (*((fragment,) for fragment in alone), *together)]


def _live_bytes(fragment: FragmentLayout, overhead: int) -> float:
    """Estimate the bytes of the live rows alone: what is in a file besides rows vanishes when files are merged."""
    share = fragment.live_rows / max(1, fragment.physical_rows)
    return max(0, fragment.bytes - overhead) * share
