"""Changes as rows: of all types as records, or of one type with its columns, the way Delta's change feed shows them."""

from collections.abc import Iterator, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.catalog.model import EntityType
from omnigraph.changes.carrying import ChangeChunk
from omnigraph.changes.parts import ChangePart
from omnigraph.engine.spark.types import spark_type
from omnigraph.errors import Usage
from omnigraph.records.rendering import render_lines
from omnigraph.records.tables import content_schema

_LAST: Final = (
    pa.field("_commit", pa.string()),
    pa.field("_graph_version", pa.int64()),
    pa.field("_commit_timestamp", pa.timestamp("us", "UTC")),
)
_CHANGE: Final = pa.field("_change_type", pa.string())


def record_schema() -> pa.Schema:
    """Return the columns of changes of all types: `before` and `after` are records as `export` writes them."""
    texts = [pa.field(name, pa.string()) for name in ("kind", "type", "id", "before", "after")]
    return pa.schema([_CHANGE, *texts, *_LAST])


def type_schema(entity: EntityType) -> pa.Schema:
    """Return the columns of changes of one type; an update is two rows."""
    for field in (_CHANGE, *_LAST):
        if field.name in entity.property_by_name:
            raise Usage(
                f"{entity.name} has a property {field.name}, and changes have a column of that name; leave the type "
                f'out, or say .option("types", "{entity.name}"), to read its changes as records.'
            )
    columns = [pa.field(field.name, spark_type(field.type)) for field in content_schema(entity)]
    return pa.schema([*columns, _CHANGE, *_LAST])


def records_of(chunk: ChangeChunk) -> Iterator[pa.Table]:
    """Yield changes as records."""
    for op, before, after in (
        ("insert", None, chunk.inserted),
        ("update", chunk.before, chunk.after),
        ("delete", chunk.deleted, None),
    ):
        shown = after if after is not None else before
        if shown is None or not shown.num_rows:
            continue
        part, rows = chunk.part, shown.num_rows
        columns = {
            "_change_type": pa.repeat(op, rows),
            "kind": pa.repeat(part.type.kind, rows),
            "type": pa.repeat(part.type.name, rows),
            "id": shown["id"],
            "before": _lines(before, part.before.entity if part.before else None, rows),
            "after": _lines(after, part.after.entity if part.after else None, rows),
        }
        yield _with_cause(pa.table(columns), part)


def rows_of(chunk: ChangeChunk, names: Sequence[str]) -> Iterator[pa.Table]:
    """Yield changes with the columns of their type; a column that the type did not have then is null."""
    for op, images in (
        ("insert", chunk.inserted),
        ("update_preimage", chunk.before),
        ("update_postimage", chunk.after),
        ("delete", chunk.deleted),
    ):
        if images is not None and images.num_rows:
            known = images.select([name for name in names if name in images.column_names])
            yield _with_cause(known.append_column(_CHANGE, pa.repeat(op, images.num_rows)), chunk.part)


def fitted(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Bring rows into the shape that Spark was promised."""
    columns = [
        rows[field.name].cast(field.type) if field.name in rows.column_names else pa.nulls(rows.num_rows, field.type)
        for field in schema
    ]
    return pa.table(columns, schema=schema)


def _with_cause(rows: pa.Table, part: ChangePart) -> pa.Table:
    cause = part.cause
    for field, value in zip(_LAST, (cause.commit_id, cause.graph_version, cause.created_at_us), strict=True):
        rows = rows.append_column(field, pa.repeat(pa.scalar(value, field.type), rows.num_rows))
    return rows


def _lines(images: pa.Table | None, entity: EntityType | None, rows: int) -> pa.Array:
    if images is None or entity is None:
        return pa.nulls(rows, pa.string())
    lines = pc.split_pattern(pa.scalar(render_lines(images, entity).decode(), pa.large_string()), "\n").values
    return lines.slice(0, rows).cast(pa.string())
