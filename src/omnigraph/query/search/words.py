"""What a text must say to match: any word, all words, or a word that is spelled nearly so."""

from collections.abc import Callable
from functools import lru_cache

from omnigraph.errors import QueryExecution
from omnigraph.query.typed import TextMatch
from omnigraph.storage.text_analysis import terms_of, words_of

_WORD_PAIRS_KEPT = 1 << 16


def judge_of(match: TextMatch, query: str, edits: int | None) -> Callable[[str], bool]:
    """Return what decides whether a text matches."""
    match match.function:
        case "search":
            wanted = frozenset(terms_of(query))
            return lambda text: not wanted.isdisjoint(terms_of(text))
        case "match_text":
            wanted = frozenset(terms_of(query))
            return lambda text: bool(wanted) and wanted.issubset(terms_of(text))
        case "fuzzy":
            return _fuzzy(query, edits)


def _fuzzy(query: str, edits: int | None) -> Callable[[str], bool]:
    if edits is None:
        return lambda _: False
    if edits < 0:
        raise QueryExecution(f"query: `fuzzy` was given {edits} edits; 0 or more make sense.")
    wanted = words_of(query)

    def matches(text: str) -> bool:
        return any(is_near(ours, word, edits) for word in words_of(text) for ours in wanted)

    return matches


@lru_cache(maxsize=_WORD_PAIRS_KEPT)
def is_near(one: str, other: str, edits: int) -> bool:
    """Whether a word becomes the other by so many letters put in, left out or replaced."""
    if one == other:
        return True
    if abs(len(one) - len(other)) > edits:
        return False
    row = list(range(len(other) + 1))
    for place, letter in enumerate(one, start=1):
        diagonal, row[0] = row[0], place
        for column, theirs in enumerate(other, start=1):
            cheapest = min(row[column] + 1, row[column - 1] + 1, diagonal + (letter != theirs))
            diagonal, row[column] = row[column], cheapest
        if min(row) > edits:
            return False
    return row[-1] <= edits
