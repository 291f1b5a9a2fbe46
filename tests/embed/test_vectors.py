"""Mock vectors bit for bit, and what is refused as a vector."""

import math

import pyarrow as pa
import pytest

from omnigraph.providers.mock import mock_vector
from omnigraph.providers.vectors import BadVector, normalised, read_components


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("alpha", ["-0.5420488", "-0.47179943", "0.16090508", "0.67653376"]),
        ("beta", ["0.6659633", "-0.5622195", "-0.41636753", "0.25892115"]),
        ("gamma", ["0.50424933", "0.2527738", "0.44896162", "-0.6930163"]),
        ("", ["-0.43294", "-0.7642615", "-0.32645237", "0.34913632"]),
    ],
)
def test_a_mock_vector_is_the_documented_one(text, expected):
    assert mock_vector(text, 4).cast(pa.utf8()).to_pylist() == expected


@pytest.mark.parametrize("dimension", [1, 3, 1536])
def test_a_mock_vector_has_length_one_at_any_width(dimension):
    vector = mock_vector("any text", dimension).to_pylist()

    assert len(vector) == dimension
    assert math.isclose(math.hypot(*vector), 1, rel_tol=1e-6)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([1.0, 2.0, 3.0], "expected a vector of 2 numbers, got 3"),
        ([1.0, math.nan], "component 1 of the vector is not finite"),
        ([1e300, 0.0], "component 0 of the vector is not finite"),
        ([1.0, None], "component 1 of the vector is not a number"),
        ([True, 1.0], "component 0 of the vector is not a number"),
        ("[1,2]", "no array"),
    ],
)
def test_what_is_no_vector_is_refused_with_the_place(values, reason):
    with pytest.raises(BadVector, match=reason):
        read_components(values, dimension=2)


def test_a_vector_without_direction_is_refused():
    with pytest.raises(BadVector, match="zero norm"):
        normalised(pa.array([1e-8, 0.0], pa.float32()))
    with pytest.raises(BadVector, match="too long"):
        normalised(pa.array([3e38, 3e38], pa.float32()))


def test_the_norm_is_rounded_before_the_division():
    assert normalised(pa.array([3, 4], pa.float32())) == pa.array([0.6, 0.8], pa.float32())
