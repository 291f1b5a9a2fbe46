"""The canonical layout of a query file."""

from collections.abc import Iterator

from omnigraph.errors import Internal
from omnigraph.language.layout import BlockStyle, Layout, lay_out
from omnigraph.language.query.parser import parse_queries
from omnigraph.language.query.syntax import (
    BindingSyntax,
    ClauseSyntax,
    DeleteSyntax,
    NegationSyntax,
    QueryFileSyntax,
    QuerySyntax,
    ReadSyntax,
)
from omnigraph.language.query.tokens import COMMENT, INTEGER, VARIABLE, WORD, Token, read_tokens_and_comments

_CLINGS_TO_BEFORE = frozenset({",", ")", "]", "?", ".", ":", "("})
_HOLDS_NEXT = frozenset({"(", "[", ".", "@"})
_Start = tuple[int, BlockStyle]


def format_queries(text: str, *, source: str) -> str:
    """Return a query file in its canonical layout, comments included; formatting it again changes nothing.

    Raises `ParseError` for a text that does not parse.
    """
    file = parse_queries(text, source=source)
    written = file.source.text
    tokens = [(kind, written[start:end], start, end) for kind, _, start, end in read_tokens_and_comments(written)[:-1]]
    formatted = lay_out(
        Layout(
            text=written,
            tokens=tokens,
            styles=dict(_starts(file)),
            tight=_tight([token for token in tokens if token[0] is not COMMENT]),
            breaks=frozenset(span.start for query in file.queries for span in query.annotation_spans),
        )
    )
    if parse_queries(formatted, source=source) != file:
        raise Internal(f"Formatting {source} would change what it says, which is a defect in omnigraph; it was left.")
    return formatted


def _starts(file: QueryFileSyntax) -> Iterator[_Start]:
    for query in file.queries:
        if not query.is_bare:
            yield query.span.start, BlockStyle.DECLARATIONS
        yield from _body(query)


def _body(query: QuerySyntax) -> Iterator[_Start]:
    body = query.body
    if isinstance(body, ReadSyntax):
        for span in body.section_spans:
            yield span.start, BlockStyle.LINES
        yield from _clauses(body.clauses, BlockStyle.LINES)
        yield from ((column.span.start, BlockStyle.LIST) for column in body.projections)
        yield from ((key.span.start, BlockStyle.LIST) for key in body.orderings)
        return
    for statement in body.statements:
        yield statement.span.start, BlockStyle.LINES
        if not isinstance(statement, DeleteSyntax):
            for assignment in statement.assignments:
                yield assignment.property.span.start, BlockStyle.LIST


def _clauses(clauses: tuple[ClauseSyntax, ...], style: BlockStyle) -> Iterator[_Start]:
    for clause in clauses:
        yield clause.span.start, style
        if isinstance(clause, NegationSyntax):
            yield from _clauses(clause.clauses, BlockStyle.CLAUSES)
        elif isinstance(clause, BindingSyntax):
            for match in clause.matches:
                yield match.property.span.start, BlockStyle.LIST


def _tight(tokens: list[Token]) -> frozenset[int]:
    """Find the tokens that have no blank before them: punctuation, hop bounds, `<edge>` and `$m:edge`."""
    tight: set[int] = set()
    for place, (kind, text, start, _) in enumerate(tokens):
        before = tokens[place - 1][0] if place else ""
        if kind in _CLINGS_TO_BEFORE or before in _HOLDS_NEXT:
            tight.add(start)
        is_edge = kind == "<" or (kind is WORD and not text[0].isupper())
        if before == ":" and is_edge and place > 1 and tokens[place - 2][0] is VARIABLE:
            tight.add(start)
        if kind == "<" and tokens[place + 2][0] == ">":
            tight.update(token[2] for token in tokens[place + 1 : place + 3])
        if kind == "{" and tokens[place + 1][0] is INTEGER:
            end = next(at for at in range(place, len(tokens)) if tokens[at][0] == "}")
            tight.update(token[2] for token in tokens[place : end + 1])
    return frozenset(tight)
