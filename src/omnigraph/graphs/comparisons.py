"""What a caller compares with: a property and a value, read by the rules by which records are read.

So `where` accepts what a load accepts (a date as text, a whole number as a float), means the same in a scan and on rows
in memory, and a value that does not fit is refused by name instead of failing in the storage engine.
"""

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import pyarrow as pa

from omnigraph.base.nearest import listed, nearest
from omnigraph.catalog.arrow import arrow_type, carrier_type
from omnigraph.catalog.model import EntityType, Property, PropertyType, Scalar
from omnigraph.errors import EntityNotFound, InvalidTarget
from omnigraph.records.offences import Rejected
from omnigraph.records.scalar_forms import read_value
from omnigraph.records.spelling import spell_json
from omnigraph.records.strict_json import decode_line
from omnigraph.storage.filters import MEMBERSHIPS, OPERATORS, Comparison, FilterValue, Operator, any_of

Condition: TypeAlias = tuple[str, Operator, Any]
Where: TypeAlias = str | Sequence[Condition | Sequence[Condition]]
"""`[(column, operator, value), …]`, `[[…], […]]` for an or of ands, or the text of a SQL condition."""

_ENDPOINT_COLUMNS = {"from": "src", "to": "dst", "src": "src", "dst": "dst"}
_ID = PropertyType(scalar=Scalar.STRING)
_FORM = "where is a list of (column, operator, value), a list of such lists for an or, or the text of a SQL condition"
_PARTS = 3


def comparison_with(entity: EntityType, name: str, operator: Operator, value: Any) -> Comparison:
    """Compare a property, `id` or an endpoint with a value; `= None` and `!= None` test for null."""
    column = _ENDPOINT_COLUMNS.get(name, name) if entity.kind == "edge" else name
    declared = entity.property_by_name.get(column)
    if declared is None and column not in {"id", *(_ENDPOINT_COLUMNS.values() if entity.kind == "edge" else ())}:
        raise no_such_property(entity, name)
    if operator not in OPERATORS:
        raise InvalidTarget(f"{operator!r} is not a comparison; use one of {', '.join(OPERATORS)}.")
    if operator in MEMBERSHIPS:
        return Comparison(column, operator, _members(entity, name, declared, value))
    if value is None and operator not in {"=", "!="}:
        raise InvalidTarget(f"{entity.name}.{name} {operator} null never holds; use = or != to test for null.")
    return Comparison(column, operator, None if value is None else _fitting(entity, name, declared, value))


def no_such_property(entity: EntityType, name: str) -> EntityNotFound:
    """Say that a type does not have a property, which one comes nearest, and which there are."""
    ends = ("src", "dst") if entity.kind == "edge" else ()
    known = ("id", *ends, *entity.property_by_name)
    meant = nearest(str(name), known)
    hint = f"did you mean {meant}? It has" if meant is not None else "it has"
    return EntityNotFound(
        f"{entity.name} has no property {name!r}; {hint} {listed(known)}.", selector=f"{entity.name}.{name}"
    )


def _members(entity: EntityType, name: str, declared: Property | None, values: Any) -> tuple[FilterValue, ...]:
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise InvalidTarget(f"{entity.name}.{name} is looked for in a list of values, not in {values!r}.")
    return tuple(None if value is None else _fitting(entity, name, declared, value) for value in values)


def _fitting(entity: EntityType, name: str, declared: Property | None, value: Any) -> FilterValue:
    kind = _ID if declared is None else declared.type
    if not kind.is_single:
        raise InvalidTarget(f"{entity.name}.{name} is {kind}; it can be compared with null only.")
    try:
        stored = read_value(decode_line(spell_json(value)), kind)
        # Dates and times are numbers so far.
        fitting: FilterValue = pa.scalar(stored, carrier_type(kind)).cast(arrow_type(kind)).as_py()
    except Rejected as misfit:
        raise InvalidTarget(f"{entity.name}.{name} {misfit}") from misfit
    except OverflowError as error:
        raise InvalidTarget(f"{entity.name}.{name} cannot be compared with a time outside years 1–9999.") from error
    return fitting


def filter_of(entity: EntityType, where: Sequence[Condition | Sequence[Condition]]) -> str | None:
    """Spell conditions for a scan, each checked against the type; None when there are none."""
    if isinstance(where, (str, bytes)) or not isinstance(where, Sequence):
        raise InvalidTarget(f"{_FORM}, not {where!r}.")
    groups: Sequence[Any] = [where] if all(_is_condition(given) for given in where) else where
    return any_of([_group(entity, group) for group in groups])


def _group(entity: EntityType, group: Any) -> list[Comparison]:
    if isinstance(group, (str, bytes)) or not isinstance(group, Sequence) or not all(map(_is_condition, group)):
        raise InvalidTarget(f"{_FORM}; {group!r} is none of them.")
    return [comparison_with(entity, *condition) for condition in group]


def _is_condition(given: object) -> bool:
    return isinstance(given, (tuple, list)) and len(given) == _PARTS and isinstance(given[0], str)
