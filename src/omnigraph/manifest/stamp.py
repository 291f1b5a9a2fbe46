"""The internal schema stamp: which on-disk shape a `__manifest` has, and whether this program may touch it.

`migrations/` knows what the older shapes are and how one becomes the next; this module only reads the two keys in the
schema metadata that say where a manifest stands.
"""

from collections.abc import Collection, Mapping
from typing import Final

from omnigraph.base.values import dataclass
from omnigraph.errors import GraphCorrupt, GraphTooNew

INTERNAL_SCHEMA_VERSION = 4
OLDEST_STAMP = 1
STAMP_KEY = "omnigraph:internal_schema_version"
MARKER_KEY = "omnigraph:migrating_from"
ROOT_KEY = "omnigraph:root_uri"

_UNSTAMPED_COLUMNS: Final = frozenset(
    {"object_id", "object_type", "location", "metadata", "table_key", "table_version", "table_branch", "row_count"}
)
"""The columns of stamp 1, which was never written down; without a stamp any other columns are damage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """Where a manifest stands."""

    version: int
    """The stamp on disk: programs that know only lower ones stay out."""
    migrating_from: int | None = None
    """The stamp whose shape parts of the manifest may still have, while a migration is under way or interrupted."""

    @property
    def shape(self) -> int:
        """The oldest shape that a reader must expect."""
        return self.version if self.migrating_from is None else self.migrating_from

    @property
    def is_current(self) -> bool:
        """Whether the manifest has, entirely, the shape that this program writes."""
        return self.shape == INTERNAL_SCHEMA_VERSION


def read_stamp(schema_metadata: Mapping[str, str], columns: Collection[str], *, uri: str) -> Stamp:
    """Return the stamp of a manifest, refusing what this program cannot read before any other state is looked at."""
    version = _version(schema_metadata, columns, uri=uri)
    if version > INTERNAL_SCHEMA_VERSION:
        raise GraphTooNew(
            f"{uri} is stamped at internal schema v{version}, this omnigraph knows up to "
            f"v{INTERNAL_SCHEMA_VERSION} — upgrade omnigraph first.",
            found=version,
            supported=INTERNAL_SCHEMA_VERSION,
        )
    marker = schema_metadata.get(MARKER_KEY)
    if marker is None:
        return Stamp(version=version)
    if marker != str(version - 1):
        raise GraphCorrupt(
            f"__manifest of {uri} is stamped at internal schema v{version} but marked as migrating from {marker!r}."
        )
    return Stamp(version=version, migrating_from=version - 1)


def _version(schema_metadata: Mapping[str, str], columns: Collection[str], *, uri: str) -> int:
    raw = schema_metadata.get(STAMP_KEY)
    if raw is None:
        if set(columns) == _UNSTAMPED_COLUMNS:
            return OLDEST_STAMP
        raise GraphCorrupt(
            f"__manifest of {uri} carries no internal schema version, and its columns are not those of a graph from "
            "before there was one: it is damaged or not a graph."
        )
    if not raw.isascii() or not raw.isdigit() or int(raw) < OLDEST_STAMP:
        raise GraphCorrupt(f"__manifest of {uri} is stamped with {raw!r}, which is not an internal schema version.")
    return int(raw)
