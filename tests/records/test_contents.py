"""Equality of values: what the one comparator of merge, diff and feed tells apart, and what it does not."""

import itertools
import math
import struct
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.records.contents import equal_ids, row_contents, row_digests

TEXTS = pa.list_(pa.string())
FLOATS = pa.list_(pa.float32())
OTHER_NAN = struct.unpack("<d", struct.pack("<Q", 0xFFF8000000000001))[0]


def contents(values: list[Any], kind: pa.DataType) -> list[bytes]:
    found: list[bytes] = row_contents(pa.table({"v": pa.array(values, kind)}), ["v"]).to_pylist()
    return found


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([None, "", "a", "a\x00", "A", "\u00e9", "e\u0301"], pa.string()),
        ([None, [], [""], ["a, b"], ["a", "b"], ["b", "a"], ["a", "b", ""], ["ab"]], TEXTS),
        ([None, [], [0.0], [0.0, 0.0], [1.0], [None], [None, 1.0], [1.0, None], [math.nan]], FLOATS),
        ([None, 0.0, 5e-324, 1.0, math.inf, -math.inf, math.nan], pa.float64()),
        ([None, 0, 1, 2**63 - 1, -(2**63)], pa.int64()),
        ([None, 0, 2**63, 2**64 - 1], pa.uint64()),
        ([None, b"", b"\x00", b"n", b"\x00\x00"], pa.large_binary()),
        ([None, True, False], pa.bool_()),
        ([None, 0, 1, -1, 2**40], pa.timestamp("ms", "UTC")),
        ([None, 0, 1, -1], pa.date32()),
        ([None, [1.0, 2.0], [2.0, 1.0], [0.0, 0.0]], pa.list_(pa.float32(), 2)),
    ],
    ids=str,
)
def test_different_values_have_different_contents(values, kind):
    found = contents(values, kind)

    assert len(set(found)) == len(values)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([0.0, -0.0], pa.float64()),
        ([math.nan, OTHER_NAN], pa.float64()),
        ([[0.0, math.nan], [-0.0, math.nan]], FLOATS),
        ([[0.0, 1.0], [-0.0, 1.0]], pa.list_(pa.float32(), 2)),
    ],
    ids=str,
)
def test_zeros_and_nans_are_one_value_each(values, kind):
    assert len(set(contents(values, kind))) == 1


def test_a_value_cannot_imitate_the_boundary_to_its_neighbour():
    rows = pa.table({"a": ["x", "xs"], "b": ["sy", "y"]})
    first = row_contents(rows, ["a", "b"]).to_pylist()
    forged = pa.table({"a": [first[0].decode("latin-1")], "b": [None]}, schema=rows.schema)

    assert first[0] != first[1]
    assert row_contents(forged, ["a", "b"])[0].as_py() not in first


def test_a_property_that_is_called_like_a_system_column_counts():
    left = pa.table({"id": ["a"], "_row_note": ["x"]})
    right = pa.table({"id": ["a"], "_row_note": ["y"]})

    assert equal_ids(left, right).to_pylist() == []


def test_equal_ids_match_by_id_and_ignore_order_and_strangers():
    left = pa.table({"id": ["a", "b", "c"], "v": [1, 2, None]})
    right = pa.table({"v": [None, 9, 1, 4], "id": ["c", "b", "a", "d"]})

    assert equal_ids(left, right).to_pylist() == ["a", "c"]


@given(
    rows=st.lists(
        st.tuples(st.none() | st.text(max_size=3), st.none() | st.lists(st.text(max_size=2), max_size=3)), max_size=8
    ),
    cut=st.integers(0, 8),
)
def test_contents_are_equal_exactly_when_values_are_and_do_not_depend_on_neighbours(rows, cut):
    table = pa.table(
        {"a": pa.array([a for a, _ in rows], pa.string()), "b": pa.array([b for _, b in rows], TEXTS)},
    )
    found = row_contents(table, ["a", "b"]).to_pylist()

    assert row_contents(table.slice(cut), ["b", "a"]).to_pylist() == found[cut:]
    for (left, right), (one, other) in zip(
        itertools.product(rows, repeat=2), itertools.product(found, repeat=2), strict=True
    ):
        assert (left == right) == (one == other)


def test_digests_follow_contents():
    rows = pa.table({"v": ["a", "b", "a"]})

    one, two, three = row_digests(rows, ["v"]).to_pylist()

    assert one == three != two
    assert len(one) == 32
