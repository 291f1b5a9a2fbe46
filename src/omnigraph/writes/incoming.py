"""Rows that a program hands over → checked rows of one type, whatever they come as.

Every value takes the way of a record, so that writes and loads cannot disagree about it. What comes as Arrow, or is
stored already, stays Arrow as long as nothing is wrong with it; the words for what is wrong are those of records.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.units import shorten
from omnigraph.catalog.blob_cells import CELL
from omnigraph.catalog.model import Catalog, EntityType, Scalar
from omnigraph.errors import Usage
from omnigraph.records.arrow_rows import ArrowRows, arrow_reader, not_rows, speaks_arrow
from omnigraph.records.offences import Code, Offence, OffenceCollector, Offences
from omnigraph.records.parse import check_rows, parse_chunk, with_place
from omnigraph.records.rendering import render_lines
from omnigraph.records.report import rejected
from omnigraph.records.spelling import spell_json
from omnigraph.records.tables import LINE, content_schema
from omnigraph.records.typed import TypedRows
from omnigraph.writes.delta import PLACE_COLUMNS

Row: TypeAlias = Mapping[str, Any]
Rows: TypeAlias = Iterable[Row] | ArrowRows
_ROWS_SOURCE = ("<rows>",)


def read_rows(given: Rows, entity: EntityType, catalog: Catalog) -> pa.Table | None:
    """Type and check rows; None when there are none. Raises what a load of the same records would."""
    if not speaks_arrow(given):
        listed = _listed(given)
        return _parse([_record(entity, row) for row in listed], entity, catalog) if listed else None
    rows = arrow_reader(given).read_all()
    if not rows.num_rows:
        return None
    columns = _read_columns(rows, entity)
    if columns is not None:
        return columns
    return _parse([_record(entity, row) for row in _rows_one_by_one(rows)], entity, catalog)


def change_rows(images: pa.Table, assignments: Row, entity: EntityType, catalog: Catalog) -> pa.Table:
    """Set properties of stored rows, checked like any record; the places of these are nobody's input and left out."""
    changed = _change_columns(images, assignments, entity, catalog)
    return changed if changed is not None else _change_one_by_one(images, assignments, entity, catalog)


def _read_columns(rows: pa.Table, entity: EntityType) -> pa.Table | None:
    """Take whole columns; None when anything is to be said about them, which only a look at each row can."""
    ends = {"from", "to"} if entity.kind == "edge" else set()
    names = set(rows.column_names)
    if len(names) < rows.num_columns or not ends <= names <= {"id", *entity.property_by_name} | ends:
        return None
    findings = OffenceCollector(limit=1)
    table = TypedRows(entity, file_index=0, findings=findings).table(rows, first_row=1)
    table = check_rows(table, entity, 0, findings)
    return None if findings else with_place(table, entity, 0)


def _change_columns(images: pa.Table, assignments: Row, entity: EntityType, catalog: Catalog) -> pa.Table | None:
    """Change whole columns; None when anything is to be said about the outcome.

    A first row goes the long way, which types the values and finds out what would be wrong with them anywhere.
    """
    findings = OffenceCollector(limit=1)
    parsed = _parse_or_none(_changed_records(images.slice(0, 1), assignments, entity), entity, catalog)
    if parsed is None:
        return None
    changed = images.select(content_schema(entity).names)
    for name in assignments:
        place = changed.schema.get_field_index(name)
        changed = changed.set_column(place, changed.schema.field(name), pa.repeat(parsed[name][0], images.num_rows))
    lines = pa.arange(1, images.num_rows + 1).cast(pa.uint64())
    checked = check_rows(changed.append_column(LINE, lines), entity, 0, findings)
    return None if findings else checked.drop_columns([LINE])


def _change_one_by_one(images: pa.Table, assignments: Row, entity: EntityType, catalog: Catalog) -> pa.Table:
    # The lines of these records are nobody's input: a finding names the entity instead.
    records = _changed_records(images, assignments, entity)
    changed = _parse(records, entity, catalog).drop_columns(list(PLACE_COLUMNS))
    for name in _kept_blobs(assignments, entity):
        changed = changed.set_column(changed.schema.get_field_index(name), changed.schema.field(name), images[name])
    return changed


def _changed_records(images: pa.Table, assignments: Row, entity: EntityType) -> list[dict[str, Any]]:
    # A reference that is stored already is carried, not judged again: the graph may allow fewer bases by now.
    for name in _kept_blobs(assignments, entity):
        images = images.set_column(images.schema.get_field_index(name), name, _emptied(images[name]))
    records = [json.loads(line) for line in render_lines(images, entity).split(b"\n") if line]
    for record in records:
        record["data"].update(assignments)
    return records


def _kept_blobs(assignments: Row, entity: EntityType) -> list[str]:
    blobs = (declared.name for declared in entity.properties if declared.type.scalar is Scalar.BLOB)
    return [name for name in blobs if name not in assignments]


def _emptied(blobs: pa.ChunkedArray) -> pa.Array:
    """Return a blob of no bytes where there is one."""
    return pc.if_else(pc.is_valid(blobs), pa.scalar(b"", CELL), pa.scalar(None, CELL))


def _parse(records: Sequence[Row], entity: EntityType, catalog: Catalog) -> pa.Table:
    lines = b"".join(spell_json(record) + b"\n" for record in records)
    parsed = parse_chunk(lines, first_line=1, file_index=0, catalog=catalog)
    if parsed.findings.total:
        raise rejected(parsed.findings, files=_ROWS_SOURCE, verb="write")
    return parsed.tables[entity.table_key]


def _parse_or_none(records: Sequence[Row], entity: EntityType, catalog: Catalog) -> pa.Table | None:
    lines = b"".join(spell_json(record) + b"\n" for record in records)
    return parse_chunk(lines, first_line=1, file_index=0, catalog=catalog).tables.get(entity.table_key)


def _listed(given: Any) -> list[Row]:
    """Return rows as dictionaries; raise `Usage` for what holds none."""
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        raise not_rows(given)
    listed = list(given)
    for number, row in enumerate(listed, start=1):
        if not isinstance(row, Mapping):
            raise Usage(f"A row is a dictionary of properties; row {number} is {shorten(repr(row), 60)}.")
    return listed


def _rows_one_by_one(rows: pa.Table) -> list[Row]:
    try:
        return list(rows.to_pylist())
    except UnicodeDecodeError as error:
        line = next(number for number in range(rows.num_rows) if not _is_readable(rows.slice(number, 1))) + 1
        wrong = Offence(code=Code.INVALID_UTF8, message="a text is not UTF-8", file_index=0, line=line)
        findings = Offences(by_code={wrong.code: 1}, first=(wrong,), file_indexes=frozenset({0}))
        raise rejected(findings, files=_ROWS_SOURCE, verb="write") from error


def _is_readable(row: pa.Table) -> bool:
    try:
        row.to_pylist()
    except UnicodeDecodeError:
        return False
    return True


def _record(entity: EntityType, row: Row) -> Row:
    if entity.kind == "node":
        return {"type": entity.name, "data": dict(row)}
    data = {name: value for name, value in row.items() if name not in {"from", "to"}}
    ends = {name: row[name] for name in ("from", "to") if name in row}
    return {"edge": entity.name, **ends, "data": data}
