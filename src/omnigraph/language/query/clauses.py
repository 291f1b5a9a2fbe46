"""The clauses of `match` and of `not`.

The contract tries its alternatives in order and takes the first that parses. No clause needs more than three tokens
to be told from the others, so nothing is ever read twice; `_is_traversal` is where the alternatives touch.
"""

from typing import Final, cast

from omnigraph.language.literals import integer_value
from omnigraph.language.query.expressions import (
    read_expression,
    read_property_name,
    read_value,
    read_variable,
    starts_small,
)
from omnigraph.language.query.syntax import (
    BindingSyntax,
    CallSyntax,
    ClauseSyntax,
    Comparison,
    FilterSyntax,
    HopsSyntax,
    MatchSyntax,
    NegationSyntax,
    Operator,
    TextClauseSyntax,
    TraversalSyntax,
)
from omnigraph.language.query.tokens import INTEGER, VARIABLE, WORD, Cursor
from omnigraph.language.source import Name, Span

_COMPARISONS: Final = frozenset({">=", "<=", "!=", ">", "<", "="})
_WORD_OPERATORS: Final = frozenset({"contains", "starts_with"})
_TEXT_CLAUSES: Final = frozenset({"search", "fuzzy", "match_text"})
_CLAUSE: Final = "a clause"
_OPERATOR: Final = "an operator (`=`, `!=`, `<`, `<=`, `>`, `>=`, `contains`, `starts_with`)"


def read_clauses(cursor: Cursor) -> tuple[ClauseSyntax, ...]:
    """Read `{ clause … }`, at least one."""
    cursor.expect("{")
    clauses = [_read_clause(cursor)]
    while cursor.kind != "}":
        clauses.append(_read_clause(cursor, "`}`"))
    cursor.advance()
    return tuple(clauses)


def read_comparison(cursor: Cursor) -> Comparison:
    """Read one of the six comparisons."""
    if cursor.kind not in _COMPARISONS:
        cursor.fail("a comparison (`=`, `!=`, `<`, `<=`, `>`, `>=`)")
    return cast("Comparison", cursor.advance()[0])


def read_type_name(cursor: Cursor) -> Name:
    """Read the name of a node or edge type."""
    return cursor.expect_name(
        "a type name", lambda word: word[0].isupper(), hint="; type names start with a capital letter"
    )


def _read_clause(cursor: Cursor, *others: str) -> ClauseSyntax:
    following = cursor.peek()[0]
    if cursor.kind is VARIABLE:
        if following == ":":
            return _read_binding(cursor)
        if _is_traversal(cursor):
            return _read_traversal(cursor)
    elif cursor.kind is WORD and cursor.text == "not" and following == "{":
        return _read_negation(cursor)
    return _read_filter(cursor, others)


def _is_traversal(cursor: Cursor) -> bool:
    _, (kind, word, _, _), (second, _, _, _), (third, _, _, _) = (cursor.peek(ahead) for ahead in range(4))
    if kind == "<":
        # `$a < name` compares; only the bracket that closes makes an edge out of the name.
        return second is WORD and third == ">"
    if kind is WORD and word in _WORD_OPERATORS:
        # `$q contains $m` is an edge called `contains`; `$q contains $m.name` cannot be one.
        return second == "{" or (second is VARIABLE and third != ".")
    return kind is VARIABLE or kind is WORD


def _read_negation(cursor: Cursor) -> NegationSyntax:
    _, _, start, _ = cursor.advance()
    cursor.descend()
    clauses = read_clauses(cursor)
    cursor.ascend()
    return NegationSyntax(clauses=clauses, span=cursor.span_from(start))


def _read_binding(cursor: Cursor) -> BindingSyntax:
    variable = read_variable(cursor)
    cursor.expect(":")
    type_name = read_type_name(cursor)
    matches: list[MatchSyntax] = []
    if cursor.accept("{"):
        while cursor.kind != "}":
            name = read_property_name(cursor, "`}`")
            cursor.expect(":")
            matches.append(MatchSyntax(property=name, value=read_value(cursor)))
            if not cursor.accept(","):
                break
        cursor.expect("}", *(("`,`",) if matches else ()))
    span = cursor.span_from(variable.span.start)
    return BindingSyntax(variable=variable, type_name=type_name, matches=tuple(matches), span=span)


def _read_traversal(cursor: Cursor) -> TraversalSyntax:
    left = read_variable(cursor)
    edge_variable = None
    if cursor.kind is VARIABLE:
        edge_variable = read_variable(cursor)
        cursor.expect(":")
    is_shortest = _accept_shortest(cursor)
    is_undirected = cursor.accept("<")
    edge = _read_edge_word(cursor)
    if is_undirected:
        cursor.expect(">")
    hops = _read_hops(cursor) if cursor.kind == "{" else None
    if cursor.kind is not VARIABLE:
        cursor.fail("a variable", *(() if hops else ("hop bounds such as `{1,2}`",)))
    right = read_variable(cursor)
    return TraversalSyntax(
        left=left,
        edge_variable=edge_variable,
        is_shortest=is_shortest,
        edge=edge,
        is_undirected=is_undirected,
        hops=hops,
        right=right,
        span=cursor.span_from(left.span.start),
    )


def _accept_shortest(cursor: Cursor) -> bool:
    """Read `shortest` where an edge follows it; otherwise it is an edge of that name."""
    is_there = cursor.is_word("shortest") and cursor.peek()[0] in (WORD, "<")
    if is_there:
        cursor.advance()
    return is_there


def _read_edge_word(cursor: Cursor) -> Name:
    if cursor.is_word("not"):
        cursor.fail("an edge", hint="; no edge is called `not`")
    return cursor.expect_name(
        "an edge", starts_small, hint="; an edge is written with a small first letter, `Knows` as `knows`"
    )


def _read_hops(cursor: Cursor) -> HopsSyntax:
    _, _, start, _ = cursor.advance()
    low = _read_count(cursor)
    cursor.expect(",")
    high = None if cursor.kind == "}" else _read_count(cursor, "`}`")
    cursor.expect("}")
    return HopsSyntax(low=low, high=high, span=cursor.span_from(start))


def _read_count(cursor: Cursor, *others: str) -> int:
    if cursor.kind is INTEGER and cursor.text[0] == "-":
        cursor.fail("a whole number without a sign", *others)
    _, text, start, end = cursor.expect(INTEGER, *others)
    return integer_value(text, Span(start=start, end=end), cursor.problems)


def _read_filter(cursor: Cursor, others: tuple[str, ...]) -> FilterSyntax | TextClauseSyntax:
    start = cursor.start
    left = read_expression(cursor, *others, what=_CLAUSE)
    if cursor.kind in _COMPARISONS or (cursor.kind is WORD and cursor.text in _WORD_OPERATORS):
        operator = cast("Operator", cursor.advance()[1])
        if cursor.kind == "=":
            cursor.fail("an expression", hint="; two values are compared with one `=`")
        return FilterSyntax(left=left, operator=operator, right=read_expression(cursor), span=cursor.span_from(start))
    if not isinstance(left, CallSyntax) or left.function not in _TEXT_CLAUSES:
        cursor.fail(_OPERATOR)
    return TextClauseSyntax(call=left, span=left.span)
