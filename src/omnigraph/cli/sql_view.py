"""Answers of SQL statements: a table for people, CSV for programs."""

import csv
import io
import json
from typing import TYPE_CHECKING, Any

from omnigraph.base.units import counted
from omnigraph.cli.output import Grid, Text, TextColumn
from omnigraph.documents.rows import plain_value

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
        TextColumn(
            title=rows.schema.field(place).name, justify="right" if _is_number(rows.schema.field(place)) else "left"
        )
        for place in places
    )
    cells = [[_cell(value) for value in rows.column(place).to_pylist()] for place in places]
    total = counted(rows.num_rows, "row")
    ending = f"the first {total}; --limit shows more, --format csv and --json all" if answer.has_more else total
    return [Grid(columns=columns, rows=tuple(zip(*cells, strict=True))), ending]


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


def _is_number(field: "pa.Field") -> bool:
    import pyarrow as pa

    return bool(pa.types.is_integer(field.type) or pa.types.is_floating(field.type) or pa.types.is_decimal(field.type))


def _cell(value: Any) -> str:
    plain = plain_value(value)
    match plain:
        case None:
            return _NULL
        case str():
            return plain
        case _:
            return json.dumps(plain, ensure_ascii=False)
