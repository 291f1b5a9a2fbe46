"""From text to syntax tree.

A syntax error does not end the reading: parsing resumes at the next declaration, so that one run shows every
mistake. A tree is handed out only when there is none.
"""

import re
from functools import cache

from lark import Lark, Token, UnexpectedInput, UnexpectedToken
from lark.utils import TextSlice

from omnigraph.base.units import shorten
from omnigraph.language.problems import Problems
from omnigraph.language.schema.builder import SchemaBuilder, span_of
from omnigraph.language.schema.syntax import SchemaSyntax
from omnigraph.language.source import SourceText, Span, read_source

_TERMINAL_WORDS = {
    "$END": "the end of the text",
    "_INTERFACE": "`interface`",
    "_NODE": "`node`",
    "_EDGE": "`edge`",
    "_IMPLEMENTS": "`implements`",
    "_ENUM": "`enum`",
    "_VECTOR": "`Vector`",
    "_AT": "an annotation",
    "_CARD": "`@card`",
    "KEY": "a constraint",
    "UNIQUE": "a constraint",
    "INDEX": "a constraint",
    "_RANGE": "a constraint",
    "_CHECK": "a constraint",
    "SCALAR": "a scalar type",
    "TYPE_NAME": "a type name",
    "PROPERTY_NAME": "a property name",
    "ANNOTATION_NAME": "an annotation name",
    "ARGUMENT_NAME": "a keyword",
    "ENUM_VALUE": "an enum value",
    "WORD": "a word",
    "INTEGER": "a whole number",
    "SIGNED_INTEGER": "a number",
    "FLOAT": "a number",
    "BOOLEAN": "`true` or `false`",
    "STRING": "a string",
    "NULLABLE": "`?`",
    "LBRACE": "`{`",
    "RBRACE": "`}`",
    "LPAR": "`(`",
    "RPAR": "`)`",
    "LSQB": "`[`",
    "RSQB": "`]`",
    "COLON": "`:`",
    "COMMA": "`,`",
    "EQUAL": "`=`",
    "_ARROW": "`->`",
    "_DOTS": "`..`",
}

_KEYWORDS = ("interface", "node", "edge")
_COMMENT = r"//[^\n]*|/\*(?:[^*]|\*(?!/))*\*/"
_STRING = r'"(?:[^"\\]|\\.)*"'
# The keywords are free as property names and enum values, which the punctuation after them gives away.
_KEYWORD = rf"(?<![A-Za-z0-9_-])(?:{'|'.join(_KEYWORDS)})(?![A-Za-z0-9_])(?!\s*[:,)=-])"
_NEXT_DECLARATION = re.compile(rf"{_COMMENT}|{_STRING}|(?P<keyword>{_KEYWORD})", re.DOTALL)
_FOUND = re.compile(rf"{_STRING}|@?[A-Za-z0-9_]+|->|\.\.|/\*|.", re.DOTALL)
_FOUND_WIDTH_MAX = 40
# What is left of a string or comment whose end is missing; it swallows the rest of the text.
_UNCLOSED = {
    '"': 'the string is not closed: expected `"` before the end of the text',
    "/*": "the comment is not closed: expected `*/` before the end of the text",
}
_SURROGATE = re.compile("[\ud800-\udfff]")


def parse_schema(text: str, *, source: str) -> SchemaSyntax:
    """Parse a schema; `source` is the name that messages show, usually a path.

    Raises `ParseError` with every syntax error of the text, in order. The tree is well formed, not yet checked:
    names may be unknown and types may not fit.
    """
    source_text = read_source(text, name=source)
    problems = Problems(source_text)
    for half in _SURROGATE.finditer(source_text.text):
        problems.add(Span(start=half.start(), end=half.end()), "half of a surrogate pair is not a character")
    schema = _parse_collecting(source_text, problems)
    problems.raise_if_any()
    return schema


def _parse_collecting(source: SourceText, problems: Problems) -> SchemaSyntax:
    """Parse to the end, whatever is wrong; after a problem the result covers only what follows it."""
    start = 0
    while True:
        try:
            tree = _schema_parser().parse(TextSlice(source.text, start, len(source.text)))
        except UnexpectedInput as error:
            start = _report(source.text, error, problems)
        else:
            return SchemaBuilder(source, problems).build(tree)


@cache
def _schema_parser() -> Lark:
    return Lark.open(
        "grammar.lark",
        rel_to=__file__,
        start="schema",
        parser="lalr",
        lexer="contextual",
        propagate_positions=True,
        maybe_placeholders=False,
    )


def _report(text: str, error: UnexpectedInput, problems: Problems) -> int:
    """Note a syntax error and return where the next declaration starts, or the end of the text."""
    stopped = error.interactive_parser
    expected: set[str] = stopped.accepts()  # type: ignore[no-untyped-call]  # lark left this method without types
    if isinstance(error, UnexpectedToken) and error.token.type == "$END":
        # The mistake is after the last token, not after the blank lines and comments that may follow it.
        end = error.token.end_pos or 0
        problems.add(Span(start=end, end=end + 1), f"{_expectation(expected)}, found the end of the text")
        return len(text)
    if expected == {"COLON"} and stopped.parser_state.value_stack[-1] in _KEYWORDS:
        # Where `}` was forgotten, the next declaration reads like a property called `node`.
        keyword: Token = stopped.parser_state.value_stack[-1]
        problems.add(span_of(keyword), f"expected `}}` before `{keyword}`: the body above is not closed")
        return span_of(keyword).start
    position = error.pos_in_stream or 0
    found = next(_FOUND.finditer(text, position))
    problems.add(Span(start=position, end=found.end()), _complaint(found[0], expected))
    if found[0] in _UNCLOSED:
        return len(text)
    return next((match.start() for match in _NEXT_DECLARATION.finditer(text, position) if match["keyword"]), len(text))


def _complaint(found: str, expected: set[str]) -> str:
    if found in _UNCLOSED:
        return _UNCLOSED[found]
    shown = shorten(found.partition("\n")[0], _FOUND_WIDTH_MAX)
    return f"{_expectation(expected)}, found `{shown}`{_hint(found, expected)}"


def _expectation(expected: set[str]) -> str:
    words = sorted({_TERMINAL_WORDS[terminal] for terminal in expected})
    return f"expected {' or '.join(filter(None, (', '.join(words[:-1]), words[-1])))}"


def _hint(found: str, expected: set[str]) -> str:
    if found == "#":
        return "; comments start with `//`"
    if "TYPE_NAME" in expected and found[0].islower():
        return "; type names start with a capital letter"
    if "PROPERTY_NAME" in expected and found[0].isupper():
        return "; property names start with a small letter or `_`"
    return ""
