"""The store's time, the only one by which leases expire and files are old.

Machines disagree about the time, by minutes when something is wrong, so nothing may depend on the local wall clock.
obstore does not pass on the date of a response; what it does report is when the store says an object was last
modified. So one small object is written and read back: its modification time was the store's present a moment ago.
From there on the local monotonic clock, which only measures durations, carries the observation forward.
"""

from omnigraph.base import clock, ids
from omnigraph.base.values import dataclass
from omnigraph.errors import StorageError
from omnigraph.storage.objects import ControlStore

_LOCKS = "__locks/"
_CLOCK_PATH = f"{_LOCKS}clock.json"
# S3 counts modification times in whole seconds, cut off: an object may be almost this much younger than it looks.
_RESOLUTION_SECONDS = 1.0
SKEW_SECONDS_MAX = 300.0
"""How far the clock of this machine may be off before somebody should know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreClock:
    """One observation of the store's clock, valid for as long as this process runs.

    An observed one is never ahead of the store: it may see an expired lease as alive for a moment longer, not the other
    way round.
    """

    store_seconds: float
    observed_at: float
    resolution_seconds: float = _RESOLUTION_SECONDS
    """By how much the store may give things an earlier time than they have."""
    skew_seconds: float | None = None
    """How far the clock of this machine was ahead of the store's, behind it if negative; None if nobody could tell."""

    @classmethod
    def observe(cls, objects: ControlStore) -> "StoreClock":
        """Read the store's clock; this writes to the store."""
        objects.put(_CLOCK_PATH, ids.new_ulid().encode())
        stored = objects.read(_CLOCK_PATH)
        if stored is None:
            uri = f"{objects.root.uri}/{_CLOCK_PATH}"
            raise StorageError(
                f"{uri} was gone right after it was written; is something else cleaning the graph's directory?",
                storage_kind="unknown",
                uri=uri,
            )
        return cls._seen(objects, stored.last_modified)

    @classmethod
    def estimate(cls, objects: ControlStore) -> "StoreClock":
        """Tell the store's time without writing: to foretell what a run would do, never to act upon.

        Where the store does not say, this machine's clock stands in for it; if that is slow, the newest lease or lock
        that the store has dated tells at least how late it was then.
        """
        seen = objects.glance_at_clock()
        if seen is not None:
            return cls._seen(objects, seen)
        newest = max((found.last_modified for found in objects.facts(_LOCKS).values()), default=0.0)
        return cls(store_seconds=max(clock.now_us() / 1_000_000, newest), observed_at=clock.monotonic_seconds())

    @classmethod
    def _seen(cls, objects: ControlStore, store_seconds: float) -> "StoreClock":
        return cls(
            store_seconds=store_seconds,
            observed_at=clock.monotonic_seconds(),
            resolution_seconds=0.0 if objects.root.is_local else _RESOLUTION_SECONDS,
            skew_seconds=clock.now_us() / 1_000_000 - store_seconds,
        )

    @property
    def is_far_off(self) -> bool:
        """Whether this machine and the store disagree about the time by more than a moment."""
        return self.skew_seconds is not None and abs(self.skew_seconds) > SKEW_SECONDS_MAX

    def seconds_ago(self, seconds: float) -> float:
        """Return a moment of the store: what it dates earlier is surely older than that."""
        return self.now_seconds() - seconds - self.resolution_seconds

    def now_seconds(self) -> float:
        """Tell the store's present in seconds since the Unix epoch."""
        return self.store_seconds + clock.monotonic_seconds() - self.observed_at

    def seconds_past_expiry(self, *, last_modified: float, ttl_seconds: float) -> float:
        """Tell how long ago a lease written at `last_modified` has expired; negative while it is alive."""
        return self.now_seconds() - last_modified - ttl_seconds - _RESOLUTION_SECONDS
