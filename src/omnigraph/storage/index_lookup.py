"""Looking up many values in a table that is much larger still: by its index, some thousands at a time.

One scan of the column finds any number of values, and takes as long as the table is large. An index takes as long as
there are values, and looks through what it does not cover for every question anew.
"""

from collections.abc import Sequence

import pyarrow as pa

from omnigraph.storage import filters
from omnigraph.storage.layout import TableLayout, read_layout
from omnigraph.storage.tables import Table

_VALUES_AT_ONCE = 10_000
"""One question of so many values takes an eighth of a second, five questions of a fifth each two and a half times."""
_SCANNED_PER_VALUE = 25
"""Rows that are scanned in the time in which an index finds one value (measured: two million and eighty thousand a
second on one core)."""


def look_up_values(table: Table, column: str, values: pa.Array, columns: Sequence[str]) -> pa.Table:
    """Return what `Table.lookup` returns, by the way that takes less."""
    wanted = values.unique().drop_null()
    if not _pays(table, column, len(wanted)):
        return table.lookup(column, wanted, columns)
    found = [
        table.read(
            columns,
            where=filters.in_values(column, wanted.slice(start, _VALUES_AT_ONCE)),
            with_row_ids=True,
            with_row_addresses=True,
        )
        for start in range(0, len(wanted), _VALUES_AT_ONCE)
    ]
    return pa.concat_tables(found)


def unindexed_rows(layout: TableLayout, column: str) -> int:
    """Return how many rows of a table no index on the column knows."""
    answering = [index for index in layout.indexes if index.is_btree and index.columns == (column,)]
    uncovered = [sum(fragment.live_rows for fragment in layout.uncovered(index)) for index in answering]
    return min(uncovered, default=layout.rows)


def _pays(table: Table, column: str, count: int) -> bool:
    if not 0 < count * _SCANNED_PER_VALUE < table.count_rows():
        return False
    layout = read_layout(table)
    questions = -(-count // _VALUES_AT_ONCE)
    return count * _SCANNED_PER_VALUE + questions * unindexed_rows(layout, column) < layout.rows
