"""Filters for Lance scans, built in one place.

Lance's parser takes `"name"` for a string literal and folds the case of bare names, so that a filter spliced together
from text can silently match nothing. Here every identifier is back-quoted and every literal is typed.
"""

from collections.abc import Iterable
from datetime import UTC, date, datetime
from typing import Literal, TypeAlias, assert_never, get_args

import pyarrow as pa

from omnigraph.base.values import dataclass

FilterValue: TypeAlias = str | int | float | bool | date | datetime | pa.Scalar | None
"""Arrow's own scalars stand for days and times that Python cannot spell."""
Operator = Literal["=", "!=", "<", "<=", ">", ">=", "in", "not in"]
OPERATORS: tuple[Operator, ...] = get_args(Operator)
MEMBERSHIPS: frozenset[str] = frozenset({"in", "not in"})

_SMALLEST_INTEGER = -(2**63)


@dataclass(frozen=True, slots=True)
class Comparison:
    """One column compared with one value, or with several for `in` and `not in`.

    `= None` and `!= None` test for null, and so does a None among the several; other comparisons never match null.
    """

    column: str
    operator: Operator
    value: FilterValue | tuple[FilterValue, ...]

    def sql(self) -> str:
        """Spell the comparison for a Lance scan."""
        if isinstance(self.value, tuple):
            return self._membership(self.value)
        if self.value is None:
            return f"{quote_name(self.column)} IS {'NOT ' if self.operator == '!=' else ''}NULL"
        return f"{quote_name(self.column)} {self.operator} {quote_value(self.value)}"

    def _membership(self, values: tuple[FilterValue, ...]) -> str:
        name = quote_name(self.column)
        known = [quote_value(value) for value in values if value is not None]
        is_member = f"{name} IN ({', '.join(known)})" if known else "false"
        if self.operator == "in":
            return f"{is_member} OR {name} IS NULL" if None in values else is_member
        return f"NOT ({is_member}) AND {name} IS NOT NULL"


def any_of(groups: Iterable[Iterable[Comparison]]) -> str | None:
    """Spell that all comparisons of one of the groups hold; None when there is no group, or one that says nothing."""
    spelled = [all_of(group) for group in groups]
    if any(text is None for text in spelled):
        return None
    return " OR ".join(f"({text})" for text in spelled) or None


def all_of(comparisons: Iterable[Comparison]) -> str | None:
    """Spell the conjunction of comparisons; None when there is none."""
    return " AND ".join(f"({comparison.sql()})" for comparison in comparisons) or None


def in_values(column: str, values: pa.Array) -> str:
    """Spell membership of a column in an array of non-null values of its own type."""
    return f"{quote_name(column)} IN ({', '.join(_literals(values))})"


def in_range(column: str, low: pa.Array | None, high: pa.Array | None) -> str:
    """Spell that a column is not null, at least `low` and below `high`; both are arrays of one value."""
    parts = [f"{quote_name(column)} IS NOT NULL"]
    for operator, bound in ((">=", low), ("<", high)):
        if bound is not None:
            parts.append(f"{quote_name(column)} {operator} {next(iter(_literals(bound)))}")
    return " AND ".join(parts)


def quote_name(name: str) -> str:
    """Back-quote a column name; the schema language admits no back-quote in names."""
    return f"`{name}`"


def quote_value(value: FilterValue) -> str:
    """Spell a typed literal; a time without a zone is UTC."""
    match value:
        case bool():
            return "true" if value else "false"
        case int() if value == _SMALLEST_INTEGER:
            # The parser reads the digits before it sees the sign, and alone they are too many for an integer.
            return f"({value + 1} - 1)"
        case str():
            return "'" + value.replace("'", "''") + "'"
        case datetime():
            naive = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo is not None else value
            return f"timestamp '{naive.isoformat(sep=' ', timespec='milliseconds')}'"
        case date():
            return f"date '{value.isoformat()}'"
        case float() | int():
            return repr(value)
        case pa.Scalar():
            return next(iter(_literals(pa.array([value], value.type))))
        case None:
            raise ValueError("null has no literal; compare with IS NULL")
        case never:
            assert_never(never)


def _literals(values: pa.Array) -> Iterable[str]:
    if pa.types.is_date32(values.type):
        return (f"arrow_cast({days}, 'Date32')" for days in values.cast(pa.int32()).to_pylist())
    if pa.types.is_timestamp(values.type):
        # Numbers, because columns hold days and times that Python's dates and SQL's texts cannot spell.
        kind = 'Timestamp(Millisecond, Some("UTC"))'
        return (f"arrow_cast({quote_value(time)}, '{kind}')" for time in values.cast(pa.int64()).to_pylist())
    if pa.types.is_decimal128(values.type):
        kind = f"Decimal128({values.type.precision}, {values.type.scale})"
        return (f"arrow_cast({quote_value(digits)}, '{kind}')" for digits in values.cast(pa.string()).to_pylist())
    return map(quote_value, values.to_pylist())
