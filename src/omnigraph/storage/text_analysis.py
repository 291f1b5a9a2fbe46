"""Texts as words: how a full-text index takes them apart, done here for rows that no index knows.

Lance's own analyser does it, with the very settings of the indexes, so that an answer does not depend on what is
indexed.
"""

from functools import lru_cache
from typing import Any, Final

FULL_TEXT_SETTINGS: Final[dict[str, Any]] = {
    "base_tokenizer": "simple",
    "language": "English",
    "lower_case": True,
    "ascii_folding": True,
    "stem": True,
    "remove_stop_words": True,
    "max_token_length": 40,
}
_WORD_SETTINGS = {**FULL_TEXT_SETTINGS, "stem": False, "remove_stop_words": False}
_TEXTS_KEPT = 1 << 15


@lru_cache(maxsize=_TEXTS_KEPT)
def terms_of(text: str) -> tuple[str, ...]:
    """Return the stems of a text that an index would hold, in their order; stop words are none."""
    from lance import tokenize

    return tuple(token.text for token in tokenize(text, **FULL_TEXT_SETTINGS))


@lru_cache(maxsize=_TEXTS_KEPT)
def words_of(text: str) -> tuple[str, ...]:
    """Return the words of a text in lower case and without accents, as they were written otherwise."""
    from lance import tokenize

    return tuple(token.text for token in tokenize(text, **_WORD_SETTINGS))
