"""Rows between two steps: a column of ordinals per variable, and how often each row counts.

A variable that has one value for all rows is a plain int, however many rows there are: a query that starts at a key
then does with slices and dictionary look-ups what would otherwise be arrays of one element.
"""

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from omnigraph.query.run.weights import multiplied, total

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from omnigraph.query.access import Ordinals, Truths

Values: TypeAlias = "int | NDArray[Any]"

ORIGIN = "#origin"
"""The column that says from which row of the steps around them the rows of inner steps came."""


class Rows:
    """Some rows; nothing changes one that somebody else may hold."""

    __slots__ = ("columns", "count", "is_whole", "weights")

    def __init__(
        self,
        count: int,
        columns: "dict[str, Values]",
        weights: "NDArray[np.int64] | None" = None,
        *,
        is_whole: bool = False,
    ) -> None:
        self.is_whole = is_whole
        """Whether the one variable has all ordinals, those that are not in use included, in their order."""
        self.count = count
        self.columns = columns
        self.weights = weights
        """How many rows each stands for; None means one."""

    def values(self, variable: str) -> "Ordinals":
        """Return the ordinals of a variable, one per row."""
        column = self.columns[variable]
        if isinstance(column, int):
            return np.full(self.count, column, np.int32)
        return column

    def keep(self, mask: "Truths") -> "Rows":
        """Return the rows that a mask lets through."""
        return self.at(mask.nonzero()[0])

    def at(self, places: "NDArray[np.intp]") -> "Rows":
        """Return the rows at these places, in this order."""
        columns = {name: column if isinstance(column, int) else column[places] for name, column in self.columns.items()}
        return Rows(len(places), columns, None if self.weights is None else self.weights[places])

    def between(self, start: int, end: int) -> "Rows":
        """Return the rows from one place to another, without copying them."""
        columns = {
            name: column if isinstance(column, int) else column[start:end] for name, column in self.columns.items()
        }
        return Rows(end - start, columns, None if self.weights is None else self.weights[start:end])

    def with_columns(self, **added: Values) -> "Rows":
        """Return the same rows with further columns."""
        return Rows(self.count, {**self.columns, **added}, self.weights)

    def nothing(self) -> "Rows":
        """Return no rows, with the same variables."""
        return self.at(np.zeros(0, np.intp))

    def weighted(self, weights: "NDArray[np.int64]", *, keeps_nothing: bool = False) -> "Rows":
        """Return the rows with their weights multiplied; those that stand for nothing are gone, or may be kept."""
        product = weights if self.weights is None else multiplied(self.weights, weights)
        weighted = Rows(self.count, self.columns, product)
        is_there = product > 0
        count = np.count_nonzero(is_there)
        if count == self.count or (keeps_nothing and 2 * count > self.count):
            return weighted
        return weighted.keep(is_there)

    def total(self) -> int:
        """Return how many rows these stand for."""
        return self.count if self.weights is None else total(self.weights)
