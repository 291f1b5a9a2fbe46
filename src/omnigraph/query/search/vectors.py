"""How near vectors are to one that is asked for: cosine distance, computed in full for every candidate."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from omnigraph.errors import QueryExecution
from omnigraph.query.access import MISSING, NodeAccess, Numbers, Ordinals
from omnigraph.storage.searching import IndexedTable

_AT_ONCE = 4_096
_INDEX_MIN = 20_000
"""So many vectors are compared one by one sooner than an index is worth its mistakes."""
_OVERFETCH = 4


class VectorField:
    """A vector property."""

    def __init__(self, name: str, nodes: NodeAccess, indexed: IndexedTable) -> None:
        self._name = name
        self._nodes = nodes
        self._indexed = indexed

    def distances(self, query: Sequence[float], nodes: Ordinals) -> Numbers:
        """Return the distance of each node; none for a vector that is missing or has no direction."""
        wanted = _direction(query)
        column = self._nodes.column(self._name)
        distances, valid = np.zeros(len(nodes), np.float64), np.zeros(len(nodes), np.bool_)
        for start in range(0, len(nodes), _AT_ONCE):
            some = slice(start, start + _AT_ONCE)
            vectors, is_there = _matrix(column.take(nodes[some]), len(wanted))
            lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
            usable = is_there & (lengths > 0)
            # Row by row, so that a distance does not depend on which vectors stand beside it.
            products = np.einsum("ij,j->i", vectors, wanted)
            distances[some] = 1 - products / np.where(usable, lengths, 1)
            valid[some] = usable
        return Numbers(distances, valid)

    def near(self, query: Sequence[float], count: int) -> Ordinals | None:
        """Return nodes among which the nearest of the type are, ascending; None where every vector is looked at."""
        _direction(query)
        if self._nodes.count < _INDEX_MIN or not self._indexed.has_vectors(self._name):
            return None
        rows = self._indexed.nearest(self._name, query, ["id"], limit=max(_OVERFETCH * count, 64))
        if rows.num_rows < count:
            return None
        found = self._nodes.find_many(rows["id"].to_pylist())
        return np.sort(found[found != MISSING])


def _direction(query: Sequence[float]) -> NDArray[np.float64]:
    wanted = np.asarray(query, np.float64)
    length = float(np.sqrt(np.einsum("i,i->", wanted, wanted)))
    if length == 0:
        raise QueryExecution("query: `nearest` was asked for a vector of zeros, which has no direction to be near to.")
    return wanted / length


def _matrix(column: pa.Array, dimension: int) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return vectors as rows, and which are there; what stands in the place of a null is zeros."""
    from omnigraph.query.run.arrays import numbers_of, valid_of

    valid = valid_of(column)
    start, end = column.offset * dimension, (column.offset + len(column)) * dimension
    values = np.asarray(numbers_of(column.values.slice(start, end - start)).values, np.float64)
    vectors = values.reshape(len(column), dimension)
    if valid is None:
        return vectors, np.ones(len(column), np.bool_)
    return np.where(valid[:, None], vectors, 0.0), valid
