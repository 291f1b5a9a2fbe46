"""Comparing an answer with that of trying everything."""

import math
from collections import Counter
from typing import Any

import pyarrow as pa

from support.naive_query import Naive

NOW_MS = 1_600_000_000_000


def insist_equal(found: pa.Table, naive: Naive) -> None:
    """Compare what was found with what trying everything finds: in order where there is one, as a bag otherwise."""
    expected = naive.answer()
    rows = [tuple(map(_rounded, row)) for row in stored_rows(found)]
    wanted = [tuple(map(_rounded, row)) for row in expected.rows]
    if expected.is_ordered:
        assert rows == wanted
    elif expected.limit is None:
        assert Counter(map(repr, rows)) == Counter(map(repr, wanted))
    else:
        assert len(rows) == min(expected.limit, len(wanted))
        assert Counter(map(repr, rows)) <= Counter(map(repr, wanted))


def stored_rows(rows: pa.Table) -> list[tuple[Any, ...]]:
    """Return rows of plain values, dates and times as the numbers that are stored."""
    return list(zip(*(map(_plain, column.combine_chunks()) for column in rows.columns), strict=True))


def _plain(scalar: pa.Scalar) -> Any:
    if not scalar.is_valid:
        return None
    if pa.types.is_temporal(scalar.type):
        return scalar.value
    if pa.types.is_struct(scalar.type):
        return {name: _plain(member) for name, member in scalar.items()}
    return scalar.as_py()


def _rounded(value: Any) -> Any:
    """Sums of floats depend on the order in which they are added, and minus zero equals zero."""
    if isinstance(value, float) and math.isfinite(value):
        return float(f"{value + 0.0:.12g}") + 0.0
    return value
