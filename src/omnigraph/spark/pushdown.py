"""Spark's filters as filters of a Lance scan, so that scalar indexes answer them.

Only what means the same on both sides goes down; floats do not, because Spark counts NaN as equal to itself and
larger than everything else.
"""

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

import pyarrow as pa
from pyspark.sql import datasource

from omnigraph.storage.filters import Comparison, Operator, in_values

_OPERATORS: Mapping[type, Operator] = {
    datasource.EqualTo: "=",
    datasource.GreaterThan: ">",
    datasource.GreaterThanOrEqual: ">=",
    datasource.LessThan: "<",
    datasource.LessThanOrEqual: "<=",
}


def spell_filter(condition: Any, schema: pa.Schema) -> str | None:
    """Spell one of Spark's filters for Lance; None when Spark has to apply it itself."""
    attribute: tuple[str, ...] = getattr(condition, "attribute", ())
    if len(attribute) != 1 or attribute[0] not in schema.names:
        return None
    (column,) = attribute
    kind = schema.field(column).type
    if isinstance(condition, (datasource.IsNull, datasource.IsNotNull)):
        return Comparison(column, "=" if isinstance(condition, datasource.IsNull) else "!=", None).sql()
    if isinstance(condition, datasource.In):
        if not _is_exact(kind) or not all(_fits(value) for value in condition.value):
            return None
        return in_values(column, pa.array(condition.value, kind))
    operator = _OPERATORS.get(type(condition))
    if operator is None or not _is_exact(kind) or not _fits(condition.value):
        return None
    return Comparison(column, operator, condition.value).sql()


def _is_exact(kind: pa.DataType) -> bool:
    checks = (pa.types.is_string, pa.types.is_signed_integer, pa.types.is_boolean, pa.types.is_date)
    return any(check(kind) for check in checks)


def _fits(value: Any) -> bool:
    return isinstance(value, (str, int, bool, date)) and not isinstance(value, datetime)
