"""Conditions of a query as filters of Lance, where both are known to agree.

A filter may let through a little more than the condition, which is asked again of what comes back, and never less.
Null is no match for either.
"""

from collections.abc import Sequence

import pyarrow as pa

from omnigraph.catalog.model import FLOATS, INTEGERS, EntityType, NodeType, PropertyType, Scalar
from omnigraph.query.access import PropertyTest
from omnigraph.query.typed import ID, STRING
from omnigraph.storage.filters import Comparison, Operator, quote_name, quote_value

_BOUNDS = {
    Scalar.I32: (-(2**31), 2**31 - 1),
    Scalar.I64: (-(2**63), 2**63 - 1),
    Scalar.U32: (0, 2**32 - 1),
    Scalar.U64: (0, 2**63 - 1),
}
"""What a literal may be; larger ones of a U64 are compared here."""
_MOMENTS = {
    Scalar.DATE: (pa.int32(), pa.date32()),
    Scalar.DATETIME: (pa.int64(), pa.timestamp("ms", tz="UTC")),
}
"""The numbers that columns hold, and what they stand for."""
_FLOATS_SPELLED = (1e-3, 1e15)
"""Sizes of numbers that are spelled without an exponent."""
_SLACK = 1e-6
"""Floats are rounded by whoever reads them, and there are two zeros."""


def filter_of_tests(entity: EntityType, tests: Sequence[PropertyTest]) -> tuple[str | None, tuple[PropertyTest, ...]]:
    """Return the filter that says as much as it can of the tests, and which of them are in it."""
    spelled = []
    for test in tests:
        column = ID if is_id(entity, test.property) else test.property
        text = _spelled(column, test, _type_of(entity, test.property))
        if text is not None:
            spelled.append((test, text))
    where = " AND ".join(f"({text})" for _, text in spelled) or None
    return where, tuple(test for test, _ in spelled)


def is_id(entity: EntityType, name: str) -> bool:
    """Whether a property of a node is spelled like its id, which has an index."""
    if name == ID:
        return True
    key = entity.key if isinstance(entity, NodeType) else None
    return key is not None and key.properties == (name,) and entity.property_by_name[name].type.scalar is Scalar.STRING


def _type_of(entity: EntityType, name: str) -> PropertyType:
    return STRING if name == ID else entity.property_by_name[name].type


def _spelled(column: str, test: PropertyTest, declared: PropertyType) -> str | None:
    if declared.is_list or isinstance(test.value, tuple):
        return None
    if test.operator == "contains" or test.operator == "starts_with":  # noqa: PLR1714 — the type checker understands
        return f"{test.operator}({quote_name(column)}, {quote_value(str(test.value))})"
    scalar = declared.scalar
    if scalar is Scalar.STRING:
        return Comparison(column, test.operator, str(test.value)).sql()
    if scalar is Scalar.BOOL:
        return Comparison(column, "=", test.value).sql() if test.operator == "=" else None
    if scalar in (Scalar.DATE, Scalar.DATETIME):
        return _spelled_moment(column, test.operator, test.value, *_MOMENTS[scalar])
    if isinstance(test.value, bool) or not isinstance(test.value, int | float):
        return None
    if scalar in INTEGERS:
        return _spelled_integer(column, test.operator, test.value, *_BOUNDS[scalar])
    return _spelled_float(column, test.operator, test.value) if scalar in FLOATS else None


def _spelled_moment(column: str, operator: Operator, value: object, stored: pa.DataType, kind: pa.DataType) -> str:
    # Arrow's own values, because columns hold days and times that Python cannot spell.
    return Comparison(column, operator, pa.scalar(value, stored).cast(kind)).sql()


def _spelled_integer(column: str, operator: Operator, value: float, low: int, high: int) -> str | None:
    if value != value or not low <= value <= high or int(value) != value:  # noqa: PLR0124 — NaN
        return None
    return Comparison(column, operator, int(value)).sql()


def _spelled_float(column: str, operator: Operator, value: float) -> str | None:
    size = abs(value)
    if operator == "!=" or not (size == 0 or _FLOATS_SPELLED[0] <= size <= _FLOATS_SPELLED[1]):
        return None
    slack = max(size, 1.0) * _SLACK
    name, low, high = quote_name(column), f"{value - slack:.12f}", f"{value + slack:.12f}"
    match operator:
        case "=":
            return f"{name} >= {low} AND {name} <= {high}"
        case "<" | "<=":
            return f"{name} <= {high}"
        case _:
            return f"{name} >= {low}"
