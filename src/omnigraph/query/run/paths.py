"""Paths as an access reads entities: the ordinal of a path is the number of its hops, and so is its one property."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from omnigraph.query.access import Codes, Numbers, Ordinals, PropertyTest
from omnigraph.query.run.arrays import arrow_of
from omnigraph.query.typed import HOPS

if TYPE_CHECKING:
    from omnigraph.query.access import ColumnAccess, EntityAccess


class PathAccess:
    """All paths of at most so many hops that need to be told apart."""

    def __init__(self, hops_max: int) -> None:
        self._size = hops_max + 1

    @property
    def count(self) -> int:
        """One for each number of hops."""
        return self._size

    @property
    def size(self) -> int:
        """One more than the longest has hops."""
        return self._size

    def ordinals(self) -> Ordinals:
        """Return all numbers of hops."""
        return np.arange(self._size, dtype=np.int32)

    def column(self, name: str) -> "ColumnAccess":
        """Return the hops."""
        assert name == HOPS
        return HopsColumn(self._size)

    def id_ranks(self, ordinals: Ordinals | None = None) -> NDArray[np.int64]:
        """Return the hops: paths have no ids."""
        return (self.ordinals() if ordinals is None else ordinals).astype(np.int64)

    def select(self, tests: Sequence[PropertyTest]) -> Ordinals | None:
        """Leave it to the column."""
        del tests
        return None


class HopsColumn:
    """The number of hops of each path."""

    def __init__(self, size: int) -> None:
        self._size = size

    def one(self, ordinal: int) -> Any:
        """Return the hops of one path."""
        return ordinal

    def take(self, ordinals: Ordinals) -> pa.Array:
        """Return the hops of paths."""
        return arrow_of(ordinals.astype(np.int64), pa.int64())

    def numbers(self, ordinals: Ordinals | None = None) -> Numbers:
        """Return the hops of paths, or of all."""
        every = np.arange(self._size, dtype=np.int64)
        return Numbers(every if ordinals is None else ordinals.astype(np.int64), None)

    def codes(self, ordinals: Ordinals | None = None) -> Codes | None:
        """Return nothing: hops are no words."""
        del ordinals
        return None


if TYPE_CHECKING:
    _CHECKED: type[EntityAccess] = PathAccess
