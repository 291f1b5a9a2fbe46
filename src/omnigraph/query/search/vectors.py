"""How near vectors are to one that is asked for: cosine distance, computed in full for every candidate."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from omnigraph.errors import QueryExecution
from omnigraph.query.access import NodeAccess, Numbers, Ordinals
from omnigraph.query.image.directions import cosine_error
from omnigraph.query.run.arrays import numbers_of, smallest, valid_of
from omnigraph.query.search.reading import columns_to_find, nodes_found, searched_column
from omnigraph.storage.searching import IndexedTable

_AT_ONCE = 1_024
_INDEX_MIN = 1 << 24
"""So many numbers of vectors are compared one by one sooner than an index is worth its mistakes."""
_OVERFETCH = 4
_FEW_SHARE = 8
"""One in so many vectors is compared in full sooner than all of them are in single precision."""


class Near(NamedTuple):
    """Nodes, ascending, and how far they are; a distance that is not valid is none."""

    nodes: Ordinals
    distances: Numbers


class VectorField:
    """A vector property."""

    def __init__(self, name: str, nodes: NodeAccess, indexed: IndexedTable) -> None:
        self._name = name
        self._nodes = nodes
        self._indexed = indexed

    def distances(self, query: Sequence[float], nodes: Ordinals) -> Numbers:
        """Return the distance of each node; none for a vector that is missing or has no direction."""
        wanted = _direction(query)
        is_whole = len(nodes) * _FEW_SHARE > self._nodes.count
        column = searched_column(self._nodes, self._name, is_whole=is_whole)
        if is_whole:
            # All in the order in which they lie: what is not in memory is read once, and some at a time.
            values, valid = np.zeros(self._nodes.size, np.float64), np.zeros(self._nodes.size, np.bool_)
            for ordinals, vectors in column.pieces():
                for start in range(0, len(ordinals), _AT_ONCE):
                    here = ordinals[start : start + _AT_ONCE]
                    values[here], valid[here] = _measured(vectors.slice(start, _AT_ONCE), wanted)
            return Numbers(values[nodes], valid[nodes])
        starts = range(0, len(nodes), _AT_ONCE)
        return _joined([_measured(column.take(nodes[start : start + _AT_ONCE]), wanted) for start in starts])

    def near(self, query: Sequence[float], count: int, nodes: Ordinals) -> Near | None:
        """Return those of some nodes, ascending, among which the nearest are; None where all are to be compared."""
        wanted = _direction(query)
        if len(nodes) * _FEW_SHARE < self._nodes.count or len(nodes) <= max(_OVERFETCH * count, 64):
            return None
        by_index = len(nodes) == self._nodes.count and self._indexed.has_vectors(self._name)
        if by_index and len(nodes) * len(wanted) >= _INDEX_MIN:
            return self._near_by_index(query, wanted, count)
        cosines = searched_column(self._nodes, self._name, is_whole=True).cosines(wanted)
        if cosines is None:
            return self._near_by_index(query, wanted, count) if by_index else None
        distances = -(cosines if len(nodes) == len(cosines) else cosines[nodes])
        # What is nearer in truth can be as much behind as both may be wrong.
        last = distances[smallest(distances, count)].max() + 2 * cosine_error(len(wanted))
        may_be = nodes[distances <= last] if np.isfinite(last) else nodes[np.isfinite(distances)]
        return Near(may_be, self.distances(query, may_be))

    def _near_by_index(self, query: Sequence[float], wanted: NDArray[np.float64], count: int) -> Near | None:
        columns = columns_to_find(self._nodes, self._name)
        rows = self._indexed.nearest(self._name, query, columns, limit=max(_OVERFETCH * count, 64))
        if rows.num_rows < count:
            return None
        found, is_there = nodes_found(self._nodes, rows)
        values, valid = _measured(pa.concat_arrays(rows[self._name].chunks), wanted)
        order = np.flatnonzero(is_there)[np.argsort(found[is_there])]
        assert valid is not None
        return Near(found[order], Numbers(values[order], valid[order]))


def _direction(query: Sequence[float]) -> NDArray[np.float64]:
    wanted = np.asarray(query, np.float64)
    length = float(np.sqrt(np.einsum("i,i->", wanted, wanted)))
    if length == 0:
        raise QueryExecution("query: `nearest` was asked for a vector of zeros, which has no direction to be near to.")
    return wanted / length


def _measured(column: pa.Array, wanted: NDArray[np.float64]) -> Numbers:
    vectors, is_there = _matrix(column, len(wanted))
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    usable = is_there & (lengths > 0)
    # Row by row, so that a distance does not depend on which vectors stand beside it.
    products = np.einsum("ij,j->i", vectors, wanted)
    return Numbers(1 - products / np.where(usable, lengths, 1), usable)


def _joined(parts: list[Numbers]) -> Numbers:
    values = np.concatenate([np.zeros(0, np.float64), *(values for values, _ in parts)])
    return Numbers(values, np.concatenate([np.zeros(0, np.bool_), *(valid for _, valid in parts if valid is not None)]))


def _matrix(column: pa.Array, dimension: int) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return vectors as rows, and which are there; what stands in the place of a null is zeros."""
    valid = valid_of(column)
    start, end = column.offset * dimension, (column.offset + len(column)) * dimension
    values = np.asarray(numbers_of(column.values.slice(start, end - start)).values, np.float64)
    vectors = values.reshape(len(column), dimension)
    if valid is None:
        return vectors, np.ones(len(column), np.bool_)
    return np.where(valid[:, None], vectors, 0.0), valid
