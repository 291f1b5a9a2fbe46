"""What somebody meant who misspelled a name: the known name that is most like it."""

from collections.abc import Iterable
from difflib import get_close_matches

_LIKENESS_MIN = 0.6
_LISTED_MAX = 20


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known name that looks most like `word`, whatever the letter case; None if none looks like it."""
    by_folded = {name.casefold(): name for name in known}
    found = get_close_matches(word.casefold(), by_folded, n=1, cutoff=_LIKENESS_MIN)
    return by_folded[found[0]] if found else None


def listed(names: Iterable[str]) -> str:
    """Spell names for a message, with an end where there are too many to read."""
    spelled = list(names)
    shown = ", ".join(spelled[:_LISTED_MAX])
    return shown if len(spelled) <= _LISTED_MAX else f"{shown} and {len(spelled) - _LISTED_MAX} more"
