"""Whether an index answers as a scan does.

A BTREE is compared whole: the column is cut into ranges at values that occur, and for each range the rows that the
index gives must be the rows that a scan gives, by count and by a sum over their ids, so that memory does not grow with
the table. Full text and vectors are asked for rows that are known to match: these must be among the answers.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.units import counted
from omnigraph.base.values import dataclass
from omnigraph.catalog.index_kinds import IndexKind
from omnigraph.errors import Internal
from omnigraph.storage.filters import in_range
from omnigraph.storage.layout import IndexLayout
from omnigraph.storage.tables import ROW_ID, Table

_RANGES_MAX = 16
_SAMPLES = 16
_NEAR = 1e-3
_WORD_LENGTHS = range(5, 30)
"""Neither so short that a full-text index leaves them out as stop words, nor so long that it cuts them."""


_Bound: TypeAlias = pa.Array | None
"""One value that occurs in the column, or an open end."""


@dataclass(slots=True)
class _Rows:
    """A set of rows, as a count and a sum that does not depend on their order."""

    count: int = 0
    total: int = 0

    def add(self, row_ids: pa.Array) -> None:
        if not len(row_ids):
            return
        # From the buffer itself: the command line loads Arrow without numpy, and such an Arrow cannot convert to it.
        mixed = np.frombuffer(row_ids.buffers()[1], np.uint64)[row_ids.offset : row_ids.offset + len(row_ids)]
        with np.errstate(over="ignore"):
            mixed = (mixed ^ (mixed >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(29)
            self.total = (self.total + int(mixed.sum(dtype=np.uint64))) & (2**64 - 1)
        self.count += len(mixed)


def disagreement(table: Table, index: IndexLayout) -> str | None:
    """Return how an index differs from a scan, as the end of a sentence; None when it does not.

    Raises what reading raises: an index that cannot be read is for the caller to tell.
    """
    (column,) = index.columns
    kind = index.index_kind
    if kind is None:
        return None  # somebody else's: what it should answer is not ours to know
    check = CHECKS.get(kind)
    if check is None:
        raise Internal(f"storage/index_check.py does not say how an index of kind {kind} is checked")
    return check(table, column)


def _btree(table: Table, column: str) -> str | None:
    ranges = list(_ranges(table, column))
    scanned = [_Rows() for _ in ranges]
    for batch in table.scan([column], with_row_ids=True):
        for (low, high), rows in zip(ranges, scanned, strict=True):
            rows.add(batch.filter(_mask(batch[column], low, high))[ROW_ID])
    for (low, high), rows in zip(ranges, scanned, strict=True):
        answered = _Rows()
        asked = in_range(column, low, high)
        for batch in table.scan([column], where=asked, with_row_ids=True, insists_on_index=True):
            answered.add(batch[ROW_ID])
        if answered != rows:
            return f"gives {counted(answered.count, 'row')} for {asked}, and a scan gives {rows.count}"
    return None


def _ranges(table: Table, column: str) -> Iterator[tuple[_Bound, _Bound]]:
    """Cut a column at values of its first rows; None is an open end, and together the ranges are everything."""
    sample: list[pa.Array] = []
    for batch in table.scan([column]):
        sample.append(batch[column].drop_null())
        if sum(map(len, sample)) >= _RANGES_MAX * 64:
            break
    values = pa.chunked_array(sample, table.schema.field(column).type).unique()
    if pa.types.is_floating(values.type):
        # There are two zeros, and not everybody puts them on the same side.
        values = values.filter(pc.not_equal(values, pa.scalar(0.0, values.type)))
    cuts = values.take(pc.sort_indices(values))
    step = max(1, len(cuts) // _RANGES_MAX)
    bounds = [None, *(cuts.slice(place, 1) for place in range(step, len(cuts), step))][:_RANGES_MAX]
    return zip(bounds, [*bounds[1:], None], strict=True)


def _mask(values: pa.Array, low: _Bound, high: _Bound) -> pa.Array:
    mask = pc.is_valid(values)
    if low is not None:
        mask = pc.and_(mask, pc.fill_null(pc.greater_equal(values, low[0]), fill_value=False))
    if high is not None:
        mask = pc.and_(mask, pc.fill_null(pc.less(values, high[0]), fill_value=False))
    return mask


def _samples(table: Table, column: str) -> Iterator[tuple[int, Any]]:
    """Yield some values with the ids of their rows, from fragments across the table."""
    fragments = sorted(table.rows_by_fragment())
    for number in fragments[:: max(1, len(fragments) // _SAMPLES)][:_SAMPLES]:
        for batch in table.scan([column], with_row_ids=True, fragment_ids=[number]):
            present = batch.filter(pc.is_valid(batch[column]))
            if present.num_rows:
                middle = present.num_rows // 2
                yield present[ROW_ID][middle].as_py(), present[column][middle].as_py()
                break


def _full_text(table: Table, column: str) -> str | None:
    for row_id, text in _samples(table, column):
        words = [word for word in str(text).split() if word.isascii() and word.isalpha()]
        word = max((word for word in words if len(word) in _WORD_LENGTHS), key=len, default=None)
        if word is None:
            continue
        found = table.search(
            [column, "_score"], with_row_ids=True, full_text_query={"columns": [column], "query": word}
        )
        if not pc.any(pc.equal(found[ROW_ID], pa.scalar(row_id, pa.uint64()))).as_py():
            return f"does not find a row whose {column} has the word {word!r}"
    return None


def _vector(table: Table, column: str) -> str | None:
    for row_id, vector in _samples(table, column):
        nearest = {"column": column, "q": vector, "k": 10, "nprobes": 1_000, "refine_factor": 10}
        found = table.search([column, "_distance"], with_row_ids=True, nearest=nearest)
        near = pc.min(found["_distance"]).as_py() if found.num_rows else None
        is_there = pc.any(pc.equal(found[ROW_ID], pa.scalar(row_id, pa.uint64()))).as_py()
        if not is_there and (near is None or near > _NEAR):
            return f"does not find a row by its own {column}"
    return None


CHECKS: Final[Mapping[IndexKind, Callable[[Table, str], str | None]]] = {
    IndexKind.BTREE: _btree,
    IndexKind.FTS: _full_text,
    IndexKind.VECTOR: _vector,
}
