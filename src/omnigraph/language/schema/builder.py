"""From lark's parse tree to our syntax tree.

What the grammar cannot say is noted here as a problem: unknown escapes, numbers too large for any column, a repeated
`@card` or keyword.
"""

from typing import Literal, cast

from lark import ParseTree, Token, Tree
from lark.tree import Meta

from omnigraph.language.literals import float_value, integer_value, string_value
from omnigraph.language.problems import Problems
from omnigraph.language.schema.syntax import (
    AnnotationSyntax,
    ArgumentSyntax,
    CardSyntax,
    CheckSyntax,
    ConstraintSyntax,
    DeclarationSyntax,
    EdgeSyntax,
    InterfaceSyntax,
    LiteralSyntax,
    LiteralValue,
    MembersSyntax,
    NodeSyntax,
    PropertySyntax,
    RangeSyntax,
    SchemaSyntax,
    TypeSyntax,
    WordSyntax,
)
from omnigraph.language.source import Name, SourceText, Span

_TRUE = "true"
_MEMBERS_KINDS: dict[str, Literal["key", "unique", "index"]] = {"KEY": "key", "UNIQUE": "unique", "INDEX": "index"}


def span_of(read: Token | Meta) -> Span:
    """Return the characters that a token or a rule covers."""
    return Span(start=cast("int", read.start_pos), end=cast("int", read.end_pos))


class SchemaBuilder:
    """Builds one schema and notes what is wrong with its literals on the way."""

    def __init__(self, source: SourceText, problems: Problems) -> None:
        self._source = source
        self._problems = problems

    def build(self, tree: ParseTree) -> SchemaSyntax:
        """Build the tree of a `schema` rule."""
        return SchemaSyntax(declarations=tuple(map(self._declaration, _rules(tree))), source=self._source)

    def _declaration(self, tree: ParseTree) -> DeclarationSyntax:
        if tree.data == "interface":
            (name,) = _names(tree, "TYPE_NAME")
            return InterfaceSyntax(name=name, properties=self._properties(tree))
        return self._node(tree) if tree.data == "node" else self._edge(tree)

    def _node(self, tree: ParseTree) -> NodeSyntax:
        name, *implements = _names(tree, "TYPE_NAME")
        return NodeSyntax(
            name=name,
            annotations=self._annotations(tree),
            implements=tuple(implements),
            properties=self._properties(tree),
            constraints=self._constraints(tree),
        )

    def _edge(self, tree: ParseTree) -> EdgeSyntax:
        name, from_type, to_type = _names(tree, "TYPE_NAME")
        cards = [self._card(child) for child in _rules(tree, "card")]
        for repeated in cards[1:]:
            self._problems.add(repeated.span, f"edge {name} has more than one @card")
        return EdgeSyntax(
            name=name,
            from_type=from_type,
            to_type=to_type,
            card=cards[0] if cards else None,
            annotations=self._annotations(tree),
            properties=self._properties(tree),
            constraints=self._constraints(tree),
        )

    def _card(self, tree: ParseTree) -> CardSyntax:
        low, *high = (self._integer(token) for token in _tokens(tree, "INTEGER"))
        return CardSyntax(low=low, high=high[0] if high else None, span=span_of(tree.meta))

    def _properties(self, tree: ParseTree) -> tuple[PropertySyntax, ...]:
        return tuple(map(self._property, _rules(tree, "property")))

    def _property(self, tree: ParseTree) -> PropertySyntax:
        (name,) = _names(tree, "PROPERTY_NAME")
        (type_tree,) = _rules(tree, "type")
        return PropertySyntax(name=name, type=self._type(type_tree), annotations=self._annotations(tree))

    def _type(self, tree: ParseTree) -> TypeSyntax:
        core = tree.children[0]
        nullable = bool(_tokens(tree, "NULLABLE"))
        span = span_of(tree.meta)
        if isinstance(core, Token):
            return TypeSyntax(scalar=str(core), nullable=nullable, span=span)
        if core.data == "list":
            (item,) = _tokens(core, "SCALAR")
            return TypeSyntax(scalar=str(item), is_list=True, nullable=nullable, span=span)
        if core.data == "enum":
            return TypeSyntax(scalar="String", enum_values=_names(core, "ENUM_VALUE"), nullable=nullable, span=span)
        (dimension,) = _tokens(core, "INTEGER")
        return TypeSyntax(scalar="Vector", dimension=self._integer(dimension), nullable=nullable, span=span)

    def _annotations(self, tree: ParseTree) -> tuple[AnnotationSyntax, ...]:
        return tuple(map(self._annotation, _rules(tree, "annotation")))

    def _annotation(self, tree: ParseTree) -> AnnotationSyntax:
        name, *values = _tokens(tree)
        arguments = tuple(map(self._argument, _rules(tree, "argument")))
        keywords = [argument.name for argument in arguments]
        for position, keyword in enumerate(keywords):
            if keyword in keywords[:position]:
                self._problems.add(keyword.span, f"@{name} has the keyword `{keyword}` more than once")
        return AnnotationSyntax(
            name=_name(name),
            value=self._annotation_value(values[0]) if values else None,
            arguments=arguments,
            span=span_of(tree.meta),
        )

    def _annotation_value(self, token: Token) -> LiteralSyntax | WordSyntax:
        return WordSyntax(text=str(token), span=span_of(token)) if token.type == "WORD" else self._literal(token)

    def _argument(self, tree: ParseTree) -> ArgumentSyntax:
        name, value = _tokens(tree)
        return ArgumentSyntax(name=_name(name), value=self._literal(value))

    def _constraints(self, tree: ParseTree) -> tuple[ConstraintSyntax, ...]:
        return tuple(map(self._constraint, _rules(tree, "members", "range", "range_below", "check")))

    def _constraint(self, tree: ParseTree) -> ConstraintSyntax:
        span = span_of(tree.meta)
        names = _names(tree, "PROPERTY_NAME")
        if tree.data == "members":
            (kind,) = _tokens(tree, *_MEMBERS_KINDS)
            return MembersSyntax(kind=_MEMBERS_KINDS[kind.type], members=names, span=span)
        if tree.data == "check":
            (pattern,) = _tokens(tree, "STRING")
            return CheckSyntax(property=names[0], pattern=self._string(pattern), span=span)
        numbers = [self._number(token) for token in _tokens(tree, "FLOAT", "SIGNED_INTEGER")]
        low = None if tree.data == "range_below" else numbers[0]
        high = numbers[-1] if low is None or len(numbers) > 1 else None
        return RangeSyntax(property=names[0], low=low, high=high, span=span)

    def _literal(self, token: Token) -> LiteralSyntax:
        return LiteralSyntax(value=self._literal_value(token), span=span_of(token))

    def _literal_value(self, token: Token) -> LiteralValue:
        if token.type == "STRING":
            return self._string(token)
        if token.type == "BOOLEAN":
            return str(token) == _TRUE
        return self._number(token)

    def _number(self, token: Token) -> int | float:
        return float_value(token, span_of(token), self._problems) if token.type == "FLOAT" else self._integer(token)

    def _integer(self, token: Token) -> int:
        return integer_value(token, span_of(token), self._problems)

    def _string(self, token: Token) -> str:
        return string_value(token, span_of(token), self._problems)


def _rules(tree: ParseTree, *rules: str) -> list[ParseTree]:
    return [child for child in tree.children if isinstance(child, Tree) and (not rules or child.data in rules)]


def _tokens(tree: ParseTree, *terminals: str) -> list[Token]:
    return [child for child in tree.children if isinstance(child, Token) and (not terminals or child.type in terminals)]


def _names(tree: ParseTree, terminal: str) -> tuple[Name, ...]:
    return tuple(map(_name, _tokens(tree, terminal)))


def _name(token: Token) -> Name:
    return Name(text=str(token), span=span_of(token))
