"""Differences between the properties of a type that stays: added, renamed, changed, dropped.

Properties are matched by identity; by now every rename has been resolved.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from omnigraph.catalog.canonical import canonical_json
from omnigraph.catalog.migration.annotations import metadata_differs, other_differences
from omnigraph.catalog.migration.codes import ChangeCode
from omnigraph.catalog.migration.steps import (
    AddProperty,
    DropMode,
    DropProperty,
    ExtendEnum,
    MigrationStep,
    RenameProperty,
    UnsupportedChange,
    UpdatePropertyMetadata,
    entity_name,
)
from omnigraph.catalog.model import EntityType, InterfaceType, Key, Property, PropertyType
from omnigraph.catalog.numbering import TypeName

PropertyOwner = InterfaceType | EntityType


def surviving_names(accepted: PropertyOwner, desired: PropertyOwner) -> dict[str, str]:
    """Map the accepted names of all properties that stay to their desired names."""
    name_by_id = {declared.property_id: declared.name for declared in desired.properties}
    return {old.name: name_by_id[old.property_id] for old in accepted.properties if old.property_id in name_by_id}


def property_steps(
    owner: TypeName, accepted: PropertyOwner, desired: PropertyOwner, *, mode: DropMode
) -> Iterator[MigrationStep]:
    """Yield the steps of all properties in the order of their desired names, then the drops."""
    accepted_by_id = {declared.property_id: declared for declared in accepted.properties}
    name_after = surviving_names(accepted, desired)
    for new in desired.properties:
        old = accepted_by_id.get(new.property_id)
        if old is None:
            yield _added(owner, new)
        else:
            yield from _changed(owner, old, new, name_after)
    key = _key_members(accepted)
    for old in accepted.properties:
        if old.name not in name_after:
            yield _dropped(owner, old, is_key=old.name in key, mode=mode)


def _added(owner: TypeName, new: Property) -> MigrationStep:
    if not new.stored_nullable and new.default is None:
        return _unsupported(
            owner,
            new,
            ChangeCode.REQUIRED_PROPERTY_ADDED,
            "is required, and existing entities have no value for it; make it nullable or give it a @default",
        )
    return AddProperty(
        type_kind=owner.kind,
        type_name=owner.name,
        property_name=new.name,
        property_type=new.type,
        default=new.default,
    )


def _changed(owner: TypeName, old: Property, new: Property, name_after: Mapping[str, str]) -> Iterator[MigrationStep]:
    if old.name != new.name:
        yield RenameProperty(type_kind=owner.kind, type_name=owner.name, from_name=old.name, to_name=new.name)
    if old.type != new.type:
        yield _retyped(owner, old.type, new)
    if _embed_differs(old, new, name_after):
        yield _unsupported(owner, new, ChangeCode.EMBED_CHANGED, "cannot change the @embed that its vectors came from")
    if old.declared_directly != new.declared_directly:
        origin = "inherited" if old.declared_directly else "declared by the node itself"
        yield _unsupported(owner, new, ChangeCode.DECLARATION_MOVED, f"cannot become {origin}")
    if old.satisfies != new.satisfies:
        reason = "cannot change which interface properties it satisfies"
        yield _unsupported(owner, new, ChangeCode.PROMISES_CHANGED, reason)
    if _metadata_differs(old, new):
        yield UpdatePropertyMetadata(
            type_kind=owner.kind,
            type_name=owner.name,
            property_name=new.name,
            annotations=new.annotations,
            default=new.default,
        )
    for name in other_differences(old.annotations, new.annotations):
        yield _unsupported(owner, new, ChangeCode.ANNOTATION_CHANGED, f"cannot change its annotation @{name}")


def _retyped(owner: TypeName, old: PropertyType, new: Property) -> MigrationStep:
    if _extends_enum(old, new.type):
        return ExtendEnum(
            type_kind=owner.kind,
            type_name=owner.name,
            property_name=new.name,
            added_values=_added_values(old, new.type),
        )
    if replace(old, nullable=False) == new.type:
        reason = "cannot become required: existing entities may have no value"
        return _unsupported(owner, new, ChangeCode.PROPERTY_MADE_REQUIRED, reason)
    reason = f"cannot change from {old} to {new.type}; add another property for the new type"
    return _unsupported(owner, new, ChangeCode.TYPE_CHANGED, reason)


def _extends_enum(old: PropertyType, new: PropertyType) -> bool:
    is_enum = old.enum_values is not None and new.enum_values is not None
    return is_enum and replace(old, enum_values=new.enum_values) == new and not _added_values(new, old)


def _added_values(old: PropertyType, new: PropertyType) -> tuple[str, ...]:
    return tuple(value for value in new.enum_values or () if value not in (old.enum_values or ()))


def _embed_differs(old: Property, new: Property, name_after: Mapping[str, str]) -> bool:
    if old.embed is None:
        return new.embed is not None
    # The source of an interface's vector may be declared by its nodes only; such a name stays what it is.
    source = name_after.get(old.embed.source, old.embed.source)
    return replace(old.embed, source=source) != new.embed


def _metadata_differs(old: Property, new: Property) -> bool:
    return (
        metadata_differs(old.annotations, new.annotations)
        or canonical_json(old.default) != canonical_json(new.default)
        or old.property_constraints != new.property_constraints
    )


def _dropped(owner: TypeName, old: Property, *, is_key: bool, mode: DropMode) -> MigrationStep:
    if is_key:
        reason = "cannot be dropped: it is part of the key, which ids are made from"
        return _unsupported(owner, old, ChangeCode.KEY_CHANGED, reason)
    return DropProperty(
        type_kind=owner.kind,
        type_name=owner.name,
        property_name=old.name,
        mode=mode,
        code=ChangeCode.VECTOR_DROPPED if old.type.is_vector else ChangeCode.PROPERTY_DROPPED,
    )


def _key_members(accepted: PropertyOwner) -> frozenset[str]:
    if isinstance(accepted, InterfaceType):
        return frozenset()
    return frozenset(name for rule in accepted.constraints if isinstance(rule, Key) for name in rule.properties)


def _unsupported(owner: TypeName, declared: Property, code: ChangeCode, reason: str) -> UnsupportedChange:
    entity = entity_name(owner, declared.name)
    return UnsupportedChange(entity=entity, reason=f"{owner.name}.{declared.name} {reason}", code=code)
