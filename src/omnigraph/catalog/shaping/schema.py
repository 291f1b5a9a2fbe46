"""All declarations of a schema together: unique names, known endpoints, and one shape out of many bodies."""

from collections.abc import Iterable
from dataclasses import replace
from operator import attrgetter

from omnigraph.catalog.model import Cardinality, PropertyType, Scalar
from omnigraph.catalog.shape import EdgeShape, InterfaceShape, NodeShape, PropertyShape, SchemaShape, TypeKind
from omnigraph.catalog.shaping.annotations import read_type_annotations
from omnigraph.catalog.shaping.constraints import PropertyByName, collect_constraints
from omnigraph.catalog.shaping.declared import DeclaredProperty, Owner
from omnigraph.catalog.shaping.interfaces import InterfaceByName, add_interface_properties
from omnigraph.catalog.shaping.properties import check_letter_case, declare_properties
from omnigraph.language.problems import Problems
from omnigraph.language.schema.syntax import CardSyntax, EdgeSyntax, InterfaceSyntax, NodeSyntax, SchemaSyntax
from omnigraph.language.source import Name

_EMBEDDABLE = frozenset({PropertyType(scalar=Scalar.STRING), PropertyType(scalar=Scalar.STRING, nullable=True)})


def shape_schema(schema: SchemaSyntax) -> SchemaShape:
    """Check a parsed schema and give it its shape, which does not depend on the order of declarations.

    Raises `ParseError` with every mistake, in the order of the text.
    """
    problems = Problems(schema.source)
    interfaces = [found for found in schema.declarations if isinstance(found, InterfaceSyntax)]
    nodes = [found for found in schema.declarations if isinstance(found, NodeSyntax)]
    edges = [found for found in schema.declarations if isinstance(found, EdgeSyntax)]
    _check_names("interface", [interface.name for interface in interfaces], problems)
    _check_names("node", [node.name for node in nodes], problems)
    _check_names("edge", [edge.name for edge in edges], problems)
    promises = {interface.name.text: _promises(interface, problems) for interface in interfaces}
    node_names = {node.name.text for node in nodes}
    node_shapes = [_node(node, promises, problems) for node in nodes]
    edge_shapes = [_edge(edge, node_names, problems) for edge in edges]
    problems.raise_if_any()
    return SchemaShape(
        interfaces=tuple(_interface(name, promises[name]) for name in sorted(promises)),
        nodes=tuple(sorted(node_shapes, key=attrgetter("name"))),
        edges=tuple(sorted(edge_shapes, key=attrgetter("name"))),
    )


def _check_names(kind: TypeKind, names: Iterable[Name], problems: Problems) -> None:
    first: dict[str, Name] = {}
    for name in names:
        # Queries find an edge whatever its letter case; node types and interfaces are always spelled exactly.
        earlier = first.setdefault(name.text.casefold() if kind == "edge" else name.text, name)
        if earlier.text != name.text:
            problems.add(name.span, f"the edge types {earlier} and {name} differ only in letter case")
        elif earlier is not name:
            problems.add(name.span, f"duplicate {kind} type {name}")


def _promises(interface: InterfaceSyntax, problems: Problems) -> tuple[DeclaredProperty, ...]:
    owner = Owner(kind="interface", name=interface.name.text)
    return declare_properties(owner, interface.properties, problems)


def _interface(name: str, declared: tuple[DeclaredProperty, ...]) -> InterfaceShape:
    properties = sorted((found.shape for found in declared), key=attrgetter("name"))
    return InterfaceShape(name=name, properties=tuple(properties))


def _node(node: NodeSyntax, promises: InterfaceByName, problems: Problems) -> NodeShape:
    owner = Owner(kind="node", name=node.name.text)
    own = declare_properties(owner, node.properties, problems)
    effective = add_interface_properties(owner, own, node.implements, promises, problems)
    check_letter_case(owner, effective, problems)
    by_name = {declared.shape.name: declared for declared in effective}
    _check_embed_sources(owner, by_name, problems)
    annotations = read_type_annotations(owner, node.annotations, problems)
    return NodeShape(
        name=owner.name,
        properties=_entity_properties(effective),
        constraints=collect_constraints(owner, by_name, node.constraints, problems),
        annotations=annotations.kept,
        implements=tuple(sorted({name.text for name in node.implements})),
        rename_from=annotations.rename_from,
    )


def _edge(edge: EdgeSyntax, node_names: set[str], problems: Problems) -> EdgeShape:
    owner = Owner(kind="edge", name=edge.name.text)
    for role, endpoint in (("source", edge.from_type), ("target", edge.to_type)):
        if endpoint.text not in node_names:
            problems.add(endpoint.span, f"the {role} {endpoint} of {owner} is not a declared node type")
    declared = declare_properties(owner, edge.properties, problems)
    check_letter_case(owner, declared, problems)
    by_name = {found.shape.name: found for found in declared}
    annotations = read_type_annotations(owner, edge.annotations, problems)
    return EdgeShape(
        name=owner.name,
        from_type=edge.from_type.text,
        to_type=edge.to_type.text,
        cardinality=_cardinality(owner, edge.card, problems),
        properties=_entity_properties(declared),
        constraints=collect_constraints(owner, by_name, edge.constraints, problems),
        annotations=annotations.kept,
        rename_from=annotations.rename_from,
    )


def _cardinality(owner: Owner, card: CardSyntax | None, problems: Problems) -> Cardinality:
    if card is None:
        return Cardinality()
    if card.high is not None and card.low > card.high:
        message = f"the cardinality of {owner} is impossible: its minimum {card.low} is above its maximum {card.high}"
        problems.add(card.span, message)
    return Cardinality(low=card.low, high=card.high)


def _check_embed_sources(owner: Owner, properties: PropertyByName, problems: Problems) -> None:
    for name, declared in properties.items():
        embed = declared.shape.embed
        if embed is None:
            continue
        target = f"{owner.name}.{name}"
        source = properties.get(embed.source)
        if source is None:
            problems.add(declared.span_of("embed"), f"@embed on {target} names the unknown property {embed.source}")
        elif source.shape.type not in _EMBEDDABLE:
            message = f"@embed on {target} needs a String as its source; {embed.source} is {source.shape.type}"
            problems.add(declared.span_of("embed"), message)


def _entity_properties(declared: Iterable[DeclaredProperty]) -> tuple[PropertyShape, ...]:
    """Drop what became constraints of the type, so that both spellings of a constraint give the same shape."""
    shapes = (replace(found.shape, property_constraints=()) for found in declared)
    return tuple(sorted(shapes, key=attrgetter("name")))
