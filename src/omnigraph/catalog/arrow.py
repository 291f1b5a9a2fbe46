"""The Arrow schema of a type's table: what every write declares and every read may rely on.

Lance keeps nullability and field metadata only if each write repeats them, so all writers take the schema from here.
"""

import pyarrow as pa

from omnigraph.catalog.model import EdgeType, EntityType, Property, PropertyType, Scalar, TableIdentity

PRIMARY_KEY_METADATA = "lance-schema:unenforced-primary-key"
PROPERTY_ID_METADATA = "omnigraph:property_id"
TABLE_IDENTITY_METADATA = "omnigraph:table_identity"
"""Where a table says in its schema which table of which graph it is; see `identity_mark`."""
SYSTEM_COLUMNS = frozenset({"id", "src", "dst"})
"""The columns that belong to no property; edges have all of them, nodes the first."""

# The logical shape of a Lance blob (version 2) and the mark that makes it one. Spelling the extension by metadata, as
# it travels over IPC, needs neither Lance nor a registered extension type; Lance stores and returns its own type.
_BLOB_TYPE = pa.struct(
    [
        pa.field("data", pa.large_binary()),
        pa.field("uri", pa.string()),
        pa.field("position", pa.uint64()),
        pa.field("size", pa.uint64()),
    ]
)
_BLOB_METADATA = {"ARROW:extension:name": "lance.blob.v2", "ARROW:extension:metadata": ""}

_SCALAR_TYPES = {
    Scalar.STRING: pa.string(),
    Scalar.BOOL: pa.bool_(),
    Scalar.I32: pa.int32(),
    Scalar.I64: pa.int64(),
    Scalar.U32: pa.uint32(),
    Scalar.U64: pa.uint64(),
    Scalar.F32: pa.float32(),
    Scalar.F64: pa.float64(),
    Scalar.DATE: pa.date32(),
    Scalar.DATETIME: pa.timestamp("ms", tz="UTC"),
    Scalar.BLOB: _BLOB_TYPE,
}


def identity_mark(graph_id: str, identity: TableIdentity) -> str:
    """Name one table among all tables of all graphs: the graph's identity domain and the table's identity in it."""
    return f"{graph_id}/{identity}"


def new_table_schema(entity: EntityType, graph_id: str) -> pa.Schema:
    """Return the schema that a table is born with: its columns, and the mark that no later change takes away."""
    return table_schema(entity).with_metadata({TABLE_IDENTITY_METADATA: identity_mark(graph_id, entity.identity)})


def table_schema(entity: EntityType) -> pa.Schema:
    """Return the schema of a newly created table: the system columns, then the properties by name.

    A table that has lived through migrations may have its columns in another order; address them by name.
    """
    system = [pa.field("id", pa.string(), nullable=False, metadata={PRIMARY_KEY_METADATA: "true"})]
    if isinstance(entity, EdgeType):
        system += [pa.field("src", pa.string(), nullable=False), pa.field("dst", pa.string(), nullable=False)]
    return pa.schema([*system, *map(property_field, entity.properties)])


def property_field(declared: Property) -> pa.Field:
    """Return the column of a property; its metadata names the property that fills it, whatever the column is called."""
    metadata = {PROPERTY_ID_METADATA: str(declared.property_id)}
    if declared.type.scalar is Scalar.BLOB:
        metadata |= _BLOB_METADATA
    return pa.field(declared.name, arrow_type(declared.type), nullable=declared.stored_nullable, metadata=metadata)


def arrow_type(declared: PropertyType) -> pa.DataType:
    """Return the Arrow type of the values of a property."""
    if declared.scalar is Scalar.VECTOR:
        return pa.list_(pa.field("item", pa.float32()), declared.dimension)
    scalar = _SCALAR_TYPES[declared.scalar]
    return pa.list_(pa.field("item", scalar)) if declared.is_list else scalar
