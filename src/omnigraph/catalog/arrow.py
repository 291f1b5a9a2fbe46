"""The Arrow schema of a type's table: what every write declares and every read may rely on.

Lance keeps nullability and field metadata only if each write repeats them, so all writers take the schema from here.
"""

import pyarrow as pa

from omnigraph.base.values import dataclass
from omnigraph.catalog.model import EdgeType, EntityType, Property, PropertyType, TableIdentity
from omnigraph.catalog.scalars import Scalar, known
from omnigraph.catalog.values import stored_value

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


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrowForm:
    """How columns hold a scalar."""

    stored: pa.DataType
    """In tables; of a vector its items."""
    in_memory: pa.DataType | None = None
    """In rows on their way in and out, where that differs."""
    carrier: pa.DataType | None = None
    """The numbers that stand for it, for a scalar that Arrow makes from numbers only by way of a column of them."""
    ordered: pa.DataType | None = None
    """The type in which every engine orders it alike; None for what has no order."""
    metadata: tuple[tuple[str, str], ...] = ()
    """What its field says beside the property."""


_FORMS = {
    Scalar.STRING: ArrowForm(stored=pa.string(), ordered=pa.string()),
    Scalar.BOOL: ArrowForm(stored=pa.bool_()),
    Scalar.I32: ArrowForm(stored=pa.int32(), ordered=pa.int64()),
    Scalar.I64: ArrowForm(stored=pa.int64(), ordered=pa.int64()),
    Scalar.U32: ArrowForm(stored=pa.uint32(), ordered=pa.int64()),
    Scalar.U64: ArrowForm(stored=pa.uint64(), ordered=pa.decimal128(20, 0)),
    Scalar.F32: ArrowForm(stored=pa.float32(), ordered=pa.float64()),
    Scalar.F64: ArrowForm(stored=pa.float64(), ordered=pa.float64()),
    Scalar.DATE: ArrowForm(stored=pa.date32(), carrier=pa.int32(), ordered=pa.int64()),
    Scalar.DATETIME: ArrowForm(stored=pa.timestamp("ms", tz="UTC"), carrier=pa.int64(), ordered=pa.int64()),
    Scalar.BLOB: ArrowForm(
        stored=_BLOB_TYPE,
        in_memory=pa.large_binary(),
        metadata=(("ARROW:extension:name", "lance.blob.v2"), ("ARROW:extension:metadata", "")),
    ),
    Scalar.VECTOR: ArrowForm(stored=pa.float32()),
}


def arrow_form(scalar: Scalar) -> ArrowForm:
    """Return how columns hold a scalar."""
    return known(_FORMS, scalar, "catalog/arrow.py")


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
    metadata = {PROPERTY_ID_METADATA: str(declared.property_id), **dict(arrow_form(declared.type.scalar).metadata)}
    return pa.field(declared.name, arrow_type(declared.type), nullable=declared.stored_nullable, metadata=metadata)


def arrow_type(declared: PropertyType) -> pa.DataType:
    """Return the Arrow type of the values of a property."""
    return _of_items(declared, arrow_form(declared.scalar).stored)


def held_type(declared: PropertyType) -> pa.DataType:
    """Return the Arrow type of the values of a property in rows outside of tables, where blobs are plain binary."""
    form = arrow_form(declared.scalar)
    return _of_items(declared, form.in_memory or form.stored)


def carrier_type(declared: PropertyType) -> pa.DataType:
    """Return the type of a column that Python's numbers and texts can be put into, and that casts to `held_type`."""
    form = arrow_form(declared.scalar)
    return _of_items(declared, form.carrier or form.in_memory or form.stored)


def _of_items(declared: PropertyType, item: pa.DataType) -> pa.DataType:
    if declared.is_vector:
        return pa.list_(pa.field("item", item), declared.dimension)
    return pa.list_(pa.field("item", item)) if declared.is_list else item


def default_scalar(declared: Property) -> pa.Scalar | None:
    """Return what a write stores that leaves the property out; None if the property has no default."""
    if declared.default is None:
        return None
    return pa.scalar(stored_value(declared.default, declared.type), arrow_type(declared.type))
