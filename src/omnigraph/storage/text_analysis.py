"""Texts as words: how a full-text index takes them apart, done here for rows that no index knows.

Lance's own analyser does it, with the very settings of the indexes, so that an answer does not depend on what is
indexed.
"""

from collections.abc import Sequence
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
_TEXTS_KEPT = 1 << 13
_SHORT = 256
"""Texts that are longer take more memory than taking them apart again takes time."""
_WORDS_AT_ONCE = 4_096
_STAYS = "zebra"
"""A word that is no stop word."""


def terms_of(text: str) -> tuple[str, ...]:
    """Return the stems of a text that an index would hold, in their order; stop words are none."""
    return _known_terms(text) if len(text) <= _SHORT else _terms(text)


def _terms(text: str) -> tuple[str, ...]:
    from lance import tokenize

    return tuple(token.text for token in tokenize(text, **FULL_TEXT_SETTINGS))


_known_terms = lru_cache(maxsize=_TEXTS_KEPT)(_terms)


def terms_of_words(words: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the stems of each of many words, or whatever else white space separates in texts.

    To begin with a text costs ten times what a word of it does, so that plain words are put into one.
    """
    from lance import tokenize

    found: list[tuple[str, ...]] = [()] * len(words)
    plain: list[int] = []
    for place, word in enumerate(words):
        if word.isascii() and word.isalnum():
            plain.append(place)
        else:
            found[place] = terms_of(word)
    for start in range(0, len(plain), _WORDS_AT_ONCE):
        some = plain[start : start + _WORDS_AT_ONCE]
        # Places are counted from the first word that stays, stop words included.
        text = " ".join((_STAYS, *(words[place] for place in some)))
        for token in tokenize(text, **FULL_TEXT_SETTINGS)[1:]:
            found[some[token.position - 1]] = (token.text,)
    return found


def words_of(text: str) -> tuple[str, ...]:
    """Return the words of a text in lower case and without accents, as they were written otherwise."""
    return _known_words(text) if len(text) <= _SHORT else _words(text)


def _words(text: str) -> tuple[str, ...]:
    from lance import tokenize

    return tuple(token.text for token in tokenize(text, **_WORD_SETTINGS))


_known_words = lru_cache(maxsize=_TEXTS_KEPT)(_words)
