"""The internal schema stamp: which on-disk shape a `__manifest` has, and whether this program may touch it."""

from collections.abc import Mapping

from omnigraph.errors import GraphCorrupt, GraphTooNew

INTERNAL_SCHEMA_VERSION = 4
STAMP_KEY = "omnigraph:internal_schema_version"
ROOT_KEY = "omnigraph:root_uri"


def read_stamp(schema_metadata: Mapping[str, str], *, uri: str) -> int:
    """Return the stamp of a manifest, refusing what this program cannot read before any other state is looked at."""
    raw = schema_metadata.get(STAMP_KEY)
    if raw is None:
        raise GraphCorrupt(f"__manifest of {uri} carries no internal schema version; it is damaged or not a graph.")
    if not raw.isascii() or not raw.isdigit():
        raise GraphCorrupt(f"__manifest of {uri} is stamped with {raw!r}, which is not an internal schema version.")
    stamp = int(raw)
    if stamp > INTERNAL_SCHEMA_VERSION:
        raise GraphTooNew(
            f"{uri} is stamped at internal schema v{stamp}, this omnigraph knows up to "
            f"v{INTERNAL_SCHEMA_VERSION} — upgrade omnigraph first.",
            found=stamp,
            supported=INTERNAL_SCHEMA_VERSION,
        )
    if stamp < INTERNAL_SCHEMA_VERSION:
        raise GraphCorrupt(f"{uri} is stamped at internal schema v{stamp}, for which no migration is registered.")
    return stamp
