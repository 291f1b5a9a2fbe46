"""Vectors without a network: the same text gives the same vector everywhere, whatever the model is called.

They look real and mean nothing; they serve tests and trying things out.
"""

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.providers.vectors import NORM_MIN, norm_of, normalised

_MASK = 2**64 - 1
_FNV_OFFSET = 14695981039346656037
_FNV_PRIME = 1099511628211


def mock_vector(text: str, dimension: int) -> pa.Array:
    """Return the vector of a text: numbers of a xorshift generator that the text's FNV-1a hash seeds."""
    state = _fnv1a(text.encode())
    draws: list[float] = []
    for _ in range(dimension):
        state ^= state << 13 & _MASK
        state ^= state >> 7
        state ^= state << 17 & _MASK
        # The largest state is 2^64 once it is a double, and so is the divisor.
        draws.append(float(state) / 2.0**64)
    shares = pa.array(draws, pa.float64()).cast(pa.float32(), safe=False)
    components = pc.subtract(pc.multiply(shares, pa.scalar(2, pa.float32())), pa.scalar(1, pa.float32()))
    return normalised(components) if norm_of(components) > NORM_MIN else components


def _fnv1a(content: bytes) -> int:
    state = _FNV_OFFSET
    for byte in content:
        state = (state ^ byte) * _FNV_PRIME & _MASK
    return state
