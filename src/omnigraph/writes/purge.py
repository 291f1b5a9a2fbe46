"""What an operator gives up for good with a schema change, as a sidecar holds it."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from omnigraph.base.values import dataclass
from omnigraph.catalog.model import TableKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Purge:
    """Data of one table that no graph version may show any more."""

    table_key: TableKey
    location: str
    property_ids: tuple[int, ...] | None
    """Table versions that hold one of these properties go; None: the whole table goes."""

    def document(self) -> dict[str, Any]:
        """Spell the purge for a sidecar."""
        return asdict(self)

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> "Purge":
        """Read a purge back."""
        property_ids = document["property_ids"]
        return cls(
            table_key=document["table_key"],
            location=document["location"],
            property_ids=tuple(property_ids) if property_ids is not None else None,
        )
