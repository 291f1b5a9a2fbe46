"""The order of rows: the listed keys, then ids, so that no two rows are equal; with a limit, only what it lets through.

A key is an array that ascends. Null is below every value, so it comes first where a key ascends and last where it
descends; ties break the same way under both.
"""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from omnigraph.catalog.model import Scalar
from omnigraph.query.access import Truths
from omnigraph.query.plan.clauses import is_key
from omnigraph.query.plan.steps import Plan
from omnigraph.query.run.arrays import distinct_sorted, indices_of, numbers_of, smallest
from omnigraph.query.run.bindings import Run, wanted_of
from omnigraph.query.run.columns import column_of
from omnigraph.query.run.ranking import field_of, queries_of
from omnigraph.query.run.rows import Rows
from omnigraph.query.typed import (
    ID,
    Aggregate,
    CheckedRead,
    Fusion,
    OrderKey,
    PropertyRead,
    TextScore,
    VectorDistance,
)

_NARROWED_MIN = 1_000
"""Fewer rows are sorted as they are."""


class SortKey(NamedTuple):
    """Values that ascend, and which of them are there; None means all."""

    values: NDArray[Any]
    valid: Truths | None
    nulls_first: bool

    def at(self, places: NDArray[Any]) -> "SortKey":
        """Return the values at some places."""
        return SortKey(self.values[places], None if self.valid is None else self.valid[places], self.nulls_first)


def ordered_rows(run: Run, rows: Rows, plan: Plan, limit: int | None) -> Rows:
    """Put rows in order, and keep the first of them."""
    keys: list[SortKey] = []
    order = plan.read.order
    # What cannot be among the first by the first key needs no others; only a ranking may still leave rows out.
    narrows = limit is not None and not any(_is_ranking(key) for key in order[1:])
    for key in order:
        if _is_ranking(key):
            rows, keys = _ranked(run, rows, keys, key, limit)
        else:
            keys.append(_key_of_rows(run, rows, key))
        if narrows and limit is not None and _is_worth_narrowing(limit, rows.count):
            places = _narrowed(keys[0], limit)
            rows, keys = rows.at(places), [each.at(places) for each in keys]
        narrows = False
    return rows.at(_first(keys, _ties(run, rows, plan), rows.count, limit))


def first_by(run: Run, key: OrderKey, rows: Rows, count: int) -> NDArray[np.intp]:
    """Return the places of the rows that come first by one key, so many, and of all that equal the last of them."""
    return np.sort(_narrowed(_key_of_rows(run, rows, key), count))


def ordered_groups(columns: list[pa.Array], read: CheckedRead, limit: int | None) -> list[pa.Array]:
    """Put groups in order by columns of the result, and keep the first of them; group keys break ties."""
    keys: list[SortKey] = []
    for key in read.order:
        assert key.column is not None
        keys.append(_sort_key(columns[key.column], descending=key.descending))
    ties = [
        _sort_key(values, descending=False)
        for values, column in zip(columns, read.columns, strict=True)
        if not isinstance(column.expression, Aggregate)
    ]
    places = indices_of(_first([*keys, *ties], [], len(columns[0]), limit))
    return [values.take(places) for values in columns]


def _ties(run: Run, rows: Rows, plan: Plan) -> list[Any]:
    """Return what computes the ranks of ids, variable by variable; one that is the same in all rows breaks no tie."""
    pattern = plan.read.pattern
    found = []
    for name in plan.named:
        column = rows.columns[name]
        if not isinstance(column, int):
            entity = pattern.nodes.get(name) or pattern.edges[name]
            found.append((run.entities(entity), column))
    return found


def _first(keys: list[SortKey], ties: list[Any], count: int, limit: int | None) -> NDArray[np.intp]:
    """Return the places of the first rows, in order."""
    places: NDArray[Any] = np.arange(count)
    if limit is not None and keys and _is_worth_narrowing(limit, count):
        places = _narrowed(keys[0], limit)
    arrays: list[NDArray[Any]] = []
    for key in keys:
        if key.valid is not None:
            is_there = key.valid[places]
            arrays.append(is_there if key.nulls_first else ~is_there)
            arrays.append(np.where(is_there, key.values[places], key.values.dtype.type(0)))
        else:
            arrays.append(key.values[places])
    arrays += [entities.id_ranks(ordinals[places]) for entities, ordinals in ties]
    if arrays:
        order: NDArray[np.intp] = np.lexsort(arrays[::-1])
        places = places[order]
    return places if limit is None else places[:limit]


def _is_ranking(key: OrderKey) -> bool:
    return isinstance(key.expression, TextScore | VectorDistance | Fusion)


def _is_worth_narrowing(limit: int, count: int) -> bool:
    return limit < count and count >= _NARROWED_MIN


def _narrowed(key: SortKey, limit: int) -> NDArray[np.intp]:
    """Return all places that can be among the first by one key, ties included."""
    if limit == 0:
        return np.zeros(0, np.intp)
    values, valid = key.values, key.valid
    if valid is None:
        return smallest(values, limit)
    there, missing = np.flatnonzero(valid), np.flatnonzero(~valid)
    if key.nulls_first:
        if len(missing) >= limit:
            return missing
        wanted = limit - len(missing)
    else:
        wanted = limit
    if wanted < len(there):
        there = there[smallest(values[there], wanted)]
        if not key.nulls_first:
            return there
    return np.concatenate((missing, there))


def _key_of_rows(run: Run, rows: Rows, key: OrderKey) -> SortKey:
    expression = key.expression
    if isinstance(expression, PropertyRead):
        entities = run.entities(expression.entity)
        ordinals: Any = rows.columns[expression.variable]
        if isinstance(ordinals, int):
            return SortKey(np.zeros(rows.count, np.int8), None, nulls_first=True)
        if expression.property == ID:
            return _turned(entities.id_ranks(ordinals), None, descending=key.descending)
        if expression.type.scalar is Scalar.STRING and is_key(expression):
            # The key of a node is its id, and ids have been put in order once for all.
            return _turned(entities.id_ranks(ordinals), None, descending=key.descending)
        column = entities.column(expression.property)
        ordinals = wanted_of(entities, ordinals)
        if expression.type.scalar is Scalar.STRING:
            coded = column.codes(ordinals)
            if coded is not None:
                valid = coded.codes >= 0
                return _turned(coded.codes, None if valid.all() else valid, descending=key.descending)
        else:
            values, valid_or_none = column.numbers(ordinals)
            return _turned(values, valid_or_none, descending=key.descending)
    return _sort_key(column_of(run, rows, expression), descending=key.descending)


def _sort_key(values: pa.Array, *, descending: bool) -> SortKey:
    kind = values.type
    if pa.types.is_string(kind):
        ranks = numbers_of(pc.rank(values, tiebreaker="dense").cast(pa.int64())).values
        valid = None if not values.null_count else np.asarray(numbers_of(values.is_valid()).values, np.bool_)
        return _turned(ranks, valid, descending=descending)
    if pa.types.is_struct(kind):
        return _sort_key(values.field("id"), descending=descending)
    if pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind):
        listed = values.to_pylist()
        order = {value: place for place, value in enumerate(sorted({tuple(v) for v in listed if v is not None}))}
        ranks = np.array([-1 if value is None else order[tuple(value)] for value in listed], np.int64)
        return _turned(ranks, None, descending=descending)
    found, valid = numbers_of(values)
    return _turned(found, valid, descending=descending)


def _turned(values: NDArray[Any], valid: Truths | None, *, descending: bool) -> SortKey:
    if descending:
        values = -values if values.dtype.kind == "f" else ~values
    return SortKey(values, valid, nulls_first=not descending)


def _ranked(
    run: Run, rows: Rows, before: list[SortKey], key: OrderKey, limit: int | None
) -> tuple[Rows, list[SortKey]]:
    """Rank the nodes of one variable, leave out rows of nodes without a place, and add the keys of the others."""
    ranking = key.expression
    assert isinstance(ranking, TextScore | VectorDistance | Fusion)
    nodes = rows.values(field_of(ranking).variable)
    is_ranked = np.zeros(rows.count, np.bool_)
    keys: list[NDArray[Any]] = []
    for queries, places in queries_of(run, rows, ranking):
        distinct = distinct_sorted(nodes[places])
        found = run.search.ranked(run, ranking, queries, distinct, descending=key.descending, limit=limit)
        of_node = np.searchsorted(distinct, nodes[places])
        is_ranked[places] = True if found.is_ranked is None else found.is_ranked[of_node]
        while len(keys) < len(found.keys):
            keys.append(np.zeros(rows.count, found.keys[len(keys)].dtype))
        for values, target in zip(found.keys, keys, strict=True):
            target[places] = values[of_node]
    kept = np.flatnonzero(is_ranked)
    return rows.at(kept), [
        *(each.at(kept) for each in before),
        *(SortKey(values[kept], None, nulls_first=True) for values in keys),
    ]
