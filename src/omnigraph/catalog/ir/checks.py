"""What must be true of a stored catalog beyond the form of its document."""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator

from omnigraph.catalog.ir.json_value import damage
from omnigraph.catalog.model import (
    Catalog,
    EntityType,
    Index,
    InterfaceType,
    Key,
    NodeType,
    Property,
    Unique,
)
from omnigraph.catalog.names import is_reserved
from omnigraph.catalog.numbering import IDENTITY_MAX
from omnigraph.catalog.shape import TypeKind


def check_catalog(catalog: Catalog) -> None:
    """Raise `GraphCorrupt` for the first thing that no accepted schema could contain."""
    _check_identities(catalog)
    _check_unique("interfaces", [interface.name for interface in catalog.interfaces])
    _check_unique("nodes", [node.name for node in catalog.nodes])
    _check_unique("edges", [edge.name.casefold() for edge in catalog.edges])
    for owner in _owners(catalog):
        _check_properties(owner)
    for entity in catalog.entity_types():
        _check_constraints(entity)
    interface_by_name = {interface.name: interface for interface in catalog.interfaces}
    for node in catalog.nodes:
        _check_promises(node, [interface_by_name[name] for name in node.implements])


def _check_identities(catalog: Catalog) -> None:
    owner_by_id: dict[int, str] = {}
    for owner, identity in _identities(catalog):
        if not 0 < identity < catalog.next_identity_id <= IDENTITY_MAX:
            raise damage(owner, f"the id {identity} is not between 1 and the counter {catalog.next_identity_id}")
        if identity in owner_by_id:
            raise damage(owner, f"the id {identity} is used twice, also by {owner_by_id[identity]}")
        owner_by_id[identity] = owner


def _identities(catalog: Catalog) -> Iterator[tuple[str, int]]:
    for owner in _owners(catalog):
        place = f"{_kind(owner)} {owner.name}"
        yield place, owner.type_id
        for declared in owner.properties:
            yield f"{place}.{declared.name}", declared.property_id
        if isinstance(owner, EntityType):
            yield f"the table of {place}", owner.table_incarnation_id


def _check_properties(owner: InterfaceType | EntityType) -> None:
    place = f"{_kind(owner)} {owner.name}"
    # Letter case matters only where there are columns, and an interface has none.
    names = [declared.name for declared in owner.properties]
    _check_unique(place, names if isinstance(owner, InterfaceType) else [name.lower() for name in names])
    for declared in owner.properties:
        if is_reserved(declared.name, kind=_kind(owner)):
            raise damage(f"{place}.{declared.name}", "the name is reserved")
        if isinstance(owner, NodeType) and declared.embed and declared.embed.source not in names:
            raise damage(f"{place}.{declared.name}", f"its embed source {declared.embed.source} does not exist")


def _check_constraints(entity: EntityType) -> None:
    place = f"the constraints of {entity.kind} {entity.name}"
    _check_unique(place, entity.constraints)
    if sum(isinstance(rule, Key) for rule in entity.constraints) > 1:
        raise damage(place, "there is more than one key")
    for rule in entity.constraints:
        if isinstance(rule, (Key, Unique, Index)):
            _check_unique(place, rule.properties)


def _check_promises(node: NodeType, interfaces: list[InterfaceType]) -> None:
    _check_unique(f"the interfaces of node {node.name}", node.implements)
    promises = {promised.property_id: promised for interface in interfaces for promised in interface.properties}
    kept: set[int] = set()
    for declared in node.properties:
        place = f"node {node.name}.{declared.name}"
        if not declared.declared_directly and not declared.satisfies:
            raise damage(place, "it is inherited, but from no interface")
        _check_unique(place, declared.satisfies)
        for promise in declared.satisfies:
            if promise not in promises or not _keeps(declared, promises[promise]):
                raise damage(place, f"it cannot satisfy the interface property {promise}")
        kept.update(declared.satisfies)
    for promise in promises.keys() - kept:
        raise damage(f"node {node.name}", f"the interface property {promises[promise].name} is not satisfied")


def _keeps(declared: Property, promised: Property) -> bool:
    return declared.name == promised.name and declared.type == promised.type


def _check_unique(place: str, items: Iterable[Hashable]) -> None:
    for item, times in Counter(items).items():
        if times > 1:
            raise damage(place, f"{item} is there {times} times")


def _owners(catalog: Catalog) -> Iterator[InterfaceType | EntityType]:
    yield from catalog.interfaces
    yield from catalog.entity_types()


def _kind(owner: InterfaceType | EntityType) -> TypeKind:
    return "interface" if isinstance(owner, InterfaceType) else owner.kind
