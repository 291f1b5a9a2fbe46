"""The members of request bodies and the parameters of query strings: declared once, read and documented from there."""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any
from urllib.parse import parse_qsl

from omnigraph.base.values import dataclass
from omnigraph.errors import BadRequest

_TEXT_CHARACTERS_MAX = 16_384
"""Of a parameter in an address; bodies have a limit of their own."""


class Kind(Enum):
    """What a member holds: its JSON schema, its type in Python, and what people call it."""

    TEXT = {"type": "string"}, str, "a string"
    TRUTH = {"type": "boolean"}, bool, "true or false"
    COUNT = {"type": "integer", "minimum": 1}, int, "a whole number"
    OBJECT = {"type": "object", "additionalProperties": True}, dict, "an object"
    TEXTS = {"type": "array", "items": {"type": "string"}}, list, "an array of strings"

    def __init__(self, schema: dict[str, Any], python: type, words: str) -> None:
        self.schema = schema
        self.python = python
        self.words = words


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One member of a body, or one parameter of a query string; absent and null are the same."""

    name: str
    about: str
    kind: Kind = Kind.TEXT
    is_required: bool = False
    alias: str | None = None
    """What older clients call it."""
    choices: tuple[str, ...] = ()

    def read(self, value: Any) -> Any:
        """Return the value if it is of the right kind; raise `BadRequest` otherwise."""
        kind = self.kind
        is_right = type(value) is kind.python
        if is_right and kind is Kind.TEXTS:
            is_right = all(isinstance(item, str) for item in value)
        if not is_right:
            raise BadRequest(f"`{self.name}` must be {kind.words}.")
        if self.choices and value not in self.choices:
            raise BadRequest(f"`{self.name}` is one of {', '.join(self.choices)}.")
        return value


def read_members(document: Mapping[str, Any], members: Sequence[Member], *, is_strict: bool) -> dict[str, Any]:
    """Return the members that are there, by name; raise `BadRequest` for what is missing or of another kind."""
    found: dict[str, Any] = {}
    for member in members:
        value = document.get(member.name)
        if value is None and member.alias is not None:
            value = document.get(member.alias)
        if value is not None:
            found[member.name] = member.read(value)
        elif member.is_required:
            raise BadRequest(f"`{member.name}` is missing.")
    if is_strict:
        known = {name for member in members for name in (member.name, member.alias)}
        unknown = next((name for name in document if name not in known), None)
        if unknown is not None:
            raise BadRequest(f"`{unknown}` is not a member of this request; it has {_listed(members)}.")
    return found


def read_query_string(raw: bytes, parameters: Sequence[Member], *, is_strict: bool) -> dict[str, Any]:
    """Return the parameters of an address, by name; those that may repeat are lists."""
    try:
        pairs = parse_qsl(raw.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=256)
    except ValueError:
        raise BadRequest("The query string cannot be read.") from None
    known = {parameter.name: parameter for parameter in parameters}
    found: dict[str, Any] = {}
    for name, text in pairs:
        parameter = known.get(name)
        if parameter is None:
            if is_strict:
                raise BadRequest(f"`{name}` is not a parameter of this path; it has {_listed(parameters)}.")
            continue
        if len(text) > _TEXT_CHARACTERS_MAX:
            raise BadRequest(f"`{name}` is too long.")
        if parameter.kind is Kind.TEXTS:
            found.setdefault(name, []).append(text)
        elif name in found:
            raise BadRequest(f"`{name}` is given more than once.")
        else:
            found[name] = parameter.read(_number(name, text) if parameter.kind is Kind.COUNT else text)
    missing = next((each.name for each in parameters if each.is_required and each.name not in found), None)
    if missing is not None:
        raise BadRequest(f"`{missing}` is missing.")
    return found


def _number(name: str, text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise BadRequest(f"`{name}` must be a whole number.")
    return int(text)


def _listed(members: Sequence[Member]) -> str:
    return ", ".join(f"`{member.name}`" for member in members) or "none"
