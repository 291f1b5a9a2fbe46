"""What a `table_version` row says of the state it pins, beside its place: by what it can be recognised.

The transaction that made it, whether the table carries its identity, and the checksums of the files that the commit
added. Rows of `__manifest` are never changed or removed, so a checksum lives as long as any version that needs its
file, however often the table's own versions are cleaned up.
"""

import json
from collections.abc import Mapping
from dataclasses import field

from omnigraph.base.values import dataclass
from omnigraph.errors import GraphCorrupt
from omnigraph.manifest.rows import ManifestRow


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedState:
    """The metadata of a `table_version` row."""

    transaction_uuid: str | None = None
    is_marked: bool = False
    """Whether the table says in its own schema which table it is."""
    checksums: Mapping[str, str] = field(default_factory=dict)
    """Per file that the commit added, by the short name of `storage/checksums.py`, the checksum of its bytes."""

    def to_json(self) -> str:
        """Spell the metadata; checksums as one text, because every reader parses it and few look inside."""
        document = {"txn": self.transaction_uuid, "e_tag": None, "marked": self.is_marked}
        if self.checksums:
            document["crc32"] = " ".join(f"{name}:{value}" for name, value in sorted(self.checksums.items()))
        return json.dumps(document, sort_keys=True)


def pinned_state(row: ManifestRow) -> PinnedState:
    """Read the metadata of a `table_version` row; rows of migrated graphs know less."""
    try:
        document = json.loads(row.metadata or "{}")
        listed = (entry.partition(":") for entry in document.get("crc32", "").split())
        return PinnedState(
            transaction_uuid=document.get("txn"),
            is_marked=document.get("marked", False),
            checksums={name: value for name, _, value in listed},
        )
    except (ValueError, AttributeError, TypeError) as error:
        raise GraphCorrupt(f"The metadata of row {row.object_id} of __manifest cannot be read: {error}.") from error
