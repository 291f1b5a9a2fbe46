"""Comparisons of numbers by their exact values: neither a wide integer nor a float is rounded to meet the other."""

import math
import operator
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from omnigraph.catalog.values import ValueRefusedError, nearest_float32
from omnigraph.errors import QueryExecution
from omnigraph.language.query.syntax import Comparison
from omnigraph.query.access import Truths

COMPARE: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
MIRRORED: Final[dict[str, Comparison]] = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def rounded_to_single(value: float) -> float:
    """Round what is compared with single floats to one of them; what is too large for them is above or below all."""
    try:
        return nearest_float32(float(value))
    except ValueRefusedError:
        return math.inf if value > 0 else -math.inf


def insist_on_finite(are_finite: bool) -> None:
    """Raise unless all sums of a query are finite."""
    if not are_finite:
        raise QueryExecution("query: a sum is larger than a float can be.")


def compare_with_number(values: NDArray[Any], comparison: str, number: float) -> Truths:
    """Compare numbers with one; a whole number may be larger than any of them could be."""
    if values.dtype.kind == "f":
        return _floats_with(values, comparison, number)
    if isinstance(number, float) and math.isfinite(number):
        whole = math.floor(number)
        if whole != number:
            # Between two whole numbers: nothing equals it, and what is above the lower one is above it.
            comparison = {"<": "<=", ">=": ">"}.get(comparison, comparison)
            if comparison in ("=", "!="):
                return np.full(len(values), comparison == "!=", np.bool_)
        number = whole
    bounds = np.iinfo(values.dtype)
    if bounds.min <= number <= bounds.max:
        return np.asarray(COMPARE[comparison](values, values.dtype.type(number)), np.bool_)
    # All values lie on one side of it.
    return np.full(len(values), bool(COMPARE[comparison](0, 1 if number > 0 else -1)), np.bool_)


def _floats_with(values: NDArray[Any], comparison: str, number: float) -> Truths:
    try:
        near = float(number)
    except OverflowError:
        return np.full(len(values), bool(COMPARE[comparison](0, 1 if number > 0 else -1)), np.bool_)
    wide = values.astype(np.float64, copy=False)
    if near == number:
        return np.asarray(COMPARE[comparison](wide, near), np.bool_)
    # An integer between two floats: equal to none.
    if comparison in ("=", "!="):
        return np.full(len(values), comparison == "!=", np.bool_)
    is_below = near < number
    if comparison in ("<", "<="):
        return np.asarray(wide <= near if is_below else wide < near, np.bool_)
    return np.asarray(wide > near if is_below else wide >= near, np.bool_)


def compare_numbers(left: NDArray[Any], comparison: str, right: NDArray[Any]) -> Truths:
    """Compare numbers pair by pair."""
    if left.dtype.kind == "f" and right.dtype.kind in "iu":
        return compare_numbers(right, MIRRORED[comparison], left)
    if left.dtype.kind in "iu" and right.dtype.kind == "f":
        return _whole_with_floats(left, comparison, right.astype(np.float64, copy=False))
    return np.asarray(COMPARE[comparison](left, right), np.bool_)


def _whole_with_floats(whole: NDArray[Any], comparison: str, floats: NDArray[np.float64]) -> Truths:
    bounds = np.iinfo(whole.dtype)
    below = np.floor(floats)
    # The float of the largest integer may be one above it, which an integer cannot be.
    is_above = below >= float(bounds.max) + (1 if bounds.bits < 64 else 0)
    is_under = below < float(bounds.min)
    fits = ~(is_above | is_under)
    nearest = np.where(fits, below, 0).astype(whole.dtype)
    sign = np.where(whole > nearest, 1, np.where(whole < nearest, -1, np.where(floats > below, -1, 0)))
    sign = np.where(is_above, -1, np.where(is_under, 1, sign))
    return np.asarray(COMPARE[comparison](sign, 0), np.bool_)
