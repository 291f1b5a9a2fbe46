"""Reading a YAML file that decides who may do what: every key is known, every value of its kind, nothing is guessed."""

from collections.abc import Callable, Collection, Mapping
from enum import StrEnum
from typing import TypeVar

from omnigraph.base.nearest import nearest
from omnigraph.base.plain_text import NAME_BYTES_MAX, plain_text, printable, read_yaml
from omnigraph.errors import PolicyInvalid

_VERSION = 1
WordT = TypeVar("WordT", bound=StrEnum)


class StrictFile:
    """What such files have in common; `what` names the file in messages."""

    def __init__(self, what: str) -> None:
        self._what = what

    def wrong(self, reason: str) -> PolicyInvalid:
        """Build the refusal of the file."""
        return PolicyInvalid(f"{self._what}: {reason}")

    def root(self, text: str, known: Collection[str]) -> Mapping[str, object]:
        """Parse a file of version 1 with these keys."""
        try:
            parsed = read_yaml(text, is_strict=True)
        except ValueError as error:
            raise self.wrong(f"cannot be parsed: {printable(str(error))}") from error
        keys = self.keys({} if parsed is None else parsed, "the file", {"version", *known})
        version = keys.get("version")
        if isinstance(version, bool) or version != _VERSION or not isinstance(version, int):
            raise self.wrong(f"`version` must be {_VERSION}, {_given(version)}.")
        return keys

    def keys(self, value: object, place: str, known: Collection[str]) -> Mapping[str, object]:
        """Return a mapping whose keys are all known: a misspelt one must not be taken for nothing."""
        mapping = self.mapping(value, place)
        for key in mapping:
            if key not in known:
                near = nearest(key, known)
                meant = f"did you mean `{near}`?" if near else f"it has {', '.join(sorted(known))}."
                raise self.wrong(f"{place} has the unknown key `{printable(key)}`; {meant}")
        return mapping

    def mapping(self, value: object, place: str) -> Mapping[str, object]:
        """Return a mapping of texts to anything."""
        if not isinstance(value, dict):
            raise self.wrong(f"{place} must be a mapping of keys to values, {_given(value)}.")
        for key in value:
            if not isinstance(key, str):
                raise self.wrong(f"{place} has the key {key!r}, which is not text to YAML; quote it.")
        return value

    def items(self, value: object, place: str) -> list[object]:
        """Return a list; one that is left out is empty."""
        if value is None:
            return []
        if not isinstance(value, list):
            raise self.wrong(f"{place} must be a list, {_given(value)}.")
        return value

    def name(self, value: object, place: str) -> str:
        """Return a name, trimmed; blank ones and control characters are refused."""
        if not isinstance(value, str):
            raise self.wrong(f"{place} must be text, {_given(value)}. Quote what YAML takes for something else.")
        plain_text(value, what=place, refusal=self.wrong, bytes_max=NAME_BYTES_MAX)
        trimmed = value.strip()
        if not trimmed:
            raise self.wrong(f"{place} is blank.")
        return trimmed

    def word(self, value: object, place: str, words: type[WordT], *, refusal: Callable[[str], str]) -> WordT:
        """Return one of several words; `refusal` makes a reason of what was given instead."""
        name = self.name(value, place)
        for known in words:
            if name == known.value:
                return known
        raise self.wrong(f"{refusal(name)}; it is one of {', '.join(words)}.")


def _given(value: object) -> str:
    return "and is missing" if value is None else f"not {printable(repr(value))[:60]}"
