"""The canonical layout of a schema file.

Unlike `format_schema`, which prints a tree, this keeps comments and the order in which things were written.
"""

import re
from collections.abc import Iterator
from itertools import pairwise

from omnigraph.errors import Internal
from omnigraph.language.layout import COMMENT, BlockStyle, Layout, Token, lay_out
from omnigraph.language.schema.parser import parse_schema
from omnigraph.language.schema.syntax import InterfaceSyntax, SchemaSyntax

# An enum value may hold hyphens; only the arrow of an edge begins with one and is none.
_TOKEN = re.compile(
    r"(?P<comment>//[^\n]*|/\*[^*]*\*+(?:[^/*][^*]*\*+)*/)"
    r'|(?P<string>"[^"\\]*(?:\\.[^"\\]*)*")'
    r"|(?P<word>-?[0-9]+\.[0-9]+|(?:[A-Za-z0-9_]|-(?!>))+)"
    r"|(?P<sign>->|\.\.|[{}()\[\]:,?@=])",
    re.DOTALL,
)
_CLINGS_TO_BEFORE = frozenset({",", ")", "]", "?", ":", "(", "=", ".."})
_HOLDS_NEXT = frozenset({"(", "[", "@", "=", ".."})


def format_schema_source(text: str, *, source: str) -> str:
    """Return a schema file in its canonical layout, comments included; formatting it again changes nothing.

    Raises `ParseError` for a text that does not parse.
    """
    schema = parse_schema(text, source=source)
    tokens = list(_tokens(schema.source.text))
    words = [token for token in tokens if token[0] != COMMENT]
    formatted = lay_out(
        Layout(
            text=schema.source.text,
            tokens=tokens,
            styles=dict(_starts(schema, words)),
            tight=frozenset(_tight(words)),
        )
    )
    if parse_schema(formatted, source=source) != schema:
        raise Internal(f"Formatting {source} would change what it says, which is a defect in omnigraph; it was left.")
    return formatted


def _tokens(text: str) -> Iterator[Token]:
    for match in _TOKEN.finditer(text):
        kind = match[0] if match.lastgroup == "sign" else str(match.lastgroup)
        yield kind, match[0], match.start(), match.end()


def _starts(schema: SchemaSyntax, words: list[Token]) -> Iterator[tuple[int, BlockStyle]]:
    before = {following[2]: token[2] for token, following in pairwise(words)}
    for declaration in schema.declarations:
        # The keyword stands before the name.
        yield before[declaration.name.span.start], BlockStyle.DECLARATIONS
        for declared in declaration.properties:
            yield declared.name.span.start, BlockStyle.LINES
        if not isinstance(declaration, InterfaceSyntax):
            for rule in declaration.constraints:
                yield rule.span.start, BlockStyle.LINES


def _tight(words: list[Token]) -> Iterator[int]:
    before = ""
    for kind, _, start, _ in words:
        # `@range(age, ..99)`: an open beginning stands apart from the comma.
        if (kind in _CLINGS_TO_BEFORE and not (kind == ".." and before == ",")) or before in _HOLDS_NEXT:
            yield start
        before = kind
