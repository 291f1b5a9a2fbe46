"""Texts that match, row by row: the queries of a search may differ between rows, those of an index do not."""

from typing import Any

import numpy as np

from omnigraph.query.access import Truths
from omnigraph.query.run.bindings import Run, is_constant
from omnigraph.query.run.rows import Rows
from omnigraph.query.typed import Constant, Now, Parameter, PropertyRead, TextMatch


def rows_matching(run: Run, rows: Rows, match: TextMatch) -> Truths:
    """Return the rows whose text matches."""
    nodes = rows.values(match.field.variable)
    if is_constant(match.query) and (match.edits is None or is_constant(match.edits)):
        query, edits = (values_of(run, rows, each)[0] for each in (match.query, match.edits))
        return run.search.text_matches(run, match, query, edits, nodes)
    found = np.zeros(rows.count, np.bool_)
    asked: dict[tuple[Any, Any], list[int]] = {}
    pairs = zip(values_of(run, rows, match.query), values_of(run, rows, match.edits), strict=True)
    for place, pair in enumerate(pairs):
        asked.setdefault(pair, []).append(place)
    for (query, edits), places in asked.items():
        found[places] = run.search.text_matches(run, match, query, edits, nodes[places])
    return found


def values_of(run: Run, rows: Rows, expression: Any) -> list[Any]:
    """Return the values of an argument of a search function, one per row; a vector is a list."""
    if expression is None:
        return [None] * max(rows.count, 1)
    if isinstance(expression, Constant | Parameter | Now):
        return [run.constant(expression)] * max(rows.count, 1)
    assert isinstance(expression, PropertyRead)
    column = run.entities(expression.entity).column(expression.property)
    return [*map(column.one, rows.values(expression.variable).tolist())]
