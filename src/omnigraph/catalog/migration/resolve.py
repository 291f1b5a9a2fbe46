"""Who is who: which accepted type or property each declaration of a desired schema continues.

What continues something keeps its identities, under whatever name; everything else gets new ones.
"""

from collections.abc import Mapping

from omnigraph.base.values import dataclass
from omnigraph.catalog.migration.hints import Hints, UnusedHint
from omnigraph.catalog.migration.steps import entity_name
from omnigraph.catalog.model import Catalog, EntityType, InterfaceType
from omnigraph.catalog.numbering import Identities, PropertyName, TypeName, number_shape
from omnigraph.catalog.shape import EdgeShape, InterfaceShape, NodeShape, PropertyShape, SchemaShape, TypeKind

_KINDS: tuple[TypeKind, ...] = ("interface", "node", "edge")

_AcceptedType = InterfaceType | EntityType
_DesiredType = InterfaceShape | NodeShape | EdgeShape


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """The desired schema with its identities, and the hints that were not needed to find them."""

    catalog: Catalog
    diagnostics: tuple[UnusedHint, ...]


def resolve(accepted: Catalog, desired: SchemaShape) -> Resolution:
    """Give a desired schema its identities: the accepted ones for whatever it continues.

    Raises `UnsupportedSchemaChange` (`OG-BC-101`) with every hint that cannot be followed.
    """
    resolver = _Resolver(accepted, desired)
    known = resolver.identities()
    catalog = number_shape(desired, identity_domain=accepted.identity_domain, known=known)
    return Resolution(catalog=catalog, diagnostics=tuple(resolver.hints.unused))


def hints_without_graph(desired: SchemaShape) -> tuple[UnusedHint, ...]:
    """Return every hint of a schema that a new graph is made from: there is nothing to rename in it."""
    return tuple(
        UnusedHint(entity=entity, hint=hint, reason="a new graph has nothing to rename")
        for owner, new in _desired_types(desired).items()
        for entity, hint in [
            (entity_name(owner), _type_hint(new)),
            *(
                (entity_name(owner, found.name), found.rename_from)
                for found in new.properties
                if found.declared_directly
            ),
        ]
        if hint is not None
    )


class _Resolver:
    """Matches types first, then the properties of the types that continue."""

    def __init__(self, accepted: Catalog, desired: SchemaShape) -> None:
        self.hints = Hints()
        self._next_identity_id = accepted.next_identity_id
        self._accepted = _accepted_types(accepted)
        self._desired = _desired_types(desired)

    def identities(self) -> Identities:
        """Return what is known, by desired names."""
        continued = {name: found for kind in _KINDS for name, found in self._match_types(kind).items()}
        # A type that lost its match would be taken for a new one below, and every hint in it for a mistake.
        self.hints.raise_if_any_failed()
        property_ids = self._match_all_properties(continued)
        self.hints.raise_if_any_failed()
        return Identities(
            type_ids={owner: old.type_id for owner, old in continued.items()},
            property_ids=property_ids,
            incarnation_ids={
                owner: old.table_incarnation_id for owner, old in continued.items() if isinstance(old, EntityType)
            },
            next_identity_id=self._next_identity_id,
        )

    def _match_types(self, kind: TypeKind) -> dict[TypeName, _AcceptedType]:
        accepted_name = self.hints.match(
            {owner.name: _type_hint(new) for owner, new in self._desired.items() if owner.kind == kind},
            {owner.name for owner in self._accepted if owner.kind == kind},
            entity=lambda name: entity_name(TypeName(kind, name)),
            absence=lambda hint: self._type_absence(kind, hint),
        )
        return {TypeName(kind, name): self._accepted[TypeName(kind, old)] for name, old in accepted_name.items()}

    def _type_absence(self, kind: TypeKind, hint: str) -> str:
        others = [entity_name(owner) for owner in self._accepted if owner.name == hint]
        if others:
            return f"the accepted schema has {' and '.join(others)}, but no {kind} of that name"
        return f"the accepted schema has no {kind} {hint}"

    def _match_all_properties(self, continued: Mapping[TypeName, _AcceptedType]) -> dict[PropertyName, int]:
        property_ids: dict[PropertyName, int] = {}
        # Interfaces come first, because what a node inherits is renamed where its interface declares it.
        for owner, new in self._desired.items():
            if owner in continued:
                property_ids |= self._match_properties(owner, new, continued[owner], property_ids)
            else:
                self._refuse_property_hints(owner, new)
        return property_ids

    def _match_properties(
        self, owner: TypeName, new: _DesiredType, old: _AcceptedType, property_ids: Mapping[PropertyName, int]
    ) -> dict[PropertyName, int]:
        id_by_name = {declared.name: declared.property_id for declared in old.properties}
        accepted_name = self.hints.match(
            {declared.name: _property_hint(declared, old, property_ids) for declared in new.properties},
            id_by_name.keys(),
            entity=lambda name: entity_name(owner, name),
            absence=lambda hint: self._property_absence(TypeName(owner.kind, old.name), hint),
        )
        return {PropertyName(owner, name): id_by_name[old_name] for name, old_name in accepted_name.items()}

    def _property_absence(self, owner: TypeName, hint: str) -> str:
        others = [
            entity_name(other, hint)
            for other, found in self._accepted.items()
            if any(declared.name == hint for declared in found.properties)
        ]
        absence = f"{entity_name(owner)} has no property {hint}"
        return f"{absence}, and {' and '.join(others)} cannot move to another type" if others else absence

    def _refuse_property_hints(self, owner: TypeName, new: _DesiredType) -> None:
        for declared in new.properties:
            # An inherited hint is meant for nodes that had the property before; a new node has nothing to rename.
            if declared.rename_from is not None and declared.declared_directly:
                reason = f"{entity_name(owner)} is new and has no properties to rename"
                self.hints.fail(entity_name(owner, declared.name), declared.rename_from, reason)


def _type_hint(new: _DesiredType) -> str | None:
    return None if isinstance(new, InterfaceShape) else new.rename_from


def _property_hint(declared: PropertyShape, old: _AcceptedType, property_ids: Mapping[PropertyName, int]) -> str | None:
    """Return the accepted name that a property claims: its own hint, or what its interface's property was called."""
    if declared.declared_directly:
        return declared.rename_from
    promises = (PropertyName(TypeName("interface", interface), declared.name) for interface in declared.satisfies)
    promise_ids = {property_ids[promise] for promise in promises if promise in property_ids}
    inherited = (found.name for found in old.properties if promise_ids.intersection(found.satisfies))
    return next((name for name in inherited if name != declared.name), None)


def _accepted_types(accepted: Catalog) -> dict[TypeName, _AcceptedType]:
    interfaces = {TypeName("interface", found.name): found for found in accepted.interfaces}
    return interfaces | {TypeName(found.kind, found.name): found for found in accepted.entity_types()}


def _desired_types(desired: SchemaShape) -> dict[TypeName, _DesiredType]:
    return (
        {TypeName("interface", found.name): found for found in desired.interfaces}
        | {TypeName("node", found.name): found for found in desired.nodes}
        | {TypeName("edge", found.name): found for found in desired.edges}
    )
