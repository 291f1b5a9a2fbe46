"""What a cleanup may be asked for, above all which versions it keeps; what must stay anyhow is in `protections.py`."""

from collections.abc import Collection, Sequence
from datetime import timedelta

from omnigraph.base.units import parse_duration
from omnigraph.base.values import dataclass
from omnigraph.engine.choice import EngineChoice
from omnigraph.errors import InvalidTarget
from omnigraph.storage.locks import StoreClock
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
    """Keep the newest published versions of a table, or the young ones; with both, only what is outside both goes."""

    keep_versions: int | None = None
    older_than: timedelta | None = None

    def __post_init__(self) -> None:
        if self.keep_versions is None and self.older_than is None:
            raise InvalidTarget(
                "A cleanup policy needs keep_versions, older_than or both: graph.cleanup(keep=10) keeps the newest ten "
                "published versions of each table, graph.cleanup(older_than='7d') the young ones."
            )
        if self.keep_versions is not None and self.keep_versions < 1:
            raise InvalidTarget(f"keep_versions is {self.keep_versions}; the newest version always stays, so keep 1.")

    @classmethod
    def of(
        cls,
        policy: "CleanupPolicy | None" = None,
        *,
        keep: int | None = None,
        older_than: "timedelta | str | None" = None,
    ) -> "CleanupPolicy":
        """Make a policy of what a caller gives as plain values, or take theirs; a duration may be spelled like `7d`."""
        if policy is not None:
            if keep is not None or older_than is not None:
                raise InvalidTarget("Give cleanup a policy or `keep` and `older_than`, not both.")
            return policy
        if isinstance(older_than, str):
            try:
                older_than = parse_duration(older_than)
            except ValueError as error:
                raise InvalidTarget(f"older_than: {error}") from error
        return cls(keep_versions=keep, older_than=older_than)

    def lets_go(
        self, versions: Sequence[StoredVersion], *, published: Collection[int], store_clock: StoreClock
    ) -> list[int]:
        """Return the versions outside of what is kept; `versions` are all of one ref, ascending.

        Only published ones count, those that a graph version pins: the steps which one operation makes on its way use
        up no place.
        """
        kept = self._newest([stored for stored in versions if stored.version in published])
        return _outside(versions, kept, self.older_than, store_clock)

    def lets_go_of_internal(self, versions: Sequence[StoredVersion], *, store_clock: StoreClock) -> list[int]:
        """Return what may go of an internal table, where every version counts and a floor lies under the policy."""
        kept = {stored.version for stored in versions[-max(self.keep_versions or 0, INTERNAL_KEEP_MIN) :]}
        older_than = max(self.older_than or timedelta(), INTERNAL_AGE_MIN)
        return _outside(versions, kept, older_than, store_clock)

    def drops_tables_before(self, store_clock: StoreClock) -> float:
        """Return the moment of the store before which a table must have been dropped for its files to go."""
        age = self.older_than if self.older_than is not None else DROPPED_AGE_DEFAULT
        return store_clock.seconds_ago(age.total_seconds())

    def _newest(self, versions: Sequence[StoredVersion]) -> set[int]:
        return {stored.version for stored in versions[-self.keep_versions :]} if self.keep_versions else set()


def _outside(
    versions: Sequence[StoredVersion], kept: Collection[int], older_than: timedelta | None, store_clock: StoreClock
) -> list[int]:
    before = None if older_than is None else store_clock.seconds_ago(older_than.total_seconds())
    return [
        stored.version
        for stored in versions
        if stored.version not in kept and (before is None or stored.stored_at < before)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanupRequest:
    """One cleanup, whoever asks for it."""

    policy: CleanupPolicy
    confirm: bool = False
    """Whether anything is removed; without it, a run says what would go."""
    wait_seconds: float = 0.0
    engine: EngineChoice = EngineChoice()
