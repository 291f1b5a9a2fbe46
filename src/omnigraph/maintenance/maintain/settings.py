"""What maintenance of one graph goes by: when each verb is due, what stays, when nothing may happen, and how far to go.

The thresholds are those of `health` unless somebody says otherwise, so that what is done by itself is what `health`
would have told a person to do.
"""

from datetime import timedelta

from omnigraph.base.values import dataclass
from omnigraph.engine.choice import EngineName
from omnigraph.maintenance.cleanup.policy import KEEP_VERSIONS_DEFAULT, CleanupPolicy
from omnigraph.maintenance.health.thresholds import INTERNAL_FRAGMENTS_MAX, RECLAIMABLE_BYTES_MIN, RECLAIMABLE_SHARE
from omnigraph.maintenance.maintain.quiet_hours import QuietHours

KEEP_AGE_DEFAULT = timedelta(days=7)
"""Nobody looks at what goes, so what is younger than a week stays as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizeSettings:
    """When the tables of a branch are optimized."""

    fragments: int = 1
    """By how many fragments a run has to shrink one table to be worth it."""
    deleted_ratio: float = 0.10
    """From which share of deleted rows on a fragment is rewritten."""
    coverage: float = 1.0
    """Below which share of known rows an index is brought up to date."""
    internal_fragments: int = INTERNAL_FRAGMENTS_MAX
    """From how many fragments on the graph's own tables are compacted."""
    all_branches: bool = True
    """Whether branches besides `main` are optimized, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanupSettings:
    """What a cleanup keeps, and from where on it is worth it."""

    policy: CleanupPolicy = CleanupPolicy(keep_versions=KEEP_VERSIONS_DEFAULT, older_than=KEEP_AGE_DEFAULT)
    reclaimable: int = RECLAIMABLE_BYTES_MIN
    """Bytes that must be in it."""
    share: float = RECLAIMABLE_SHARE
    """How much that has to be beside the live data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphSettings:
    """Everything about one graph."""

    enabled: bool = True
    optimize: OptimizeSettings | None = OptimizeSettings()
    cleanup: CleanupSettings | None = None
    """Removing old versions cannot be undone, so it is done only where somebody said what stays."""
    quiet_hours: QuietHours = QuietHours()
    max_time: timedelta | None = None
    max_bytes: int | None = None
    """Bytes to rewrite in one run."""
    engine: EngineName = EngineName.AUTO
