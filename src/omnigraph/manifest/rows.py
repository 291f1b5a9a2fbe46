"""The rows of `__manifest`: columns, object ids and how rows are made. No object id is formatted anywhere else."""

from collections.abc import Iterable, Mapping
from dataclasses import fields
from enum import StrEnum
from typing import Any, Final

import pyarrow as pa

from omnigraph.base.values import dataclass
from omnigraph.catalog.model import TableIdentity, TableKey
from omnigraph.storage.tables import TableAddress

MANIFEST: Final = TableAddress("__manifest")
PRIMARY_KEY: Final = {"lance-schema:unenforced-primary-key": "true"}


class ObjectType(StrEnum):
    """What a manifest row speaks of."""

    TABLE = "table"
    TABLE_VERSION = "table_version"
    TABLE_TOMBSTONE = "table_tombstone"
    SCHEMA = "schema"
    GRAPH_HEAD = "graph_head"


HEAD_OBJECT_ID: Final = "graph_head"

MANIFEST_SCHEMA: Final = pa.schema(
    [
        pa.field("object_id", pa.string(), nullable=False, metadata=PRIMARY_KEY),
        pa.field("object_type", pa.string(), nullable=False),
        pa.field("graph_version", pa.uint64(), nullable=False),
        pa.field("graph_commit_id", pa.string(), nullable=False),
        pa.field("table_key", pa.string(), nullable=False),
        pa.field("stable_table_id", pa.uint64()),
        pa.field("table_incarnation_id", pa.uint64()),
        pa.field("table_version", pa.uint64()),
        pa.field("table_branch", pa.string()),
        pa.field("row_count", pa.uint64()),
        pa.field("location", pa.string()),
        pa.field("metadata", pa.string()),
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestRow:
    """One row, field for column."""

    object_id: str
    object_type: ObjectType
    graph_version: int
    graph_commit_id: str
    table_key: str = ""
    stable_table_id: int | None = None
    table_incarnation_id: int | None = None
    table_version: int | None = None
    table_branch: str | None = None
    row_count: int | None = None
    location: str | None = None
    metadata: str | None = None

    @classmethod
    def from_columns(cls, values: Mapping[str, Any]) -> "ManifestRow":
        """Make a row from one record of a scan; an unknown object type is an error, never skipped."""
        known = {column.name: values[column.name] for column in fields(cls)}
        return cls(**{**known, "object_type": ObjectType(values["object_type"])})

    @property
    def identity(self) -> TableIdentity:
        """The identity of the table this row speaks of."""
        assert self.stable_table_id is not None
        assert self.table_incarnation_id is not None
        return TableIdentity(type_id=self.stable_table_id, incarnation_id=self.table_incarnation_id)


def table_object_id(identity: TableIdentity, graph_version: int) -> str:
    """Name the row that registers or renames a table."""
    return f"table:{identity}:{graph_version:020d}"


def version_object_id(identity: TableIdentity, graph_version: int) -> str:
    """Name the row that moves a table's pin."""
    return f"table_version:{identity}:{graph_version:020d}"


def tombstone_object_id(identity: TableIdentity, graph_version: int) -> str:
    """Name the row that ends a table's lifetime."""
    return f"table_tombstone:{identity}:{graph_version:020d}"


def schema_object_id(graph_version: int) -> str:
    """Name the row that accepts a schema."""
    return f"schema:{graph_version:020d}"


OBJECT_ID_BY_TYPE: Final = {
    ObjectType.TABLE: table_object_id,
    ObjectType.TABLE_VERSION: version_object_id,
    ObjectType.TABLE_TOMBSTONE: tombstone_object_id,
}


def location_of(table_key: TableKey, identity: TableIdentity) -> str:
    """Choose the directory of a new table; afterwards the `location` in `__manifest` is the authority."""
    return f"{'nodes' if table_key.startswith('node:') else 'edges'}/{identity}"


def rows_to_table(rows: Iterable[ManifestRow], schema: pa.Schema) -> pa.Table:
    """Build the Arrow table that a publish writes."""
    records = [{column.name: getattr(row, column.name) for column in fields(row)} for row in rows]
    return pa.Table.from_pylist(records, schema=schema)
