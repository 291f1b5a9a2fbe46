"""Looking up many values in a table that is much larger still: by its index, some thousands at a time.

One scan of the column finds any number of values, and takes as long as the table is large. An index takes as long as
there are values, and what it does not cover is looked through: with every question, or once if there is much of it.
"""

from collections.abc import Iterator, Sequence
from operator import attrgetter

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.grouping import grouped
from omnigraph.base.values import dataclass
from omnigraph.storage import filters
from omnigraph.storage.layout import IndexLayout, TableLayout, read_layout
from omnigraph.storage.tables import Table

_VALUES_AT_ONCE = 10_000
"""One question of so many values takes an eighth of a second, five questions of a fifth each two and a half times."""
_SCANNED_PER_VALUE = 25
"""Rows that are scanned in the time in which an index finds one value (measured: two million and eighty thousand a
second on one core)."""
_ONE_FILTER_VALUES = 2_000
"""So few are one question, whatever covers the rows."""
_COUNTED_AT_ONCE_ROWS = 1 << 19


def look_up_values(table: Table, column: str, values: pa.Array, columns: Sequence[str]) -> pa.Table:
    """Return what `Table.lookup` returns, by the way that takes less."""
    wanted = values.unique().drop_null()
    found = [
        table.lookup(column, wanted, columns, fragment_ids=question.fragment_ids)
        if question.values is None
        else table.read(
            columns,
            where=filters.in_values(column, question.values),
            with_row_ids=True,
            with_row_addresses=True,
            fragment_ids=question.fragment_ids,
        )
        for question in _questions(table, column, wanted)
    ]
    return pa.concat_tables(found) if found else table.lookup(column, wanted, columns)


def count_values(table: Table, column: str, values: pa.Array) -> pa.Table:
    """Return how many rows have each of the texts, as `value` and `rows`, without those that no row has.

    However many rows one value has, memory holds no more of them than a few hundred thousand.
    """
    wanted = values.unique().drop_null()
    counts = [pa.table({"value": pa.array([], pa.string()), "rows": pa.array([], pa.int64())})]
    for question in _questions(table, column, wanted):
        where = None if question.values is None else filters.in_values(column, question.values)
        scanned = table.scan([column], where=where, fragment_ids=question.fragment_ids)
        for batches in grouped(scanned, (attrgetter("num_rows"), _COUNTED_AT_ONCE_ROWS)):
            found = pa.Table.from_batches(batches)[column].combine_chunks()
            if where is None:
                found = found.filter(pc.is_in(found, value_set=wanted))
            counted = found.value_counts()
            counts.append(
                pa.table({"value": counted.field("values").cast(pa.string()), "rows": counted.field("counts")})
            )
    together = pa.concat_tables(counts).group_by("value").aggregate([("rows", "sum")])
    return together.select(["value", "rows_sum"]).rename_columns(["value", "rows"])


def holds_only(table: Table, column: str, values: pa.Array) -> bool:
    """Whether no row has any other text than these, nor none: as many rows are found by them as there are."""
    return count_found(table, column, values) == table.count_rows()


def count_found(table: Table, column: str, values: pa.Array) -> int:
    """Return how many rows have one of these texts."""
    return int(pc.sum(count_values(table, column, values)["rows"]).as_py() or 0)


def unindexed_rows(layout: TableLayout, column: str) -> int:
    """Return how many rows of a table no index on the column knows."""
    return min((_uncovered_rows(layout, index) for index in _answering(layout, column)), default=layout.rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    """Which values are asked for; None looks through the rows for all of them. Of some fragments, or of all."""

    values: pa.Array | None
    fragment_ids: tuple[int, ...] | None = None


def _questions(table: Table, column: str, wanted: pa.Array) -> Iterator[_Question]:
    """Divide a look-up such that it takes the least time."""
    if not len(wanted):
        return
    if len(wanted) <= min(_ONE_FILTER_VALUES, _VALUES_AT_ONCE):
        yield _Question(values=wanted)
        return
    layout = read_layout(table) if len(wanted) * _SCANNED_PER_VALUE < table.count_rows() else None
    answering = _answering(layout, column) if layout is not None else []
    if layout is None or not answering:
        yield _Question(values=None)
        return
    index = min(answering, key=lambda index: _uncovered_rows(layout, index))
    rows = _uncovered_rows(layout, index)
    slices = [wanted.slice(start, _VALUES_AT_ONCE) for start in range(0, len(wanted), _VALUES_AT_ONCE)]
    # Another question takes as long as to look through so many rows.
    is_apart = rows * (len(slices) - 1) > _VALUES_AT_ONCE * _SCANNED_PER_VALUE
    scanned = rows if is_apart else rows * len(slices)
    if len(wanted) * _SCANNED_PER_VALUE + scanned >= layout.rows:
        yield _Question(values=None)
        return
    uncovered = tuple(fragment.fragment_id for fragment in layout.uncovered(index)) if is_apart else ()
    covered = tuple(fragment.fragment_id for fragment in layout.fragments if fragment.fragment_id in index.covered)
    for values in slices:
        yield _Question(values=values, fragment_ids=covered if uncovered else None)
    if uncovered:
        yield _Question(values=None, fragment_ids=uncovered)


def _answering(layout: TableLayout, column: str) -> list[IndexLayout]:
    return [index for index in layout.indexes if index.is_btree and index.columns == (column,)]


def _uncovered_rows(layout: TableLayout, index: IndexLayout) -> int:
    return sum(fragment.live_rows for fragment in layout.uncovered(index))
