"""Decide: what a schema change means for tables and manifest. Pure: two catalogs in, frozen values out."""

from omnigraph.base.values import dataclass
from omnigraph.catalog.arrow import default_scalar, table_schema
from omnigraph.catalog.model import Catalog, EntityType, TableIdentity
from omnigraph.manifest.publish import TableRegistration
from omnigraph.manifest.rows import location_of
from omnigraph.manifest.snapshot import GraphSnapshot, SchemaRef, TablePin
from omnigraph.storage.columns import Reshape
from omnigraph.writes.manifest_delta import ManifestDelta
from omnigraph.writes.sidecar import Purge


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaChange:
    """Everything that an apply does, table by table."""

    reshaped: tuple[tuple[TablePin, EntityType, Reshape], ...]
    """Tables whose columns change, with the type they belong to afterwards."""
    created: tuple[tuple[TableRegistration, EntityType], ...]
    manifest: ManifestDelta
    purges: tuple[Purge, ...]


def schema_change(
    snapshot: GraphSnapshot, accepted: Catalog, desired: Catalog, reference: SchemaRef, *, is_hard: bool
) -> SchemaChange:
    """Compare two schemas of one graph by identity; `is_hard` gives up what is dropped for good."""
    pairs = [
        (pin, accepted.type_by_identity[identity], desired.type_by_identity[identity])
        for identity, pin in _pins(snapshot).items()
        if identity in desired.type_by_identity
    ]
    dropped = [pin for identity, pin in _pins(snapshot).items() if identity not in desired.type_by_identity]
    added = [
        (_registration(new, location_of(new.table_key, new.identity)), new)
        for identity, new in desired.type_by_identity.items()
        if identity not in accepted.type_by_identity
    ]
    return SchemaChange(
        reshaped=tuple((pin, new, shape) for pin, old, new in pairs if (shape := reshape(old, new)) is not None),
        created=tuple(added),
        manifest=ManifestDelta(
            register=tuple(registration for registration, _ in added),
            rename=tuple(_registration(new, pin.location) for pin, old, new in pairs if old.name != new.name),
            tombstone=tuple(
                TableRegistration(table_key=pin.table_key, identity=pin.identity, location=pin.location)
                for pin in dropped
            ),
            schema=reference,
        ),
        purges=_purges(pairs, dropped) if is_hard else (),
    )


def reshape(old: EntityType, new: EntityType) -> Reshape | None:
    """Return how the columns of a type change; None if they do not."""
    old_name = {declared.property_id: declared.name for declared in old.properties}
    new_name = {declared.property_id: declared.name for declared in new.properties}
    if old_name == new_name:
        return None
    added = [declared for declared in new.properties if declared.property_id not in old_name]
    schema = table_schema(new)
    system = {name: name for name in schema.names if name not in new.property_by_name}
    return Reshape(
        schema=schema,
        kept=system | {name: old_name[number] for number, name in new_name.items() if number in old_name},
        filled={declared.name: value for declared in added if (value := default_scalar(declared)) is not None},
    )


def _pins(snapshot: GraphSnapshot) -> dict[TableIdentity, TablePin]:
    return {pin.identity: pin for pin in snapshot.pins.values()}


def _registration(entity: EntityType, location: str) -> TableRegistration:
    return TableRegistration(table_key=entity.table_key, identity=entity.identity, location=location)


def _purges(pairs: list[tuple[TablePin, EntityType, EntityType]], dropped: list[TablePin]) -> tuple[Purge, ...]:
    purges = [Purge(table_key=pin.table_key, location=pin.location, property_ids=None) for pin in dropped]
    for pin, old, new in pairs:
        kept = {declared.property_id for declared in new.properties}
        lost = tuple(found.property_id for found in old.properties if found.property_id not in kept)
        if lost:
            purges.append(Purge(table_key=new.table_key, location=pin.location, property_ids=lost))
    return tuple(purges)
