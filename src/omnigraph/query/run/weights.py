"""How often rows count, multiplied and added up exactly: what no I64 holds is an error, never another number."""

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from omnigraph.errors import QueryExecution

Weights = NDArray[np.int64]

_EXACT_MAX = float(1 << 53)
"""Floats below it tell all whole numbers apart."""
_I32_MAX = (1 << 31) - 1
_I64_MAX = float(1 << 63)
_U64_MAX = (1 << 64) - 1
_LANES = (np.uint8, np.uint16)
_AT_ONCE = 1 << 16
"""So many places at once, and as wide as numpy takes them, fit into the processor's caches."""


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
    sum_type = np.int32 if most <= _I32_MAX else np.int64
    lane = _lane_of(largest)
    if lane is not None:
        return np.diff(_sums_before(offsets, places, weights.astype(lane), sum_type)).astype(np.int64, copy=False)
    at_places = weights.take(places)
    sums = np.zeros(len(places) + 1, sum_type)
    np.cumsum(at_places, out=sums[1:])
    if most >= _I64_MAX and at_places.sum(dtype=np.float64) >= _I64_MAX:
        _insist_on_fit(np.bincount(np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)), weights=at_places))
    # Where the sums have gone round, their differences are right again.
    return np.diff(sums.take(offsets)).astype(np.int64, copy=False)


def _lane_of(largest: int) -> type[np.unsignedinteger[Any]] | None:
    """Return a type of which a word holds several, and any of them the sum of all; None for large numbers."""
    if sys.byteorder != "little":
        return None
    return next((lane for lane in _LANES if largest * (8 // lane().itemsize) <= np.iinfo(lane).max), None)


def _sums_before(
    offsets: NDArray[np.int64],
    places: NDArray[Any],
    small: NDArray[Any],
    sum_type: type[np.signedinteger[Any]],
) -> NDArray[Any]:
    """Return the sum of all small weights before each offset.

    A sum that goes on from number to number waits for each of them. One multiplication gives every number of a word the
    sum of those before it in the word, and what goes on is only the sums of whole words.
    """
    width = small.itemsize
    per_word = 8 // width
    words = np.zeros(len(places) // per_word + 1, np.uint64)
    numbers = words.view(small.dtype)
    for start in range(0, len(places), _AT_ONCE):
        some = places[start : start + _AT_ONCE]
        numbers[start : start + len(some)] = small.take(some)
    ones = sum(1 << (8 * width * lane) for lane in range(per_word))
    of_words = (words * np.uint64(ones)) >> np.uint64(64 - 8 * width)
    words *= np.uint64((ones << (8 * width)) & _U64_MAX)
    before = np.zeros(len(words), sum_type)
    np.cumsum(of_words[:-1].astype(sum_type), out=before[1:])
    sums = before.take(offsets // per_word)
    sums += numbers.take(offsets)
    return sums


def _insist_on_fit(sums: Any) -> None:
    if np.max(sums, initial=0) >= _I64_MAX:
        raise QueryExecution("query: a count is larger than an I64 can be.")
