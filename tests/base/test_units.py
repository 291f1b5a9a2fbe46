"""Reading durations and sizes."""

from datetime import timedelta

import pytest

from omnigraph.base.units import parse_bytes, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("0s", 0), ("90s", 90), ("15m", 900), ("36h", 129_600), ("7d", 604_800), (" 2w ", 1_209_600)],
)
def test_a_duration_has_a_number_and_a_unit(text, seconds):
    assert parse_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["7", "0", "90", " 7 "])
def test_a_number_alone_could_be_anything_and_is_refused(text):
    with pytest.raises(ValueError, match=r"has no unit: .* one of s, m, h, d, w, such as 7d"):
        parse_duration(text)


@pytest.mark.parametrize("text", ["", "d", "-1d", "1.5h", "1h30m", "7D", "3y", "7 d", "٧d", "9" * 5000, "9" * 20 + "w"])
def test_anything_else_is_no_duration(text):
    with pytest.raises(ValueError, match="s, m, h, d, w"):
        parse_duration(text)


def test_a_duration_that_never_ends_is_cut_to_the_longest_there_is():
    assert parse_duration(f"{2**63 - 1}s") > timedelta(days=900_000_000)


@pytest.mark.parametrize("text", ["", "1.5KiB", "2 KB", "-1", "9" * 5000])
def test_a_size_names_its_units(text):
    with pytest.raises(ValueError, match="KiB, MiB, GiB or TiB"):
        parse_bytes(text)
