"""The syntax tree of a schema: what was written, before anything is known to be right.

Comments and the interleaving of properties and constraints are not kept. Spans take no part in comparisons, so two
trees are equal when they say the same thing.
"""

from dataclasses import field
from typing import Literal

from omnigraph.base.values import dataclass
from omnigraph.language.source import Name, SourceText, Span

LiteralValue = str | int | float | bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LiteralSyntax:
    """A quoted string, number or boolean."""

    value: LiteralValue
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class WordSyntax:
    """A bare word in an annotation, such as the property in `@embed(body)`."""

    text: str
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgumentSyntax:
    """A keyword argument of an annotation."""

    name: Name
    value: LiteralSyntax


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotationSyntax:
    """`@name`, `@name(value)` or `@name(value, keyword=literal)`."""

    name: Name
    value: LiteralSyntax | WordSyntax | None
    arguments: tuple[ArgumentSyntax, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeSyntax:
    """A property type; `scalar` is the word written, or `String` where `enum(…)` was."""

    scalar: str
    enum_values: tuple[Name, ...] | None = None
    dimension: int | None = None
    is_list: bool = False
    nullable: bool = False
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class PropertySyntax:
    """`name: type` and the annotations that follow."""

    name: Name
    type: TypeSyntax
    annotations: tuple[AnnotationSyntax, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MembersSyntax:
    """`@key(…)`, `@unique(…)` or `@index(…)` in a body."""

    kind: Literal["key", "unique", "index"]
    members: tuple[Name, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeSyntax:
    """`@range(property, low..high)`; at least one bound is set."""

    property: Name
    low: int | float | None
    high: int | float | None
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckSyntax:
    """`@check(property, "pattern")`."""

    property: Name
    pattern: str
    span: Span = field(compare=False, repr=False)


ConstraintSyntax = MembersSyntax | RangeSyntax | CheckSyntax


@dataclass(frozen=True, slots=True, kw_only=True)
class CardSyntax:
    """`@card(low..high)`; without `high` there is no upper bound."""

    low: int
    high: int | None
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class InterfaceSyntax:
    """`interface Name { … }`."""

    name: Name
    properties: tuple[PropertySyntax, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSyntax:
    """`node Name @… implements … { … }`."""

    name: Name
    annotations: tuple[AnnotationSyntax, ...]
    implements: tuple[Name, ...]
    properties: tuple[PropertySyntax, ...]
    constraints: tuple[ConstraintSyntax, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeSyntax:
    """`edge Name: From -> To @… { … }`; a missing body and an empty one are the same."""

    name: Name
    from_type: Name
    to_type: Name
    card: CardSyntax | None
    annotations: tuple[AnnotationSyntax, ...]
    properties: tuple[PropertySyntax, ...]
    constraints: tuple[ConstraintSyntax, ...]


DeclarationSyntax = InterfaceSyntax | NodeSyntax | EdgeSyntax


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaSyntax:
    """A whole schema in the order it was written, with the text that its spans point into."""

    declarations: tuple[DeclarationSyntax, ...]
    source: SourceText = field(compare=False, repr=False)
