from datetime import UTC, date, datetime

import numpy as np
import pyarrow as pa
import pytest

from omnigraph.catalog.arrow import default_scalar
from omnigraph.catalog.compile import compile_schema


def default_of(written):
    text = f"node A {{ x: {written} }}"
    catalog = compile_schema(text, source="art.pg", identity_domain="01JQ0000000000000000000000")
    return default_scalar(catalog.nodes[0].properties[0])


@pytest.mark.parametrize(
    ("written", "arrow_type", "value"),
    [
        ("I32 @default(30.0)", pa.int32(), 30),
        ("U64 @default(18446744073709551615)", pa.uint64(), 2**64 - 1),
        ("F32 @default(0.1)", pa.float32(), float(np.float32(0.1))),
        ("F64 @default(1)", pa.float64(), 1.0),
        ("Bool @default(false)", pa.bool_(), False),
        ('String @default("")', pa.string(), ""),
        ("enum(a, b) @default(b)", pa.string(), "b"),
        ('Date @default("2024-01-01")', pa.date32(), date(2024, 1, 1)),
        ("Date? @default(19723)", pa.date32(), date(2024, 1, 1)),
        (
            'DateTime @default("2024-01-01T02:00:00.1239+02:00")',
            pa.timestamp("ms", tz="UTC"),
            datetime(2024, 1, 1, 0, 0, 0, 123_000, tzinfo=UTC),
        ),
    ],
)
def test_default_has_the_type_and_value_of_the_column(written, arrow_type, value):
    found = default_of(written)

    assert found.type == arrow_type
    assert found.as_py() == value


def test_property_without_default_has_none():
    assert default_of("I32?") is None
