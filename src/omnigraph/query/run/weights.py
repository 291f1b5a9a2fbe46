"""How often rows count, multiplied and added up exactly: what no I64 holds is an error, never another number."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from omnigraph.errors import QueryExecution

Weights = NDArray[np.int64]

_EXACT_MAX = float(1 << 53)
"""Floats below it tell all whole numbers apart."""
_I32_MAX = (1 << 31) - 1
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


def added_within(offsets: NDArray[np.int64], places: NDArray[Any], weights: Weights) -> Weights:
    """Add up the weights at the places from each offset to the next."""
    largest = int(weights.max(initial=0))
    most = largest * len(places)
    # Small numbers are fetched and added several times as fast.
    at_places = (weights.astype(np.min_scalar_type(largest)) if largest <= _I32_MAX else weights)[places]
    sums = np.zeros(len(places) + 1, np.int32 if most <= _I32_MAX else np.int64)
    np.cumsum(at_places, out=sums[1:])
    if most >= _I64_MAX and at_places.sum(dtype=np.float64) >= _I64_MAX:
        _insist_on_fit(np.bincount(np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)), weights=at_places))
    # Where the sums have gone round, their differences are right again.
    return np.diff(sums[offsets]).astype(np.int64, copy=False)


def _insist_on_fit(sums: Any) -> None:
    if np.max(sums, initial=0) >= _I64_MAX:
        raise QueryExecution("query: a count is larger than an I64 can be.")
