"""The Arrow tables that a load works on between reading and writing: canonical columns, plus where each row came from.

Blobs are plain `large_binary` here, and `id` is null where a record of a keyless type gives none.
"""

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.catalog.arrow import held_type, table_schema
from omnigraph.catalog.model import EntityType

LINE = "__line"
FILE = "__file"
POSITION = "__position"
_LINE_BITS = 40


def load_schema(entity: EntityType) -> pa.Schema:
    """Return the columns of a parsed table: id, endpoints, properties, omission flags, position, file, line."""
    return pa.schema(
        [
            *content_schema(entity),
            *(pa.field(omitted_column(name), pa.bool_(), nullable=False) for name in embedded_properties(entity)),
            pa.field(POSITION, pa.uint64(), nullable=False),
            pa.field(FILE, pa.int32(), nullable=False),
            pa.field(LINE, pa.uint64(), nullable=False),
        ]
    )


def content_schema(entity: EntityType) -> pa.Schema:
    """Return the columns that hold what a record says."""
    properties = entity.property_by_name
    fields = []
    for field in table_schema(entity):
        held = field.type if field.name not in properties else held_type(properties[field.name].type)
        if held != field.type:
            fields.append(pa.field(field.name, held, nullable=field.nullable))
        else:
            fields.append(field.with_nullable(True) if field.name == "id" else field)
    return pa.schema(fields)


def embedded_properties(entity: EntityType) -> list[str]:
    """Name the `@embed` vectors: a merge must know whether a record left them out or gave null."""
    return [declared.name for declared in entity.properties if declared.embed is not None]


def omitted_column(property_name: str) -> str:
    """Name the flag that is true where a record leaves an `@embed` vector out."""
    return f"__omitted_{property_name}"


def positions(lines: pa.Array, file_index: int) -> pa.Array:
    """Return numbers that order rows over all files: the file in the upper bits, the line in the lower 40.

    Unlike a running count they need no knowledge of other files or splits.
    """
    return pc.add(lines, pa.scalar(file_index << _LINE_BITS, pa.uint64()))
