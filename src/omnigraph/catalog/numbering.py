"""Numeric identities: one counter per graph numbers types, properties and table incarnations, and never goes back.

`number_shape` gives a shape the identities that are already known and takes the missing ones from the counter, in an
order that does not depend on how the source was written. A new graph knows none.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import field
from itertools import count
from typing import NamedTuple, TypeVar

from omnigraph.base.values import dataclass
from omnigraph.catalog.model import Catalog, Constraint, EdgeType, InterfaceType, Key, NodeType, Property
from omnigraph.catalog.shape import EdgeShape, InterfaceShape, NodeShape, PropertyShape, SchemaShape, TypeKind
from omnigraph.errors import ResourceLimit

IDENTITY_MAX = 2**63 - 1

_Name = TypeVar("_Name", bound=Hashable)


class TypeName(NamedTuple):
    """A type by kind and name; nodes, edges and interfaces have separate namespaces."""

    kind: TypeKind
    name: str


class PropertyName(NamedTuple):
    """A property by owner and name."""

    owner: TypeName
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Identities:
    """Identities by the names of the schema being numbered: a renamed type stands under its new name."""

    type_ids: Mapping[TypeName, int] = field(default_factory=dict)
    property_ids: Mapping[PropertyName, int] = field(default_factory=dict)
    incarnation_ids: Mapping[TypeName, int] = field(default_factory=dict)
    next_identity_id: int = 1


def number_shape(shape: SchemaShape, *, identity_domain: str, known: Identities | None = None) -> Catalog:
    """Return the catalog of a shape; what `known` does not name gets new identities.

    New types are numbered first (interfaces, nodes, edges, each by name), then properties by owner id and name, then
    table incarnations by type id. Raises `ResourceLimit` when the counter is exhausted.
    """
    identities = _complete(shape, known or Identities())
    return Catalog(
        identity_domain=identity_domain,
        next_identity_id=identities.next_identity_id,
        interfaces=tuple(_interface(interface, identities) for interface in shape.interfaces),
        nodes=tuple(_node(node, identities) for node in shape.nodes),
        edges=tuple(_edge(edge, identities) for edge in shape.edges),
    )


def _complete(shape: SchemaShape, known: Identities) -> Identities:
    properties_by_type = _properties_by_type(shape)
    counter = count(known.next_identity_id)
    type_ids = _number(properties_by_type, known.type_ids, counter)
    by_type_id = sorted(properties_by_type, key=type_ids.__getitem__)
    properties = [PropertyName(owner, found.name) for owner in by_type_id for found in properties_by_type[owner]]
    property_ids = _number(properties, known.property_ids, counter)
    tables = [owner for owner in by_type_id if owner.kind != "interface"]
    incarnation_ids = _number(tables, known.incarnation_ids, counter)
    next_identity_id = next(counter)
    if next_identity_id > IDENTITY_MAX:
        raise ResourceLimit(
            f"The schema needs identities up to {next_identity_id}, but a graph has {IDENTITY_MAX} of them for its "
            "whole life. Export the data into a new graph, which starts from 1.",
            resource="schema_identities",
            limit=IDENTITY_MAX,
            actual=next_identity_id,
        )
    return Identities(
        type_ids=type_ids,
        property_ids=property_ids,
        incarnation_ids=incarnation_ids,
        next_identity_id=next_identity_id,
    )


def _properties_by_type(shape: SchemaShape) -> dict[TypeName, tuple[PropertyShape, ...]]:
    """List all types in numbering order; shapes and their properties are sorted by name already."""
    return (
        {TypeName("interface", interface.name): interface.properties for interface in shape.interfaces}
        | {TypeName("node", node.name): node.properties for node in shape.nodes}
        | {TypeName("edge", edge.name): edge.properties for edge in shape.edges}
    )


def _number(names: Iterable[_Name], known: Mapping[_Name, int], counter: Iterator[int]) -> dict[_Name, int]:
    return {name: known[name] if name in known else next(counter) for name in names}


def _interface(shape: InterfaceShape, identities: Identities) -> InterfaceType:
    owner = TypeName("interface", shape.name)
    return InterfaceType(
        name=shape.name,
        type_id=identities.type_ids[owner],
        properties=_properties(owner, shape.properties, identities),
    )


def _node(shape: NodeShape, identities: Identities) -> NodeType:
    owner = TypeName("node", shape.name)
    interface_ids = {name: identities.type_ids[TypeName("interface", name)] for name in shape.implements}
    return NodeType(
        name=shape.name,
        type_id=identities.type_ids[owner],
        table_incarnation_id=identities.incarnation_ids[owner],
        properties=_properties(owner, shape.properties, identities),
        constraints=tuple(_order_key(owner, rule, identities) for rule in shape.constraints),
        annotations=shape.annotations,
        implements=tuple(sorted(shape.implements, key=interface_ids.__getitem__)),
    )


def _edge(shape: EdgeShape, identities: Identities) -> EdgeType:
    owner = TypeName("edge", shape.name)
    return EdgeType(
        name=shape.name,
        type_id=identities.type_ids[owner],
        table_incarnation_id=identities.incarnation_ids[owner],
        properties=_properties(owner, shape.properties, identities),
        constraints=shape.constraints,
        annotations=shape.annotations,
        from_type=shape.from_type,
        to_type=shape.to_type,
        cardinality=shape.cardinality,
    )


def _properties(owner: TypeName, shapes: tuple[PropertyShape, ...], identities: Identities) -> tuple[Property, ...]:
    return tuple(
        Property(
            name=shape.name,
            property_id=identities.property_ids[PropertyName(owner, shape.name)],
            type=shape.type,
            annotations=shape.annotations,
            default=shape.default,
            embed=shape.embed,
            declared_directly=shape.declared_directly,
            satisfies=tuple(
                sorted(
                    identities.property_ids[PropertyName(TypeName("interface", interface), shape.name)]
                    for interface in shape.satisfies
                )
            ),
            property_constraints=shape.property_constraints,
        )
        for shape in shapes
    )


def _order_key(owner: TypeName, rule: Constraint, identities: Identities) -> Constraint:
    """Order key members by property id: composite ids are spelled in that order, and a rename must not change them."""
    if not isinstance(rule, Key):
        return rule
    members = sorted(rule.properties, key=lambda name: identities.property_ids[PropertyName(owner, name)])
    return Key(properties=tuple(members))
