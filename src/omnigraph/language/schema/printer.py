"""The canonical spelling of a schema: four spaces, properties before constraints, one blank line between types.

Printing and parsing again gives an equal tree; the order of declarations is kept.
"""

from omnigraph.language.literals import spell_literal
from omnigraph.language.schema.syntax import (
    AnnotationSyntax,
    CardSyntax,
    CheckSyntax,
    ConstraintSyntax,
    DeclarationSyntax,
    EdgeSyntax,
    InterfaceSyntax,
    LiteralSyntax,
    MembersSyntax,
    NodeSyntax,
    PropertySyntax,
    SchemaSyntax,
    TypeSyntax,
    WordSyntax,
)
from omnigraph.language.source import Name


def format_schema(schema: SchemaSyntax) -> str:
    """Print a schema in its canonical spelling; comments are not part of a tree and do not come back."""
    return "\n\n".join(map(_declaration, schema.declarations)) + ("\n" if schema.declarations else "")


def _declaration(declaration: DeclarationSyntax) -> str:
    if isinstance(declaration, InterfaceSyntax):
        return f"interface {declaration.name} {_body(declaration.properties, ())}"
    body = _body(declaration.properties, declaration.constraints)
    if isinstance(declaration, NodeSyntax):
        return f"{_node_header(declaration)} {body}"
    return _edge_header(declaration) + (f" {body}" if declaration.properties or declaration.constraints else "")


def _node_header(node: NodeSyntax) -> str:
    implements = (f"implements {_listed(node.implements)}",) if node.implements else ()
    return " ".join((f"node {node.name}", *map(_annotation, node.annotations), *implements))


def _edge_header(edge: EdgeSyntax) -> str:
    cards = (_card(edge.card),) if edge.card else ()
    header = f"edge {edge.name}: {edge.from_type} -> {edge.to_type}"
    return " ".join((header, *cards, *map(_annotation, edge.annotations)))


def _card(card: CardSyntax) -> str:
    return f"@card({card.low}..{'' if card.high is None else card.high})"


def _body(properties: tuple[PropertySyntax, ...], constraints: tuple[ConstraintSyntax, ...]) -> str:
    groups = ([_property(declared) for declared in properties], [_constraint(rule) for rule in constraints])
    lines = "\n\n".join("\n".join(f"    {line}" for line in group) for group in groups if group)
    return f"{{\n{lines}\n}}" if lines else "{}"


def _property(declared: PropertySyntax) -> str:
    return " ".join((f"{declared.name}: {_type(declared.type)}", *map(_annotation, declared.annotations)))


def _type(written: TypeSyntax) -> str:
    if written.enum_values is not None:
        core = f"enum({_listed(written.enum_values)})"
    elif written.dimension is not None:
        core = f"Vector({written.dimension})"
    else:
        core = f"[{written.scalar}]" if written.is_list else written.scalar
    return core + ("?" if written.nullable else "")


def _annotation(annotation: AnnotationSyntax) -> str:
    if annotation.value is None:
        return f"@{annotation.name}"
    arguments = (f"{argument.name}={spell_literal(argument.value.value)}" for argument in annotation.arguments)
    return f"@{annotation.name}({', '.join((_annotation_value(annotation.value), *arguments))})"


def _annotation_value(value: LiteralSyntax | WordSyntax) -> str:
    return value.text if isinstance(value, WordSyntax) else spell_literal(value.value)


def _constraint(rule: ConstraintSyntax) -> str:
    if isinstance(rule, MembersSyntax):
        return f"@{rule.kind}({_listed(rule.members)})"
    if isinstance(rule, CheckSyntax):
        return f"@check({rule.property}, {spell_literal(rule.pattern)})"
    low = "" if rule.low is None else spell_literal(rule.low)
    high = "" if rule.high is None else spell_literal(rule.high)
    return f"@range({rule.property}, {low}..{high})"


def _listed(names: tuple[Name, ...]) -> str:
    return ", ".join(name.text for name in names)
