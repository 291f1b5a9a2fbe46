"""Values of ranking functions, row by row; what they mean is the business of who searches."""

from typing import Any

import numpy as np

from omnigraph.query.access import Numbers
from omnigraph.query.run.bindings import Run, is_constant
from omnigraph.query.run.rows import Rows
from omnigraph.query.run.texts import values_of
from omnigraph.query.typed import Fusion, PropertyRead, Ranking


def field_of(ranking: Ranking) -> PropertyRead:
    """Return the property by which nodes are ranked; of a fusion, that of its first arm."""
    return ranking.first.field if isinstance(ranking, Fusion) else ranking.field


def scores_of(run: Run, rows: Rows, ranking: Ranking) -> Numbers:
    """Return the value of a ranking function for every row."""
    nodes = rows.values(field_of(ranking).variable)
    values = np.zeros(rows.count, np.float64)
    valid = np.ones(rows.count, np.bool_)
    for queries, places in queries_of(run, rows, ranking):
        found, is_there = run.search.scores(run, ranking, queries, nodes[places])
        values[places] = found
        if is_there is not None:
            valid[places] = is_there
    return Numbers(values, None if valid.all() else valid)


def queries_of(run: Run, rows: Rows, ranking: Ranking) -> list[tuple[tuple[Any, ...], Any]]:
    """Return what is asked, and for which rows: once for all of them, unless the query itself differs."""
    asked = (ranking.first.query, ranking.second.query, ranking.k) if isinstance(ranking, Fusion) else (ranking.query,)
    if all(map(is_constant, asked)):
        return [(tuple(values_of(run, rows, each)[0] for each in asked), np.arange(rows.count))]
    found: dict[Any, tuple[tuple[Any, ...], list[int]]] = {}
    for place, queries in enumerate(zip(*(values_of(run, rows, each) for each in asked), strict=True)):
        found.setdefault(repr(queries), (queries, []))[1].append(place)
    return [*found.values()]
