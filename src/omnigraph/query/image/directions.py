"""Vectors as rows of a matrix, and how near each of them is to a direction: one product of the matrix and a vector.

It is computed in single precision, which tells who may be near; whoever asks computes the distances of these in full.
"""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from omnigraph.query.run.arrays import numbers_of, valid_of

_AT_ONCE = 4_096
_LENGTH_MIN, _LENGTH_MAX = 1e-15, 1e15
"""Between these, no product of single floats is lost or grows beyond them."""
_ONE_THREAD_MAX = 1 << 13
"""OpenBLAS multiplies so many numbers by a vector in the thread that asks for it, and takes others above 9,216."""

Cosines = NDArray[np.float32]


class Directions:
    """Vectors of one length each; never changed."""

    def __init__(self, values: pa.Array) -> None:
        """Take vectors by ordinal, null where there is none."""
        dimension = values.type.list_size
        start, end = values.offset * dimension, (values.offset + len(values)) * dimension
        numbers = numbers_of(values.values.slice(start, end - start)).values
        self._matrix: NDArray[np.float32] = numbers.reshape(len(values), dimension)
        lengths = np.zeros(len(values), np.float64)
        for first in range(0, len(values), _AT_ONCE):
            some = slice(first, first + _AT_ONCE)
            vectors = self._matrix[some].astype(np.float64)
            lengths[some] = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
        valid = valid_of(values)
        if valid is not None:
            lengths[~valid] = 0
        self._has_direction = lengths > 0
        usual = lengths[self._has_direction]
        self._is_usual = not len(usual) or bool(usual.min() > _LENGTH_MIN and usual.max() < _LENGTH_MAX)
        self._inverse = (1 / np.where(self._has_direction & self._is_usual, lengths, 1)).astype(np.float32)

    def cosines(self, direction: NDArray[np.float64]) -> Cosines | None:
        """Return the cosine of each vector with a direction of length 1, and less than -2 where there is none.

        None where single precision does not hold the products.
        """
        if not self._is_usual:
            return None
        with np.errstate(all="ignore"):  # what stands in the place of a null may be anything
            found = self._products(direction.astype(np.float32))
            found *= self._inverse
        found[~self._has_direction] = -np.inf
        return found

    def _products(self, direction: NDArray[np.float32]) -> Cosines:
        """Multiply by BLAS, in blocks for which it takes no threads: they wait for each other where others work."""
        count, dimension = self._matrix.shape
        at_once = max(_ONE_THREAD_MAX // dimension, 1)
        whole = count - count % at_once
        found = np.empty(count, np.float32)
        blocks = self._matrix[:whole].reshape(-1, at_once, dimension)
        np.matmul(blocks, direction, out=found[:whole].reshape(-1, at_once))
        np.matmul(self._matrix[whole:], direction, out=found[whole:])
        return found


def cosine_error(dimension: int) -> float:
    """Return by how much a cosine may be wrong at most."""
    return (dimension + 16) * 2.0**-24
