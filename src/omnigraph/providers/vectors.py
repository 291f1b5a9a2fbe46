"""What counts as a vector: the right width, finite, not zero, and of length one once it is stored."""

import math
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.units import counted

NORM_MIN = 1.1920929e-7
"""The distance from 1 to the next `float32`: below it a vector has no direction worth keeping."""


class BadVector(ValueError):
    """A vector that cannot be used; `str()` says why."""


def vector_type(dimension: int) -> pa.DataType:
    """Return the Arrow type of stored vectors."""
    return pa.list_(pa.field("item", pa.float32()), dimension)


def read_components(values: object, *, dimension: int) -> pa.Array:
    """Take a decoded JSON value for a vector of `float32`; raise `BadVector` for a wrong width or a component."""
    if not isinstance(values, list):
        raise BadVector("the answer holds no array where a vector should be")
    if len(values) != dimension:
        raise BadVector(f"expected a vector of {counted(dimension, 'number')}, got {len(values)}")
    for index, value in enumerate(values):
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise BadVector(f"component {index} of the vector is not a number")
    components = pa.array([float(value) for value in values], pa.float64()).cast(pa.float32(), safe=False)
    infinite = pc.index(pc.is_finite(components), value=False).as_py()
    if infinite >= 0:
        raise BadVector(f"component {infinite} of the vector is not finite")
    return components


def normalised(components: pa.Array) -> pa.Array:
    """Scale a vector to length one; raise `BadVector` if it has zero norm."""
    norm = norm_of(components)
    if norm <= NORM_MIN:
        raise BadVector("the vector has zero norm")
    # The norm is rounded before the division, so that every implementation of this rule gets the same bits.
    rounded = pa.scalar(norm, pa.float64()).cast(pa.float32(), safe=False)
    if not math.isfinite(rounded.as_py()):
        raise BadVector("the vector is too long for float32")
    return pc.divide(components, rounded)


def norm_of(components: pa.Array) -> float:
    """Return the Euclidean norm, computed in double precision."""
    doubles = components.cast(pa.float64())
    return math.sqrt(pc.sum(pc.multiply(doubles, doubles), min_count=0).as_py())


def vector_column(vectors: Sequence[pa.Array], dimension: int) -> pa.FixedSizeListArray:
    """Put vectors of one width into one column."""
    components = pa.concat_arrays([pa.array([], pa.float32()), *vectors])
    return pa.FixedSizeListArray.from_arrays(components, type=vector_type(dimension))
