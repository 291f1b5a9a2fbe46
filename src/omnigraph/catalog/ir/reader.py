"""From IR document to catalog, trusting nothing.

The document is read by names, put into canonical order and written again: whatever is unsorted, unknown, missing or
numbered differently shows as a difference between the two. What a document can get wrong and still survive that
(identities and interface promises) is checked by `ir/checks.py`.
"""

from collections.abc import Callable, Container
from operator import attrgetter
from typing import Any, TypeVar

from omnigraph.catalog.canonical import CONSTRAINT_KINDS, sort_annotations, sort_constraints
from omnigraph.catalog.ir.checks import check_catalog
from omnigraph.catalog.ir.document import IR_VERSION, ir_document
from omnigraph.catalog.ir.json_value import JsonValue
from omnigraph.catalog.model import (
    Annotation,
    Cardinality,
    Catalog,
    Constraint,
    EdgeType,
    EmbedSource,
    Index,
    InterfaceType,
    Key,
    LiteralValue,
    NodeType,
    PatternCheck,
    Property,
    PropertyType,
    Range,
    Scalar,
    Unique,
)
from omnigraph.catalog.scalars import traits_of
from omnigraph.catalog.values import ValueRefusedError, stored_value

_ENDPOINTS = frozenset({"src", "dst"})
_ON_INTERFACE_PROPERTIES = frozenset({"index", "key", "unique"})
_SCALARS = frozenset(scalar.value for scalar in Scalar)
_KINDS = {name: kind for kind, name in CONSTRAINT_KINDS.items()}

_Read = TypeVar("_Read")


def catalog_from_ir(document: object) -> Catalog:
    """Read a stored IR document (the parsed JSON of `ir_bytes`); raise `GraphCorrupt` if anything in it is off."""
    root = JsonValue(document, "IR")
    version = root.member("ir_version").value
    if version != IR_VERSION:
        raise root.refuse(f"its version is {version!r}, and this program reads version {IR_VERSION}")
    interfaces = sorted(map(_interface, root.member("interfaces").items()), key=attrgetter("name"))
    interface_ids = {interface.name: interface.type_id for interface in interfaces}
    nodes = sorted((_node(item, interface_ids) for item in root.member("nodes").items()), key=attrgetter("name"))
    node_names = {node.name for node in nodes}
    edges = sorted((_edge(item, node_names) for item in root.member("edges").items()), key=attrgetter("name"))
    catalog = Catalog(
        identity_domain=root.member("schema_identity_domain").text(),
        next_identity_id=root.member("next_identity_id").integer(),
        interfaces=tuple(interfaces),
        nodes=tuple(nodes),
        edges=tuple(edges),
    )
    check_catalog(catalog)
    _compare(root, ir_document(catalog))
    return catalog


def _compare(found: JsonValue, expected: Any) -> None:
    """Refuse the first place where the document differs from what its own catalog would be stored as."""
    if isinstance(expected, dict):
        surplus = {name for name, _ in found.members()} - expected.keys()
        if surplus:
            raise found.refuse(f"the member {min(surplus)!r} is not known")
        for name, member in expected.items():
            _compare(found.member(name), member)
    elif isinstance(expected, list):
        if len(found.items()) != len(expected):
            raise found.refuse(f"{len(expected)} items are expected")
        for item, expected_item in zip(found.items(), expected, strict=True):
            _compare(item, expected_item)
    elif type(found.value) is not type(expected) or found.value != expected:
        raise found.refuse(f"{found.value!r} stands where {expected!r} belongs")


def _interface(item: JsonValue) -> InterfaceType:
    return InterfaceType(
        name=item.member("name").text(),
        type_id=item.member("type_id").integer(),
        properties=_properties(item),
    )


def _node(item: JsonValue, interface_ids: dict[str, int]) -> NodeType:
    properties = _properties(item)
    implements = [_one_of(found.member("name"), interface_ids) for found in item.member("implements").items()]
    return NodeType(
        name=item.member("name").text(),
        type_id=item.member("type_id").integer(),
        table_incarnation_id=item.member("table_incarnation_id").integer(),
        properties=properties,
        constraints=_constraints(item, properties, system_fields=frozenset()),
        annotations=_annotations(item),
        implements=tuple(sorted(implements, key=interface_ids.__getitem__)),
    )


def _edge(item: JsonValue, node_names: set[str]) -> EdgeType:
    properties = _properties(item)
    card = item.member("cardinality")
    return EdgeType(
        name=item.member("name").text(),
        type_id=item.member("type_id").integer(),
        table_incarnation_id=item.member("table_incarnation_id").integer(),
        properties=properties,
        constraints=_constraints(item, properties, system_fields=_ENDPOINTS),
        annotations=_annotations(item),
        from_type=_one_of(item.member("from_type").member("name"), node_names),
        to_type=_one_of(item.member("to_type").member("name"), node_names),
        cardinality=Cardinality(
            low=card.member("min").integer(), high=_optional(card.member("max"), JsonValue.integer)
        ),
    )


def _properties(owner: JsonValue) -> tuple[Property, ...]:
    return tuple(sorted(map(_property, owner.member("properties").items()), key=attrgetter("name")))


def _property(item: JsonValue) -> Property:
    declared_type = _type(item.member("type"))
    satisfies = item.member("satisfies").items() if item.has("satisfies") else []
    written = item.member("property_constraints").items() if item.has("property_constraints") else []
    return Property(
        name=item.member("name").text(),
        property_id=item.member("property_id").integer(),
        type=declared_type,
        annotations=_annotations(item),
        default=_default(item.member("default"), declared_type),
        embed=_optional(item.member("embed_source"), _embed),
        declared_directly=item.member("declared_directly").flag() if item.has("declared_directly") else True,
        satisfies=tuple(sorted(promised.member("property_id").integer() for promised in satisfies)),
        property_constraints=tuple(sorted({_one_of(kind, _ON_INTERFACE_PROPERTIES) for kind in written})),
    )


def _type(item: JsonValue) -> PropertyType:
    scalar = Scalar(_one_of(item.member("scalar"), _SCALARS))
    dimension = _optional(item.member("dim"), JsonValue.integer)
    enum_values = _optional(item.member("enum_values"), _enum_values)
    is_list = item.member("list").flag()
    if (scalar is Scalar.VECTOR) != (dimension is not None) or (dimension is not None and dimension < 1):
        raise item.refuse("a Vector, and nothing else, has a positive dimension")
    if enum_values is not None and (scalar is not Scalar.STRING or is_list or not enum_values):
        raise item.refuse("only a String that is not a list has enum values")
    if is_list and not traits_of(scalar).fits_in_lists:
        raise item.refuse(f"there is no list of {scalar}")
    return PropertyType(
        scalar=scalar,
        nullable=item.member("nullable").flag(),
        is_list=is_list,
        dimension=dimension,
        enum_values=enum_values,
    )


def _enum_values(item: JsonValue) -> tuple[str, ...]:
    return tuple(sorted({value.text() for value in item.items()}))


def _default(item: JsonValue, declared: PropertyType) -> LiteralValue | None:
    if item.is_null:
        return None
    if not declared.is_single:
        raise item.refuse(f"a property of type {declared} has no default")
    try:
        stored_value(item.literal(), declared)
    except ValueRefusedError as refused:
        raise item.refuse(str(refused)) from refused
    return item.literal()


def _embed(item: JsonValue) -> EmbedSource:
    model = _optional(item.member("model"), JsonValue.text)
    return EmbedSource(source=item.member("source").member("name").text(), model=model)


def _annotations(owner: JsonValue) -> tuple[Annotation, ...]:
    return sort_annotations(
        Annotation(
            name=item.member("name").text(),
            value=_optional(item.member("value"), JsonValue.literal),
            kwargs=tuple((name, argument.literal()) for name, argument in item.member("kwargs").members()),
        )
        for item in owner.member("annotations").items()
    )


def _constraints(
    owner: JsonValue, properties: tuple[Property, ...], *, system_fields: frozenset[str]
) -> tuple[Constraint, ...]:
    ids = {declared.name: declared.property_id for declared in properties}
    return sort_constraints(_constraint(item, ids, system_fields) for item in owner.member("constraints").items())


def _constraint(item: JsonValue, ids: dict[str, int], system_fields: frozenset[str]) -> Constraint:
    kind = _KINDS[_one_of(item.member("kind"), _KINDS)]
    if kind is Range:
        return Range(
            property=_one_of(item.member("field").member("name"), ids),
            low=_optional(item.member("min"), JsonValue.number),
            high=_optional(item.member("max"), JsonValue.number),
        )
    if kind is PatternCheck:
        name = _one_of(item.member("field").member("name"), ids)
        return PatternCheck(property=name, pattern=item.member("pattern").text())
    fields = item.member("fields").items()
    names = [
        _one_of(field.member("system"), system_fields) if field.has("system") else _one_of(field.member("name"), ids)
        for field in fields
    ]
    if kind is Key:
        return Key(properties=tuple(sorted(names, key=ids.__getitem__)))
    return Unique(properties=tuple(sorted(names))) if kind is Unique else Index(properties=tuple(sorted(names)))


def _one_of(item: JsonValue, known: Container[str]) -> str:
    name = item.text()
    if name not in known:
        raise item.refuse(f"{name!r} is not known here")
    return name


def _optional(item: JsonValue, read: Callable[[JsonValue], _Read]) -> _Read | None:
    return None if item.is_null else read(item)
