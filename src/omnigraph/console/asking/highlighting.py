"""Colours of a query's text, from the same tokens that the parser reads."""

from typing import Any

from omnigraph.language.query.tokens import (
    BAD,
    COMMENT,
    END,
    FLOAT,
    INTEGER,
    STRING,
    VARIABLE,
    WORD,
    Token,
    read_tokens_and_comments,
)
from omnigraph.query.offers import KEYWORDS

_LETTERS_MAX = 20_000
"""Longer texts stay without colours, so that typing in them stays smooth."""
_CLASS_BY_KIND = {
    COMMENT: "og-gq-comment",
    FLOAT: "og-gq-number",
    INTEGER: "og-gq-number",
    STRING: "og-gq-string",
    VARIABLE: "og-gq-variable",
    BAD: "og-gq-bad",
}
_AFTER_NAME = frozenset({".", ":"})


def highlighted(text: str) -> list[dict[str, Any]]:
    """Return the marks of an editor that colour a text; offsets count characters."""
    if len(text) > _LETTERS_MAX:
        return []
    tokens = read_tokens_and_comments(text)
    marks = []
    for place, (kind, word, start, end) in enumerate(tokens):
        if kind is END:
            break
        found = _word_class(word, tokens, place) if kind is WORD else _CLASS_BY_KIND.get(kind)
        if found is not None:
            marks.append({"kind": "mark", "from": start, "to": end, "class": found})
    return marks


def _word_class(word: str, tokens: list[Token], place: int) -> str | None:
    """Tell keywords from names: no word is reserved, so what stands beside it decides."""
    if word[0].isupper():
        return "og-gq-type"
    before = tokens[place - 1][0] if place else ""
    is_name = before == "." or tokens[place + 1][0] in _AFTER_NAME
    return "og-gq-keyword" if word in KEYWORDS and not is_name else None
