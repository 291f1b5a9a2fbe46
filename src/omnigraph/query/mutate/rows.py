"""Assignments as Arrow: the rows that inserts put in, and what an update does to the columns of stored rows."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.catalog.arrow import default_scalar
from omnigraph.catalog.identity import derive_ids
from omnigraph.catalog.model import EntityType, NodeType, Property
from omnigraph.errors import ConstraintViolation
from omnigraph.query.typed import FROM, TO
from omnigraph.records.minting import mint_ids
from omnigraph.records.offences import Code
from omnigraph.records.tables import content_schema, embedded_properties, omitted_column
from omnigraph.records.value_readers import Stored

Image: TypeAlias = "Mapping[str, Stored | None]"
"""What one insert assigns: a property that is not there was left out, which is not the same as null."""


def inserted_rows(entity: EntityType, images: Sequence[Image]) -> pa.Table:
    """Return whole new entities with their ids: those of their keys, or new ones.

    Properties that were left out are null or have their default; flags say which `@embed` vectors were left out.
    """
    schema = content_schema(entity)
    columns: dict[str, pa.Array] = {"id": pa.nulls(len(images), pa.string())}
    if entity.kind == "edge":
        columns["src"], columns["dst"] = (_ends(entity, images, end) for end in (FROM, TO))
    for declared in entity.properties:
        columns[declared.name] = _column(declared, images, schema.field(declared.name).type)
    rows = pa.table({name: columns[name] for name in schema.names})
    for name in embedded_properties(entity):
        rows = rows.append_column(omitted_column(name), _are_omitted(name, images))
    return rows.set_column(0, "id", _ids(entity, rows))


def changed_rows(rows: pa.Table, entity: EntityType, image: Image) -> pa.Table:
    """Set the same properties of all rows."""
    schema = content_schema(entity)
    for name, value in image.items():
        kind = schema.field(name).type
        column = pa.array([value], kind).take(pa.repeat(pa.scalar(0, pa.int64()), rows.num_rows))
        rows = rows.set_column(rows.schema.get_field_index(name), name, column)
    return rows


def _column(declared: Property, images: Sequence[Image], kind: pa.DataType) -> pa.Array:
    column = pa.array([image.get(declared.name) for image in images], kind)
    default = default_scalar(declared)
    return column if default is None else pc.if_else(_are_omitted(declared.name, images), default, column)


def _are_omitted(name: str, images: Sequence[Image]) -> pa.Array:
    return pa.array([name not in image for image in images], pa.bool_())


def _ends(entity: EntityType, images: Sequence[Image], end: str) -> pa.Array:
    ids = [image[end] for image in images]
    if None in ids:
        raise _required(entity, end)
    return pa.array(ids, pa.string())


def _ids(entity: EntityType, rows: pa.Table) -> pa.Array:
    if not isinstance(entity, NodeType) or entity.key is None:
        return mint_ids(rows.num_rows)
    for name in entity.key.properties:
        if rows[name].null_count:
            raise _required(entity, name)
    return derive_ids(rows, entity)


def _required(entity: EntityType, name: str) -> ConstraintViolation:
    return ConstraintViolation(
        f"mutation rejected: {entity.name}.{name} is required but null",
        table_key=entity.table_key,
        property=name,
        rule=Code.MISSING_REQUIRED.value,
    )
