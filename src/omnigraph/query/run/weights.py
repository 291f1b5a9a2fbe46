"""How often rows count, multiplied and added up exactly: what no I64 holds is an error, never another number."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from omnigraph.errors import QueryExecution

Weights = NDArray[np.int64]

_EXACT_MAX = float(1 << 53)
"""Floats below it tell all whole numbers apart."""
_I64_MAX = float(1 << 63)


def multiplied(left: Weights, right: Weights) -> Weights:
    """Multiply pair by pair."""
    if int(left.max(initial=0)) * int(right.max(initial=0)) >= _I64_MAX:
        _insist_on_fit(left.astype(np.float64) * right)
    return left * right


def total(weights: Weights) -> int:
    """Add up all."""
    _insist_on_fit(weights.sum(dtype=np.float64))
    return int(weights.sum())


def added_by(places: NDArray[Any], weights: Weights, count: int) -> Weights:
    """Add up the weights at each of `count` places."""
    near = np.bincount(places, weights=weights, minlength=count)
    if near.max(initial=0) < _EXACT_MAX:
        return near.astype(np.int64)
    _insist_on_fit(near)
    sums = np.zeros(len(near), np.int64)
    np.add.at(sums, places, weights)
    return sums


def added_within(offsets: NDArray[np.int64], weights: Weights) -> Weights:
    """Add up the weights from each offset to the next."""
    sums = np.zeros(len(weights) + 1, np.int64)
    np.cumsum(weights, out=sums[1:])
    if weights.sum(dtype=np.float64) >= _I64_MAX:
        _insist_on_fit(np.bincount(np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)), weights=weights))
    # Where the sums have gone round, their differences are right again.
    return np.diff(sums[offsets])


def _insist_on_fit(sums: Any) -> None:
    if np.max(sums, initial=0) >= _I64_MAX:
        raise QueryExecution("query: a count is larger than an I64 can be.")
