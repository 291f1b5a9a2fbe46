"""Which versions a policy lets go, before anything is protected."""

from datetime import timedelta

import pytest

from omnigraph.base import clock
from omnigraph.errors import InvalidTarget
from omnigraph.maintenance.cleanup.policy import CleanupPolicy
from omnigraph.storage.locks import StoreClock
from omnigraph.storage.retention import StoredVersion

DAY = 86_400.0
NOW = 1_000 * DAY
MINUTE = 60.0
VERSIONS = [StoredVersion(version=number, stored_at=NOW - (10 - number) * DAY + MINUTE) for number in range(1, 11)]
"""Version 10 was made just now, version 9 almost a day ago, and so on: the clock goes on while the test runs."""
ALL = range(1, 11)


def store_clock() -> StoreClock:
    """A store whose time is now, or a moment earlier: an observed clock is never ahead."""
    return StoreClock(store_seconds=NOW, observed_at=clock.monotonic_seconds(), resolution_seconds=0.0)


@pytest.mark.parametrize(
    ("policy", "gone"),
    [
        (CleanupPolicy(keep_versions=1), list(range(1, 10))),
        (CleanupPolicy(keep_versions=4), list(range(1, 7))),
        (CleanupPolicy(keep_versions=50), []),
        (CleanupPolicy(older_than=timedelta(days=3)), list(range(1, 7))),
        (CleanupPolicy(older_than=timedelta(days=30)), []),
        (CleanupPolicy(keep_versions=8, older_than=timedelta(days=3)), [1, 2]),
        (CleanupPolicy(keep_versions=2, older_than=timedelta(days=6)), [1, 2, 3]),
        (CleanupPolicy(older_than=timedelta.max), []),
    ],
)
def test_only_versions_outside_of_every_limit_go(policy: CleanupPolicy, gone: list[int]) -> None:
    assert policy.lets_go(VERSIONS, published=ALL, store_clock=store_clock()) == gone


def test_steps_that_nobody_published_use_up_no_place() -> None:
    policy = CleanupPolicy(keep_versions=2)

    assert policy.lets_go(VERSIONS, published=[2, 5, 9], store_clock=store_clock()) == [1, 2, 3, 4, 6, 7, 8, 10]


@pytest.mark.parametrize(
    ("policy", "gone"),
    [
        (CleanupPolicy(keep_versions=1, older_than=timedelta()), 300 - 100),
        (CleanupPolicy(keep_versions=250, older_than=timedelta(days=30)), 300 - 250),
        (CleanupPolicy(keep_versions=1, older_than=timedelta(days=280)), 300 - 281),
    ],
)
def test_internal_tables_keep_a_hundred_versions_and_a_day_whatever_the_policy_says(
    policy: CleanupPolicy, gone: int
) -> None:
    daily = [StoredVersion(version=number, stored_at=NOW - (300 - number) * DAY + MINUTE) for number in range(1, 301)]
    hourly = [StoredVersion(version=number, stored_at=NOW - (300 - number) * DAY / 24) for number in range(1, 301)]

    assert len(policy.lets_go_of_internal(daily, store_clock=store_clock())) == gone
    assert set(policy.lets_go_of_internal(hourly, store_clock=store_clock())) <= set(range(1, 277))


@pytest.mark.parametrize("wrong", [{}, {"keep_versions": 0}, {"keep_versions": -3}])
def test_a_policy_that_says_nothing_or_keeps_nothing_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(InvalidTarget):
        CleanupPolicy(**wrong)


def test_dropped_tables_wait_a_week_unless_an_age_is_given() -> None:
    now = store_clock()

    assert CleanupPolicy(keep_versions=1).drops_tables_before(now) == pytest.approx(NOW - 7 * DAY, abs=60)
    assert CleanupPolicy(older_than=timedelta(days=1)).drops_tables_before(now) == pytest.approx(NOW - DAY, abs=60)
