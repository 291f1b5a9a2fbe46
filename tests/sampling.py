"""What `make test` leaves to `make test-all`: most cases of the long matrices, by how long they were measured to take.

Every test keeps its first case of every so many, in the order of collection; 0 keeps none. Both commands together are
every case once. Tests that say nothing here run whole in `make test`, except that only some of those on S3 do.
"""

from collections import Counter

import pytest

KEEP_EVERY = {
    # Spark in processes of its own: a start of Java each.
    "tests/contract/test_spark_places.py": 0,
    "tests/contract/test_bulk_failures.py": 0,
    "tests/contract/test_optimize_on_spark.py": 5,
    "tests/contract/test_embed.py": 3,
    "tests/contract/test_optimize_beside_writers.py": 4,
    "tests/merge/test_bulk.py": 4,
    "tests/merge/test_rules.py": 3,
    # A killed process or more per case.
    "tests/crash/": 12,
    "tests/storage/test_migrations_crash.py": 12,
    "tests/merge/test_pairs.py": 6,
    "tests/docs/test_examples.py": 6,
    "tests/soak/": 0,
}
KEEP_EVERY_ON_S3 = 4


def leave_most_to_test_all(items: list[pytest.Item]) -> None:
    """Mark what `make test` leaves out as `exhaustive`."""
    seen: Counter[str] = Counter()
    for item in items:
        test = item.nodeid.partition("[")[0]
        every = next((every for path, every in KEEP_EVERY.items() if item.nodeid.startswith(path)), None)
        if every is None and item.get_closest_marker("s3"):
            test, every = f"{item.nodeid.partition('::')[0]} on S3", KEEP_EVERY_ON_S3
        if every is not None and (every == 0 or seen[test] % every):
            item.add_marker("exhaustive")
        seen[test] += 1
