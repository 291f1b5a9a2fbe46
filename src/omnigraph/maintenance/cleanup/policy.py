"""Which versions an operator wants to keep. What must stay whatever they say is in `protections.py`."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from omnigraph.errors import InvalidTarget
from omnigraph.storage.retention import StoredVersion

KEEP_VERSIONS_DEFAULT = 10
"""What `cleanup` keeps when nobody says otherwise."""
INTERNAL_KEEP_MIN = 100
INTERNAL_AGE_MIN = timedelta(hours=24)
"""No live or paused writer may find the version of an internal table gone that it publishes on top of: its publish
could then land all the same, and leave two heads."""
DROPPED_AGE_DEFAULT = timedelta(days=7)


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanupPolicy:
    """Keep the newest versions of every table, or the young ones; with both, only what is outside both may go."""

    keep_versions: int | None = None
    older_than: timedelta | None = None

    def __post_init__(self) -> None:
        if self.keep_versions is None and self.older_than is None:
            raise InvalidTarget("A cleanup policy needs keep_versions, older_than or both.")
        if self.keep_versions is not None and self.keep_versions < 1:
            raise InvalidTarget(f"keep_versions is {self.keep_versions}; the newest version always stays, so keep 1.")

    def lets_go(self, versions: Sequence[StoredVersion], *, now_us: int) -> list[int]:
        """Return the versions outside of what is kept; `versions` are all of one table, ascending."""
        outside = versions
        if self.keep_versions is not None:
            outside = outside[: -self.keep_versions]
        if self.older_than is not None:
            outside = [stored for stored in outside if stored.created_at_us < _cutoff(self.older_than, now_us)]
        return [stored.version for stored in outside]

    def for_internal_tables(self) -> "CleanupPolicy":
        """Return this policy with the floor under which internal tables never go."""
        return CleanupPolicy(
            keep_versions=max(self.keep_versions or 0, INTERNAL_KEEP_MIN),
            older_than=max(self.older_than or timedelta(), INTERNAL_AGE_MIN),
        )

    def drops_tables_older_than_us(self, now_us: int) -> int:
        """Return the moment before which a table must have been dropped for its files to go."""
        return _cutoff(self.older_than if self.older_than is not None else DROPPED_AGE_DEFAULT, now_us)


def _cutoff(age: timedelta, now_us: int) -> int:
    # Whole days and seconds first: the longest timedelta has more microseconds than a float can count.
    return now_us - (age.days * 86_400 + age.seconds) * 1_000_000 - age.microseconds
