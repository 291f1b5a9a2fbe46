"""Rows of an answer, and what JSON can say of a value."""

from base64 import b64encode
from collections.abc import Iterable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from math import isfinite
from typing import TYPE_CHECKING, Any

from omnigraph import errors
from omnigraph.base.values import Json

if TYPE_CHECKING:
    import pyarrow as pa


def answers_document(answers: "Iterable[pa.Table]") -> Json:
    """Describe the answers of several statements, one after the other."""
    return {"results": [rows_document(rows) for rows in answers]}


def rows_document(rows: "pa.Table") -> Json:
    """Describe one answer: its columns with their types, and its rows."""
    names = rows.schema.names
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise errors.QueryFailed(f"Two columns are called {repeated}; give them names of their own with AS.")
    return {
        "columns": [{"name": field.name, "type": str(field.type)} for field in rows.schema],
        "rows": [{name: plain_value(value) for name, value in row.items()} for row in rows.to_pylist()],
    }


def plain_value(value: Any) -> Json:
    """Return what JSON can say of a value."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if isfinite(value) else str(value)
        case Decimal():
            return int(value) if value == value.to_integral_value() else str(value)
        case date() | datetime() | time():
            return value.isoformat()
        case timedelta():
            return str(value)
        case bytes():
            return b64encode(value).decode()
        case dict():
            return {str(name): plain_value(member) for name, member in value.items()}
        case list() | tuple():
            return [plain_value(member) for member in value]
        case _:
            return str(value)
