"""What `where` takes: a list of comparisons that must all hold, a list of such lists of which one must, or SQL."""

from collections.abc import Sequence
from typing import Any, TypeAlias

from omnigraph.catalog.model import EntityType
from omnigraph.errors import InvalidTarget
from omnigraph.graphs.comparisons import comparison_with
from omnigraph.storage.filters import Comparison, Operator, any_of

Condition: TypeAlias = tuple[str, Operator, Any]
Where: TypeAlias = str | Sequence[Condition | Sequence[Condition]]
"""`[(column, operator, value), …]`, `[[…], […]]` for an or of ands, or the text of a SQL condition."""

_FORM = "where is a list of (column, operator, value), a list of such lists for an or, or the text of a SQL condition"
_PARTS = 3


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
