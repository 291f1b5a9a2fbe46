"""Literals of every type that a filter can hold mean that value to Lance, and what has no spelling is an error."""

from datetime import UTC, date, datetime
from decimal import Decimal

import lance
import pyarrow as pa
import pytest

from omnigraph.storage.filters import in_range, in_values, quote_value

VALUES = [
    pa.array(["it's", "b"], pa.string()),
    pa.array([-(2**63), 7], pa.int64()),
    pa.array([0.1, 2.5], pa.float64()),
    pa.array([False, True], pa.bool_()),
    pa.array([date(1969, 12, 31), date(2031, 7, 15)], pa.date32()),
    pa.array([datetime(1969, 1, 1, tzinfo=UTC), datetime(2031, 7, 15, tzinfo=UTC)], pa.timestamp("ms", "UTC")),
    pa.array([Decimal("-1.50"), Decimal("2.25")], pa.decimal128(10, 2)),
]


@pytest.mark.parametrize("values", VALUES, ids=lambda values: str(values.type))
def test_lance_finds_exactly_the_value(values: pa.Array, tmp_path) -> None:
    table = lance.write_dataset(pa.table({"v": values}), str(tmp_path / "t.lance"))
    for place in range(len(values)):
        found = table.to_table(filter=in_values("v", values.slice(place, 1)))["v"]
        assert found.to_pylist() == [values[place].as_py()]
    if not pa.types.is_boolean(values.type):
        above = table.to_table(filter=in_range("v", values.sort().slice(1, 1), None))["v"]
        assert above.to_pylist() == [values.sort()[1].as_py()]


def test_what_has_no_spelling_is_an_error() -> None:
    with pytest.raises(ValueError, match="null has no literal"):
        quote_value(None)
    with pytest.raises(AssertionError):
        quote_value(b"bytes")  # type: ignore[arg-type]
