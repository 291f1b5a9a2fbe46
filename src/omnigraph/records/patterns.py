"""The shape of an ordinary line, as one RE2 pattern per type.

A line that matches is strict JSON, names declared members only, and holds values that Arrow reads as
`value_readers.py` would. Not decided here: whether a member is repeated or missing, and whether a number fits.
"""

from collections import defaultdict
from collections.abc import Mapping

from omnigraph.catalog.model import EdgeType, EntityType, Property, PropertyType
from omnigraph.records.json_patterns import SPACE, STRING
from omnigraph.records.scalar_forms import form_of


def line_pattern(entity: EntityType) -> str:
    """Return the pattern of a whole line, its end included, that holds a record of this type."""
    data = _object({"id": STRING, **{declared.name: _value(declared) for declared in entity.properties}})
    if isinstance(entity, EdgeType):
        record = {"edge": f'"(?i:{entity.name})"', "from": STRING, "to": STRING, "data": data}
    else:
        record = {"type": f'"{entity.name}"', "data": data}
    return rf"^{SPACE}{_object(record)}{SPACE}\r?\n?$"


def _value(declared: Property) -> str:
    value = _type(declared.type)
    # Arrow shows an omitted member and an explicit null alike. Where they differ, the reference path takes the nulls.
    is_plain_nullable = declared.type.nullable and declared.default is None and declared.embed is None
    return f"(?:{value}|null)" if is_plain_nullable else value


def _type(declared: PropertyType) -> str:
    item = form_of(declared.scalar).pattern
    if declared.is_sequence:
        return rf"\[{SPACE}(?:{_sequence(item)})?{SPACE}\]"
    return item


def _object(value_by_member: Mapping[str, str]) -> str:
    """Accept members in any order. Members with the same values share one branch, which keeps wide types small."""
    names_by_value: dict[str, list[str]] = defaultdict(list)
    for name, value in value_by_member.items():
        names_by_value[value].append(name)
    member = "|".join(f'"(?:{"|".join(names)})"{SPACE}:{SPACE}{value}' for value, names in names_by_value.items())
    return rf"\{{{SPACE}(?:{_sequence(f'(?:{member})')})?{SPACE}\}}"


def _sequence(item: str) -> str:
    return f"{item}(?:{SPACE},{SPACE}{item})*"
