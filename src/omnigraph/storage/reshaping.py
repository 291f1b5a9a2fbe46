"""Changing the shape of an internal table in place: schema metadata, the key annotation, added columns.

Data tables never change like this: their shape follows the accepted schema through staged commits. Everything here is
for migrations, which must be able to repeat each change and to notice that somebody else was faster.
"""

from collections.abc import Iterable, Mapping

import pyarrow as pa

from omnigraph.base import ids
from omnigraph.catalog.arrow import PRIMARY_KEY_METADATA
from omnigraph.storage.lance_errors import LanceFailure, classify, lance_failures, storage_error
from omnigraph.storage.tables import Table
from omnigraph.storage.transactions import CommitInterleaved, StagedCommit


def is_annotated_key(table: Table, column: str) -> bool:
    """Whether Lance compares the values of `column` between racing merges."""
    return PRIMARY_KEY_METADATA.encode() in (table.schema.field(column).metadata or {})


def stage_metadata(
    table: Table,
    schema_metadata: Mapping[str, str | None],
    *,
    key_column: str | None = None,
    properties: Mapping[str, str],
) -> StagedCommit:
    """Plan one commit that sets schema metadata (None removes a key) and, if asked, annotates the key column.

    Two such commits from one state that share a key conflict, so the later one never undoes the earlier. The
    annotation can be set once and never again, not even to the same value.
    """
    from lance import LanceOperation

    annotations = {}
    if key_column is not None:
        field_id = table.dataset.lance_schema.field(key_column).id()
        annotations[field_id] = LanceOperation.UpdateMap(updates={PRIMARY_KEY_METADATA: "true"})
    operation = LanceOperation.UpdateConfig(
        schema_metadata_updates=LanceOperation.UpdateMap(updates=dict(schema_metadata)),
        field_metadata_updates=annotations or None,
    )
    return StagedCommit(
        uuid=ids.new_uuid(),
        read_version=table.version,
        operation="UpdateConfig",
        properties=properties,
        build=lambda _: operation,
    )


def add_null_columns(table: Table, fields: Iterable[pa.Field]) -> None:
    """Add columns that are null in every row, in one commit that rewrites no file.

    A merge from a handle opened before it fails when it may not retry. Raises `CommitInterleaved` when somebody else
    got in between; the caller looks again which columns are missing.
    """
    try:
        table.own_handle().add_columns(list(fields))
    except lance_failures() as error:
        if classify(error) in {LanceFailure.CONFLICT, LanceFailure.INCOMPATIBLE, LanceFailure.EXISTS}:
            raise CommitInterleaved(f"{table.address.path} moved past version {table.version}") from error
        raise storage_error(error, doing=f"adding columns to {table.address.path}", uri=table.address.path) from error
