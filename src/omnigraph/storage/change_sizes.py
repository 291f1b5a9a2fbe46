"""How much lies between two states of a table, from what Lance knows of files and rows; no value is read."""

from omnigraph.storage.row_changes import count_written_since, overlap
from omnigraph.storage.tables import Table


def unshared_bytes(older: Table, newer: Table) -> int:
    """Return the size of what the states do not share: whole fragments, and rows that only one of them has deleted."""
    shared = overlap(older, newer)
    of_older, of_newer = older.bytes_by_fragment(), newer.bytes_by_fragment()
    rows, live_older, live_newer = older.rows_by_fragment(), older.fragment_rows(), newer.fragment_rows()
    thinned = sum(
        abs(live_older[left] - live_newer[right]) * of_older[left] // max(rows[left], 1)
        for left, right in shared.thinned
    )
    whole = sum(of_older[left] for left in shared.left_only) + sum(of_newer[right] for right in shared.right_only)
    return whole + thinned


def written_bytes(older: Table, newer: Table) -> int:
    """Return the size of the rows that were inserted, updated or deleted since an older state.

    Ask only where row versions tell (`lineage.py`): then a rewrite of files that changed no row counts as nothing.
    """
    written, inserted = count_written_since(older, newer)
    deleted = older.count_rows() + inserted - newer.count_rows()
    width = sum(newer.bytes_by_fragment().values()) // max(sum(newer.rows_by_fragment().values()), 1)
    return (written + max(deleted, 0)) * width


def has_lost_rows(older: Table, newer: Table) -> bool:
    """Whether rows of an older state are gone; ask only where row versions tell."""
    _, inserted = count_written_since(older, newer)
    return older.count_rows() + inserted != newer.count_rows()
