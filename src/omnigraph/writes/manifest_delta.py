"""What a publish carries besides the pins that follow from table effects: names that begin, change and end, a schema.

A sidecar holds it whole, so that whoever rolls an operation forward publishes exactly what its writer meant.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from omnigraph.base.values import dataclass
from omnigraph.catalog.model import TableIdentity, TableKey
from omnigraph.manifest.publish import ManifestChanges, PinMove, TableRegistration
from omnigraph.manifest.snapshot import SchemaRef


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestDelta:
    """Tables that a commit registers, renames or ends, and the schema that it accepts; most commits have none."""

    register: tuple[TableRegistration, ...] = ()
    rename: tuple[TableRegistration, ...] = ()
    tombstone: tuple[TableRegistration, ...] = ()
    schema: SchemaRef | None = None

    def with_pins(self, pins: tuple[PinMove, ...]) -> ManifestChanges:
        """Return the delta of the publish."""
        return ManifestChanges(
            pins=pins,
            registrations=(*self.register, *self.rename),
            tombstones=self.tombstone,
            schema=self.schema,
        )

    def document(self) -> dict[str, Any]:
        """Spell the delta for a sidecar."""
        return {
            "register": [_table_document(table) for table in self.register],
            "rename": [_table_document(table) for table in self.rename],
            "tombstone": [_table_document(table) for table in self.tombstone],
            "schema": asdict(self.schema) if self.schema is not None else None,
        }

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> "ManifestDelta":
        """Read a delta back."""
        schema = document["schema"]
        return cls(
            register=tuple(_table(table) for table in document["register"]),
            rename=tuple(_table(table) for table in document["rename"]),
            tombstone=tuple(_table(table) for table in document["tombstone"]),
            schema=SchemaRef.from_metadata(schema) if schema is not None else None,
        )


def _table_document(table: TableRegistration) -> dict[str, str]:
    return {
        "table_key": table.table_key,
        **table.identity.document(),
        "location": table.location,
    }


def _table(document: Mapping[str, str]) -> TableRegistration:
    return TableRegistration(
        table_key=TableKey(document["table_key"]),
        identity=TableIdentity.from_document(document),
        location=document["location"],
    )
