"""Spelling moments, whatever a clock said."""

import pytest

from omnigraph.base.clock import iso_from_us, timestamp_from_us


@pytest.mark.parametrize(
    ("microseconds", "spelled"),
    [
        (0, "1970-01-01 00:00:00"),
        (1_790_000_000_999_999, "2026-09-21 14:13:20"),
        (-1, "1969-12-31 23:59:59"),
        (-62_135_596_800_000_000, "0001-01-01 00:00:00"),
        (253_402_300_799_000_000, "9999-12-31 23:59:59"),
        (-(2**63), "0001-01-01 00:00:00"),
        (2**63 - 1, "9999-12-31 23:59:59"),
        (10**40, "9999-12-31 23:59:59"),
    ],
)
def test_any_number_is_a_moment(microseconds: int, spelled: str) -> None:
    assert iso_from_us(microseconds) == spelled
    assert timestamp_from_us(microseconds) == f"{spelled.replace(' ', 'T')}Z"
