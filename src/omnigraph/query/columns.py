"""The columns of a result: their kinds in the words of documents, and their Arrow types."""

from typing import TYPE_CHECKING

from omnigraph.base.values import dataclass
from omnigraph.catalog.scalars import Scalar, traits_of
from omnigraph.query.typed import CheckedRead, Column, NodeReference

if TYPE_CHECKING:  # Arrow takes a tenth of a second to import, and a check needs none of it
    import pyarrow as pa


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnKind:
    """A column as clients are told of it; `int` has 32 bits, `bigint` 64."""

    name: str
    kind: str
    nullable: bool
    item_kind: str | None = None
    vector_dim: int | None = None


def column_kind(column: Column) -> ColumnKind:
    """Describe one column."""
    if isinstance(column.expression, NodeReference):
        return ColumnKind(name=column.name, kind="object", nullable=column.nullable)
    declared = column.expression.type
    kind = traits_of(declared.scalar).column_kind
    return ColumnKind(
        name=column.name,
        kind="list" if declared.is_list else kind,
        nullable=column.nullable,
        item_kind=kind if declared.is_list else None,
        vector_dim=declared.dimension,
    )


def result_schema(read: CheckedRead) -> "pa.Schema":
    """Return the Arrow schema of a read's result; a result without rows has it too."""
    import pyarrow as pa

    return pa.schema([_field(column) for column in read.columns])


def _field(column: Column) -> "pa.Field":
    import pyarrow as pa

    return pa.field(column.name, _arrow_type(column), nullable=column.nullable)


def _arrow_type(column: Column) -> "pa.DataType":
    import pyarrow as pa

    from omnigraph.catalog.arrow import arrow_type

    expression = column.expression
    if not isinstance(expression, NodeReference):
        return arrow_type(expression.type)
    # A node is its id, then what else can be read of it, by name.
    members = [pa.field("id", pa.string(), nullable=False)]
    members += [
        pa.field(declared.name, arrow_type(declared.type), nullable=declared.stored_nullable)
        for declared in expression.entity.properties
        if declared.type.scalar is not Scalar.BLOB
    ]
    return pa.struct(members)
