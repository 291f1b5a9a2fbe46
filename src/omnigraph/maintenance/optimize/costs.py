"""How long a run keeps a branch closed, from measured speeds. Writers wait for nothing else that optimize does.

Lance writes an index whole when it folds something into it, and when it has it follow a rewrite.
"""

from collections.abc import Iterable
from typing import Final, assert_never

from omnigraph.catalog.index_kinds import IndexKind
from omnigraph.storage.layout import FragmentLayout, IndexLayout, TableLayout

TAIL_SECONDS_MAX: Final = 20.0
"""A writer waits 30 seconds for its gate; the tail must be over well before."""
PUBLISH_SECONDS: Final = 0.1
"""What a run does under the gates whatever it commits: checks, the recovery record, the publish."""
COMMIT_SECONDS: Final = 0.03
"""All commits of one table, beside other tables."""
PAUSE_SECONDS_MAX: Final = 1.0
"""How long writers wait for what could as well be done before the gates are taken, or by the next run."""
FOLD_SECONDS_MAX: Final = 0.25
"""How much of that goes to folding BTREEs, all tables together: the others are built before the gates are taken, which
takes longer and keeps nobody waiting."""

_KEEP_SECONDS_PER_ENTRY = 0.15e-6
_ADD_SECONDS_PER_ENTRY = 0.35e-6
"""What folding a BTREE takes: it is written whole, and what is new to it is read and sorted as well."""
_FOLLOW_SECONDS_PER_ENTRY = 0.8e-6
_FOLD_SECONDS_PER_VECTOR = 4e-6
_FOLD_SECONDS_PER_TEXT = 7e-6


def fold_seconds(layout: TableLayout, index: IndexLayout) -> float:
    """Estimate what it takes to bring the fragments into an index that it does not know."""
    new = live_rows(layout.uncovered(index))
    match index.index_kind:
        case IndexKind.VECTOR:
            return new * _FOLD_SECONDS_PER_VECTOR
        case IndexKind.FTS:
            return layout.rows * _FOLD_SECONDS_PER_TEXT
        case IndexKind.BTREE | None:  # what others built costs about as much
            return keep_seconds(layout.rows) + add_seconds(new)
        case never:
            assert_never(never)


def keep_seconds(rows: int) -> float:
    """Estimate what it takes to write the entries again that an index has already."""
    return rows * _KEEP_SECONDS_PER_ENTRY


def add_seconds(rows: int) -> float:
    """Estimate what rows that are new to a BTREE add to its fold."""
    return rows * _ADD_SECONDS_PER_ENTRY


def follow_seconds(rows: int) -> float:
    """Estimate what rewritten rows add to a commit that a BTREE follows."""
    return rows * _FOLLOW_SECONDS_PER_ENTRY


def live_rows(fragments: Iterable[FragmentLayout]) -> int:
    """Count the rows that readers see."""
    return sum(fragment.live_rows for fragment in fragments)
