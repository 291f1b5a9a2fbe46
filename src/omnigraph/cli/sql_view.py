"""Answers of SQL statements: a table for people, a JSON document or CSV for programs."""

import csv
import io
import json
from base64 import b64encode
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from math import isfinite
from typing import TYPE_CHECKING, Any

from omnigraph import errors
from omnigraph.base.units import counted
from omnigraph.cli.output import Column, Grid, Json, Text

if TYPE_CHECKING:
    import pyarrow as pa

    from omnigraph.connectors.spark.shell import SqlAnswer

_NULL = "null"


def answer_text(answer: "SqlAnswer") -> Text:
    """Show the rows as a table, and how many there are."""
    rows = answer.rows
    if not rows.num_columns:
        return ["done"]
    places = range(rows.num_columns)
    columns = tuple(
        Column(title=rows.schema.field(place).name, justify="right" if _is_number(rows.schema.field(place)) else "left")
        for place in places
    )
    cells = [[_cell(value) for value in rows.column(place).to_pylist()] for place in places]
    total = counted(rows.num_rows, "row")
    ending = f"the first {total}; --limit shows more, --format csv and --json all" if answer.has_more else total
    return [Grid(columns=columns, rows=tuple(zip(*cells, strict=True))), ending]


def answers_document(answers: Sequence["SqlAnswer"]) -> Json:
    """Describe the answers, one per statement."""
    return {"results": [_answer_document(answer) for answer in answers]}


def answer_csv(answer: "SqlAnswer") -> str:
    """Spell the rows as CSV with a line of titles; null is an empty cell, lists and structures are JSON."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    rows = answer.rows
    if rows.num_columns:
        writer.writerow(rows.schema.names)
        columns = [rows.column(place).to_pylist() for place in range(rows.num_columns)]
        writer.writerows(["" if value is None else _cell(value) for value in row] for row in zip(*columns, strict=True))
    return out.getvalue()


def _answer_document(answer: "SqlAnswer") -> Json:
    names = answer.rows.schema.names
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise errors.QueryFailed(f"Two columns are called {repeated}; give them names of their own with AS.")
    return {
        "columns": [{"name": field.name, "type": str(field.type)} for field in answer.rows.schema],
        "rows": [{name: _plain(value) for name, value in row.items()} for row in answer.rows.to_pylist()],
    }


def _is_number(field: "pa.Field") -> bool:
    import pyarrow as pa

    return bool(pa.types.is_integer(field.type) or pa.types.is_floating(field.type) or pa.types.is_decimal(field.type))


def _cell(value: Any) -> str:
    plain = _plain(value)
    match plain:
        case None:
            return _NULL
        case str():
            return plain
        case _:
            return json.dumps(plain, ensure_ascii=False)


def _plain(value: Any) -> Json:
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
            return {str(name): _plain(member) for name, member in value.items()}
        case list() | tuple():
            return [_plain(member) for member in value]
        case _:
            return str(value)
