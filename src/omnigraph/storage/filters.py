"""Filters for Lance scans, built in one place.

Lance's parser takes `"name"` for a string literal and folds the case of bare names, so that a filter spliced together
from text can silently match nothing. Here every identifier is back-quoted and every literal is typed.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Literal

FilterValue = str | int | float | bool | date | datetime | None
Operator = Literal["=", "!=", "<", "<=", ">", ">="]
OPERATORS: tuple[Operator, ...] = ("=", "!=", "<", "<=", ">", ">=")


@dataclass(frozen=True, slots=True)
class Comparison:
    """One column compared with one value; `= None` and `!= None` test for null, other comparisons never match null."""

    column: str
    operator: Operator
    value: FilterValue

    def sql(self) -> str:
        """Spell the comparison for a Lance scan."""
        if self.value is None:
            return f"{quote_name(self.column)} IS {'NOT ' if self.operator == '!=' else ''}NULL"
        return f"{quote_name(self.column)} {self.operator} {quote_value(self.value)}"


def all_of(comparisons: Iterable[Comparison]) -> str | None:
    """Spell the conjunction of comparisons; None when there is none."""
    return " AND ".join(f"({comparison.sql()})" for comparison in comparisons) or None


def in_values(column: str, values: Iterable[FilterValue]) -> str:
    """Spell membership of a column in a list of non-null values."""
    return f"{quote_name(column)} IN ({', '.join(quote_value(value) for value in values)})"


def quote_name(name: str) -> str:
    """Back-quote a column name; the schema language admits no back-quote in names."""
    return f"`{name}`"


def quote_value(value: FilterValue) -> str:
    """Spell a typed literal."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return "'" + value.replace("'", "''") + "'"
        case datetime():
            naive = value.astimezone(UTC).replace(tzinfo=None)
            return f"timestamp '{naive.isoformat(sep=' ', timespec='milliseconds')}'"
        case date():
            return f"date '{value.isoformat()}'"
        case float() | int():
            return repr(value)
        case _:
            raise ValueError("null has no literal; compare with IS NULL")
