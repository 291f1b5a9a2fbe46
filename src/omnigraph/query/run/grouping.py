"""Rows by groups: which group a row belongs to, and what comes out of each.

A group is a number. Where keys are codes, small numbers or nodes, they are put together to one number and counted;
sorting is for the rest.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from omnigraph.base.values import dataclass
from omnigraph.catalog.model import FLOATS, Scalar
from omnigraph.query.access import Numbers, Truths
from omnigraph.query.plan.estimates import is_unique
from omnigraph.query.run.arrays import arrow_of, indices_of, numbers_of, valid_of
from omnigraph.query.run.bindings import Run, wanted_of
from omnigraph.query.run.columns import cached_type, column_of
from omnigraph.query.run.exact import insist_on_finite
from omnigraph.query.run.rows import Rows
from omnigraph.query.run.weights import added_by, total
from omnigraph.query.typed import Aggregate, CheckedRead, Expression, NodeReference, PropertyRead

_COUNTED_MAX = 1 << 22
"""How many numbers of groups are counted in an array rather than sorted."""
_SORTED_SHARE = 32
"""With more possible numbers per row than this, sorting the rows is faster than looking at all numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """Groups of rows: the number of each row's group, and a row of each group."""

    count: int
    of_row: NDArray[np.int64]
    example: NDArray[np.intp]
    sizes: NDArray[np.int64] | None = None
    """How many rows each has, where that was counted already."""


def group_rows(run: Run, rows: Rows, read: CheckedRead) -> list[pa.Array]:
    """Return the columns of a read that groups, one row per group; without keys there is exactly one."""
    keys = [column.expression for column in read.columns if not isinstance(column.expression, Aggregate)]
    groups = _groups(run, rows, keys)
    examples = rows.at(groups.example)
    found = []
    for column in read.columns:
        expression = column.expression
        if isinstance(expression, Aggregate):
            found.append(_aggregated(run, rows, groups, expression))
        else:
            found.append(column_of(run, examples, expression))
    return found


def _groups(run: Run, rows: Rows, keys: Sequence[Expression]) -> Groups:
    if not keys:
        sizes = np.array([rows.count], np.int64)
        return Groups(count=1, of_row=np.zeros(rows.count, np.int64), example=np.zeros(0, np.intp), sizes=sizes)
    number, size = _numbered(run, rows, keys[0])
    for key in keys[1:]:
        more, more_size = _numbered(run, rows, key)
        if size * more_size > _COUNTED_MAX:
            number, size = _compact(number, size)
            more, more_size = _compact(more, more_size)
        number, size = number * more_size + more, size * more_size
    if size <= len(number):
        sizes = np.bincount(number, minlength=size)
        if sizes.all():  # nothing to leave out, as it mostly is with codes
            return Groups(count=size, of_row=number, example=_examples(number, size), sizes=sizes)
    if len(number) and size > _SORTED_SHARE * len(number):
        return _sorted_groups(number)
    of_row, count = _compact(number, size)
    return Groups(count=count, of_row=of_row, example=_examples(of_row, count))


def _sorted_groups(number: NDArray[np.int64]) -> Groups:
    """Find the groups of few rows among many possible ones."""
    order = number.argsort(kind="stable")
    ordered = number.take(order)
    is_first = np.empty(len(number), np.bool_)
    is_first[0] = True
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    starts = is_first.nonzero()[0]
    sizes = np.empty(len(starts), np.int64)
    np.subtract(starts[1:], starts[:-1], out=sizes[:-1])
    sizes[-1] = len(number) - starts[-1]
    of_row = np.empty(len(number), np.int64)
    of_row[order] = is_first.cumsum() - 1
    return Groups(count=len(starts), of_row=of_row, example=order.take(starts), sizes=sizes)


def _examples(of_row: NDArray[np.int64], count: int) -> NDArray[np.intp]:
    example = np.zeros(count, np.intp)
    example[of_row] = np.arange(len(of_row))
    return example


def _compact(number: NDArray[np.int64], size: int) -> tuple[NDArray[np.int64], int]:
    """Give what occurs the numbers from 0 without gaps."""
    if not len(number):
        return number, 0
    if size <= min(max(_COUNTED_MAX, 4 * len(number)), _SORTED_SHARE * len(number)):
        occurs = np.zeros(size, np.bool_)
        occurs[number] = True
        place = np.cumsum(occurs) - 1
        return place[number], int(place[-1]) + 1
    order = np.argsort(number, kind="stable")
    ordered = number[order]
    is_new = np.concatenate((np.zeros(1, np.bool_), ordered[1:] != ordered[:-1]))
    of_row = np.empty(len(number), np.int64)
    of_row[order] = np.cumsum(is_new)
    return of_row, int(of_row[order[-1]]) + 1


def _numbered(run: Run, rows: Rows, key: Expression) -> tuple[NDArray[np.int64], int]:
    """Return a number for each row that is equal where the key is, and a bound of the numbers."""
    assert isinstance(key, PropertyRead | NodeReference)
    ordinals = rows.columns[key.variable]
    if isinstance(ordinals, int):
        return np.zeros(rows.count, np.int64), 1
    entities = run.entities(key.entity)
    if isinstance(key, NodeReference) or (is_unique(key) and not key.type.nullable):
        return ordinals.astype(np.int64), max(entities.size, 1)
    if not key.type.is_list and key.type.scalar not in (Scalar.STRING, Scalar.VECTOR):
        numbers = entities.column(key.property).numbers(wanted_of(entities, ordinals))
        return _numbered_values(numbers, is_float=key.type.scalar in FLOATS)
    column = entities.column(key.property)
    if key.type.scalar is Scalar.STRING and not key.type.is_list:
        coded = column.codes(wanted_of(entities, ordinals))
        if coded is not None:
            codes, size = coded.codes.astype(np.int64), len(coded.words)
            return (codes, size) if codes.min(initial=0) >= 0 else (codes + 1, size + 1)
    # Each entity is looked at once, however many rows it is in.
    places, size = _compact(ordinals.astype(np.int64), entities.size)
    distinct = np.zeros(size, np.int32)
    distinct[places] = ordinals
    by_entity = _numbered_arrow(column.take(distinct))
    return by_entity[places], int(by_entity.max(initial=-1)) + 1


def _numbered_values(numbers: Numbers, *, is_float: bool) -> tuple[NDArray[np.int64], int]:
    values, valid = numbers
    if not len(values):
        return np.zeros(0, np.int64), 1
    if is_float:
        # Minus zero equals zero; the bits of floats are as good as any other number of a group.
        same = values.astype(np.float64) + 0.0
        found, size = _compact(same.view(np.int64), 1 << 63)
    elif values.dtype == np.bool_:
        found, size = values.astype(np.int64), 2
    else:
        there = values if valid is None else values[valid]
        low = int(there.min()) if len(there) else 0
        high = int(there.max()) if len(there) else 0
        if high - low < _COUNTED_MAX:
            shifted = (values - values.dtype.type(low)).astype(np.int64)
            found, size = shifted.clip(0, high - low), high - low + 1
        else:
            found, size = _compact(values.astype(np.int64), 1 << 63)
    if valid is None:
        return found, size
    return np.where(valid, found + 1, 0), size + 1


def _numbered_arrow(values: pa.Array) -> NDArray[np.int64]:
    if pa.types.is_string(values.type):
        encoded = values.dictionary_encode()
        places, valid = numbers_of(encoded.indices)
        return np.where(valid, places + 1, 0) if valid is not None else places.astype(np.int64)
    number_by_value: dict[Any, int] = {}
    listed = ((tuple(value) if value is not None else None) for value in values.to_pylist())
    return np.fromiter((number_by_value.setdefault(value, len(number_by_value)) for value in listed), np.int64)


def _aggregated(run: Run, rows: Rows, groups: Groups, aggregate: Aggregate) -> pa.Array:
    argument = aggregate.argument
    if aggregate.function == "count":
        valid = None if isinstance(argument, NodeReference) else _valid(run, rows, argument)
        return arrow_of(_counts(rows, groups, valid), pa.int64())
    if isinstance(argument, PropertyRead) and argument.type.scalar is not Scalar.STRING:
        entities = run.entities(argument.entity)
        wanted = wanted_of(entities, rows.values(argument.variable))
        numbers = entities.column(argument.property).numbers(wanted)
    elif argument_type(argument).scalar is Scalar.STRING:
        return _extreme_text(run, rows, groups, aggregate)
    else:
        numbers = numbers_of(column_of(run, rows, argument))
    if aggregate.function in ("min", "max"):
        return _extreme(numbers, groups, aggregate)
    return _sum_or_mean(rows, numbers, groups, is_mean=aggregate.function == "avg")


def argument_type(argument: Expression) -> Any:
    """Return the type of what is aggregated, which is no node."""
    assert not isinstance(argument, NodeReference)
    return argument.type


def _valid(run: Run, rows: Rows, argument: Expression) -> Truths | None:
    if not argument_type(argument).nullable:
        return None
    if isinstance(argument, PropertyRead) and not _is_wide(argument):
        return run.entities(argument.entity).column(argument.property).numbers(rows.values(argument.variable)).valid
    return valid_of(column_of(run, rows, argument))


def _is_wide(read: PropertyRead) -> bool:
    return read.type.is_list or read.type.scalar in (Scalar.STRING, Scalar.VECTOR)


def _counts(rows: Rows, groups: Groups, valid: Truths | None) -> NDArray[np.int64]:
    if rows.weights is None and valid is None and groups.sizes is not None:
        return groups.sizes
    of_row = groups.of_row if valid is None else groups.of_row[valid]
    if rows.weights is None:
        return np.bincount(of_row, minlength=groups.count).astype(np.int64)
    weights = rows.weights if valid is None else rows.weights[valid]
    if groups.count == 1:
        return np.array([total(weights)], np.int64)
    return added_by(of_row, weights, groups.count)


def _sum_or_mean(rows: Rows, numbers: Numbers, groups: Groups, *, is_mean: bool) -> pa.Array:
    values, valid = numbers
    counts = _counts(rows, groups, valid)
    of_row = groups.of_row if valid is None else groups.of_row[valid]
    addends = (values if valid is None else values[valid]).astype(np.float64)
    if rows.weights is not None:
        addends = addends * (rows.weights if valid is None else rows.weights[valid])
    if groups.count == 1:
        with np.errstate(over="ignore"):  # what is beyond a float is refused below
            sums: NDArray[Any] = np.array([addends.sum()])
    else:
        sums = np.bincount(of_row, weights=addends, minlength=groups.count)
    insist_on_finite(bool(np.isfinite(sums).all()))
    is_there = counts > 0
    if is_mean:
        sums = sums / np.maximum(counts, 1)
    return arrow_of(sums, pa.float64(), None if is_there.all() else is_there)


def _extreme(numbers: Numbers, groups: Groups, aggregate: Aggregate) -> pa.Array:
    values, valid = numbers
    of_row = groups.of_row if valid is None else groups.of_row[valid]
    values = values if valid is None else values[valid]
    is_min = aggregate.function == "min"
    found = np.zeros(groups.count, values.dtype)
    is_there = np.zeros(groups.count, np.bool_)
    is_there[of_row] = True
    found[of_row] = values
    (np.minimum if is_min else np.maximum).at(found, of_row, values)
    return arrow_of(found, cached_type(aggregate.type), None if is_there.all() else is_there)


def _extreme_text(run: Run, rows: Rows, groups: Groups, aggregate: Aggregate) -> pa.Array:
    texts = column_of(run, rows, aggregate.argument)
    encoded = texts.dictionary_encode()
    order = numbers_of(pc.sort_indices(encoded.dictionary).cast(pa.int64())).values
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    places, valid = numbers_of(encoded.indices)
    present = places if valid is None else places[valid]
    of_row = groups.of_row if valid is None else groups.of_row[valid]
    is_min = aggregate.function == "min"
    ranks = np.full(groups.count, len(order) if is_min else -1, np.int64)
    (np.minimum if is_min else np.maximum).at(ranks, of_row, rank[present])
    is_there = (ranks >= 0) & (ranks < len(order))
    chosen = order[np.where(is_there, ranks, 0)] if len(order) else np.zeros(groups.count, np.int64)
    words = encoded.dictionary if len(order) else pa.array([""], texts.type)
    return pc.if_else(arrow_of(is_there, pa.bool_()), words.take(indices_of(chosen)), pa.scalar(None, texts.type))
