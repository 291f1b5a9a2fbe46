"""Which versions a policy lets go, before anything is protected."""

from datetime import timedelta

import pytest

from omnigraph.errors import InvalidTarget
from omnigraph.maintenance.cleanup.policy import CleanupPolicy
from omnigraph.storage.retention import StoredVersion

DAY_US = 86_400 * 1_000_000
NOW_US = 1_000 * DAY_US
VERSIONS = [StoredVersion(version=number, created_at_us=NOW_US - (10 - number) * DAY_US) for number in range(1, 11)]
"""Version 10 was made just now, version 9 a day ago, and so on."""


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
    assert policy.lets_go(VERSIONS, now_us=NOW_US) == gone


def test_internal_tables_keep_a_hundred_versions_and_a_day_whatever_the_policy_says() -> None:
    eager = CleanupPolicy(keep_versions=1, older_than=timedelta()).for_internal_tables()
    patient = CleanupPolicy(keep_versions=500, older_than=timedelta(days=30)).for_internal_tables()

    assert eager == CleanupPolicy(keep_versions=100, older_than=timedelta(hours=24))
    assert patient == CleanupPolicy(keep_versions=500, older_than=timedelta(days=30))


@pytest.mark.parametrize("wrong", [{}, {"keep_versions": 0}, {"keep_versions": -3}])
def test_a_policy_that_says_nothing_or_keeps_nothing_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(InvalidTarget):
        CleanupPolicy(**wrong)


def test_dropped_tables_wait_a_week_unless_an_age_is_given() -> None:
    assert CleanupPolicy(keep_versions=1).drops_tables_older_than_us(NOW_US) == NOW_US - 7 * DAY_US
    assert CleanupPolicy(older_than=timedelta(days=1)).drops_tables_older_than_us(NOW_US) == NOW_US - DAY_US
