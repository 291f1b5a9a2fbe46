"""The shape of an ordinary line, as one RE2 pattern per type.

A line that matches is strict JSON, names declared members only, and holds values that Arrow reads as `values.py` would.
Not decided here: whether a member is repeated or missing, and whether a number fits its width.
"""

from collections import defaultdict
from collections.abc import Mapping

from omnigraph.catalog.model import EdgeType, EntityType, Property, PropertyType, Scalar

_SPACE = r"[ \t]*"
_HEX = r"[0-9a-fA-F]"
# Surrogates count only in pairs: a lone one is no character.
_ESCAPE = (
    rf'\\(?:["\\/bfnrt]|u(?:[0-9a-cefA-CEF]{_HEX}{{3}}|[dD][0-7]{_HEX}{{2}}'
    rf"|[dD][89abAB]{_HEX}{{2}}\\u[dD][c-fC-F]{_HEX}{{2}}))"
)
_STRING = rf'"(?:[^"\\\x00-\x1f]|{_ESCAPE})*"'
_NATURAL = r"(?:0|[1-9][0-9]*)"
_INTEGER = rf"-?{_NATURAL}"
_WHOLE = r"(?:0|[1-9][0-9]{0,14})(?:\.0+)?"
_NUMBER = rf"{_INTEGER}(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
_YEAR = r"(?:[0-9]{3}[1-9]|[0-9]{2}[1-9]0|[0-9][1-9]00|[1-9]000)"
_DAY = rf"{_YEAR}-[0-9]{{2}}-[0-9]{{2}}"
_TIME = r"[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?"
_ZONE = r"(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?)"

MOMENT_BY_SCALAR = {Scalar.DATE: _DAY, Scalar.DATETIME: f"{_DAY}[T ]{_TIME}{_ZONE}?"}
"""Spellings of dates and timestamps that Arrow reads as the catalog does, if the day and the time exist."""

ENDS_WITH_ZONE = f":[0-9.]+{_ZONE}$"

_SCALARS = {
    Scalar.STRING: _STRING,
    Scalar.BOOL: "(?:true|false)",
    Scalar.I32: f"-?{_WHOLE}",
    Scalar.I64: _INTEGER,
    Scalar.U32: _WHOLE,
    Scalar.U64: _NATURAL,
    Scalar.F32: _NUMBER,
    Scalar.F64: _NUMBER,
    Scalar.DATE: f'"{MOMENT_BY_SCALAR[Scalar.DATE]}"',
    Scalar.DATETIME: f'"{MOMENT_BY_SCALAR[Scalar.DATETIME]}"',
    Scalar.BLOB: '"base64:[A-Za-z0-9+/]*={0,2}"',
    Scalar.VECTOR: _NUMBER,
}


def line_pattern(entity: EntityType) -> str:
    """Return the pattern of a whole line, its end included, that holds a record of this type."""
    data = _object({"id": _STRING, **{declared.name: _value(declared) for declared in entity.properties}})
    if isinstance(entity, EdgeType):
        record = {"edge": f'"(?i:{entity.name})"', "from": _STRING, "to": _STRING, "data": data}
    else:
        record = {"type": f'"{entity.name}"', "data": data}
    return rf"^{_SPACE}{_object(record)}{_SPACE}\r?\n?$"


def _value(declared: Property) -> str:
    value = _type(declared.type)
    # Arrow shows an omitted member and an explicit null alike. Where they differ, the reference path takes the nulls.
    is_plain_nullable = declared.type.nullable and declared.default is None and declared.embed is None
    return f"(?:{value}|null)" if is_plain_nullable else value


def _type(declared: PropertyType) -> str:
    item = _SCALARS[declared.scalar]
    if declared.is_list or declared.scalar is Scalar.VECTOR:
        return rf"\[{_SPACE}(?:{_sequence(item)})?{_SPACE}\]"
    return item


def _object(value_by_member: Mapping[str, str]) -> str:
    """Accept members in any order. Members with the same values share one branch, which keeps wide types small."""
    names_by_value: dict[str, list[str]] = defaultdict(list)
    for name, value in value_by_member.items():
        names_by_value[value].append(name)
    member = "|".join(f'"(?:{"|".join(names)})"{_SPACE}:{_SPACE}{value}' for value, names in names_by_value.items())
    return rf"\{{{_SPACE}(?:{_sequence(f'(?:{member})')})?{_SPACE}\}}"


def _sequence(item: str) -> str:
    return f"{item}(?:{_SPACE},{_SPACE}{item})*"
