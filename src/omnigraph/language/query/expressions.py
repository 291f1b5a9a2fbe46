"""Values and expressions: everything that can stand on one side of an operator."""

from collections.abc import Callable
from typing import Final, cast

from omnigraph.base.nearest import nearest
from omnigraph.language.literals import float_value, integer_value, string_value
from omnigraph.language.query.syntax import (
    AccessSyntax,
    AggregateFunction,
    AggregateSyntax,
    AliasSyntax,
    CallSyntax,
    ConstantSyntax,
    ExpressionSyntax,
    ListSyntax,
    LiteralSyntax,
    MomentSyntax,
    NowSyntax,
    SearchFunction,
    ValueSyntax,
    VariableSyntax,
)
from omnigraph.language.query.tokens import FLOAT, INTEGER, STRING, VARIABLE, WORD, Cursor
from omnigraph.language.source import Name, Span

_ARGUMENTS: Final[dict[str, tuple[int, int]]] = {
    "nearest": (2, 2),
    "search": (2, 2),
    "fuzzy": (2, 3),
    "match_text": (2, 2),
    "bm25": (2, 2),
    "rrf": (2, 3),
}
_AGGREGATES: Final = frozenset({"count", "sum", "avg", "min", "max"})
_MOMENTS: Final = frozenset({"date", "datetime"})
_FUNCTIONS: Final = frozenset({*_ARGUMENTS, *_AGGREGATES, *_MOMENTS, "now"})
_BOOLEANS: Final = {"true": True, "false": False}


def read_variable(cursor: Cursor) -> VariableSyntax:
    """Read `$name`."""
    _, name, start, end = cursor.expect(VARIABLE)
    return VariableSyntax(name=name, span=Span(start=start, end=end))


def read_property_name(cursor: Cursor, *others: str) -> Name:
    """Read the name of a property."""
    if cursor.kind is not WORD:
        cursor.fail(*others, "a property name")
    return cursor.expect_name("a property name", starts_small, hint="; property names start with a small letter or `_`")


def starts_small(word: str) -> bool:
    """Tell whether a word can name a property, an edge or a variable."""
    return not word[0].isupper()


def read_value(cursor: Cursor, *others: str) -> ValueSyntax:
    """Read a literal, a variable or `now()`; `others` could stand here too, for the message."""
    if cursor.kind is VARIABLE:
        return read_variable(cursor)
    if cursor.kind is WORD and cursor.text == "now":
        return _read_now(cursor)
    constant = _read_constant(cursor)
    if constant is None:
        hint = "; null never matches anything" if cursor.is_word("null") else ""
        cursor.fail(*others, "a literal", "a variable", "`now()`", hint=hint)
    return constant


def read_expression(cursor: Cursor, *others: str, what: str = "an expression") -> ExpressionSyntax:
    """Read an expression; messages call it `what`, and `others` could stand here too."""
    cursor.descend()
    expression = _read_expression(cursor, (*others, what))
    cursor.ascend()
    return expression


def _read_expression(cursor: Cursor, expected: tuple[str, ...]) -> ExpressionSyntax:
    if cursor.kind is VARIABLE:
        variable = read_variable(cursor)
        if not cursor.accept("."):
            return variable
        name = read_property_name(cursor)
        return AccessSyntax(variable=variable, property=name, span=cursor.span_from(variable.span.start))
    if cursor.kind is WORD and cursor.text not in _BOOLEANS:
        return _read_word(cursor)
    constant = _read_constant(cursor)
    if constant is None:
        cursor.fail(*expected)
    return constant


def _read_word(cursor: Cursor) -> ExpressionSyntax:
    word, start = cursor.text, cursor.start
    if cursor.peek()[0] != "(":
        cursor.advance()
        return AliasSyntax(name=word, span=cursor.span_from(start))
    if word in _ARGUMENTS:
        return _read_call(cursor)
    if word in _AGGREGATES:
        return _read_aggregate(cursor)
    if word == "now":
        return _read_now(cursor)
    if word not in _MOMENTS:
        meant = nearest(word, _FUNCTIONS)
        cursor.stop(f"there is no function `{word}`" + (f"; did you mean `{meant}`?" if meant else ""))
    return _read_moment(cursor)


def _read_call(cursor: Cursor) -> CallSyntax:
    _, function, start, _ = cursor.advance()
    cursor.expect("(")
    count_min, count_max = _ARGUMENTS[function]
    arguments = [read_expression(cursor)]
    while len(arguments) < count_max:
        if len(arguments) >= count_min and cursor.kind != ",":
            break
        cursor.expect(",")
        arguments.append(read_expression(cursor))
    cursor.expect(")", *(() if len(arguments) == count_max else ("`,`",)))
    return CallSyntax(
        function=cast("SearchFunction", function), arguments=tuple(arguments), span=cursor.span_from(start)
    )


def _read_aggregate(cursor: Cursor) -> AggregateSyntax:
    _, function, start, _ = cursor.advance()
    cursor.expect("(")
    argument = read_expression(cursor)
    cursor.expect(")")
    return AggregateSyntax(
        function=cast("AggregateFunction", function), argument=argument, span=cursor.span_from(start)
    )


def _read_now(cursor: Cursor) -> NowSyntax:
    _, _, start, _ = cursor.advance()
    cursor.expect("(")
    cursor.expect(")")
    return NowSyntax(span=cursor.span_from(start))


def _read_constant(cursor: Cursor) -> ConstantSyntax | None:
    reader = _CONSTANTS.get(cursor.kind)
    return reader(cursor) if reader is not None else None


def _read_string(cursor: Cursor) -> LiteralSyntax:
    return _literal(cursor, string_value)


def _read_integer(cursor: Cursor) -> LiteralSyntax:
    return _literal(cursor, integer_value)


def _read_float(cursor: Cursor) -> LiteralSyntax:
    return _literal(cursor, float_value)


def _literal(cursor: Cursor, value_of: Callable[..., str | float]) -> LiteralSyntax:
    _, text, start, end = cursor.advance()
    span = Span(start=start, end=end)
    return LiteralSyntax(value=value_of(text, span, cursor.problems), span=span)


def _read_constant_word(cursor: Cursor) -> ConstantSyntax | None:
    if cursor.text in _BOOLEANS:
        _, text, start, end = cursor.advance()
        return LiteralSyntax(value=_BOOLEANS[text], span=Span(start=start, end=end))
    return _read_moment(cursor) if cursor.text in _MOMENTS and cursor.peek()[0] == "(" else None


def _read_moment(cursor: Cursor) -> MomentSyntax:
    _, kind, start, _ = cursor.advance()
    cursor.expect("(")
    _, written, text_start, text_end = cursor.expect(STRING)
    text = string_value(written, Span(start=text_start, end=text_end), cursor.problems)
    cursor.expect(")")
    return MomentSyntax(kind="date" if kind == "date" else "datetime", text=text, span=cursor.span_from(start))


def _read_list(cursor: Cursor) -> ListSyntax:
    cursor.descend()
    _, _, start, _ = cursor.advance()
    items: list[ConstantSyntax] = []
    while cursor.kind != "]" or items:
        item = _read_constant(cursor)
        if item is None:
            cursor.fail("a literal", *(() if items else ("`]`",)))
        items.append(item)
        if not cursor.accept(","):
            break
    cursor.expect("]", *(("`,`",) if items else ()))
    cursor.ascend()
    return ListSyntax(items=tuple(items), span=cursor.span_from(start))


_CONSTANTS: Final[dict[str, Callable[[Cursor], ConstantSyntax | None]]] = {
    STRING: _read_string,
    INTEGER: _read_integer,
    FLOAT: _read_float,
    WORD: _read_constant_word,
    "[": _read_list,
}
