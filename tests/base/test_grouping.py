"""Neighbours are put together in their order, and both ways keep every one of them."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from omnigraph.base.grouping import fitted, grouped

SIZES = st.lists(st.integers(min_value=0, max_value=9))


def size(item: int) -> int:
    return item


def one(_: int) -> int:
    return 1


def test_a_group_ends_as_soon_as_it_has_enough() -> None:
    assert list(grouped([3, 3, 3, 9, 1], (size, 5))) == [(3, 3), (3, 9), (1,)]


def test_a_group_ends_with_whatever_it_has_enough_of_first() -> None:
    assert list(grouped([1, 1, 1, 9, 1], (size, 8), (one, 2))) == [(1, 1), (1, 9), (1,)]


def test_what_fits_together_stays_together_and_what_is_too_large_is_alone() -> None:
    assert list(fitted([3, 2, 1, 9, 1, 5], (size, 5))) == [(3, 2), (1,), (9,), (1,), (5,)]


def test_all_limits_hold_for_what_fits_together() -> None:
    assert list(fitted([1, 1, 1, 4, 4], (size, 5), (one, 2))) == [(1, 1), (1, 4), (4,)]


def test_items_without_weight_join_the_group_before_them() -> None:
    assert list(fitted([0, 0, 5, 0, 1], (size, 5))) == [(0, 0, 5, 0), (1,)]


@given(SIZES)
def test_nothing_is_lost_and_only_the_last_group_has_less_than_enough(sizes: list[int]) -> None:
    groups = list(grouped(sizes, (size, 5)))

    assert [item for group in groups for item in group] == sizes
    assert all(sum(group) >= 5 for group in groups[:-1])
    assert all(sum(group[:-1]) < 5 for group in groups)


@given(SIZES)
def test_nothing_is_lost_and_no_group_could_have_taken_the_next_item(sizes: list[int]) -> None:
    groups = list(fitted(sizes, (size, 5)))

    assert [item for group in groups for item in group] == sizes
    assert all(sum(group) <= 5 or len(group) == 1 for group in groups)
    assert all(sum(group) + after[0] > 5 for group, after in pairwise(groups))
