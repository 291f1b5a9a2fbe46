"""The key columns of a load's records: what the checks over the whole graph look at.

Those of stored rows, and what both have in common, are in `writes/constraints/keys.py`.
"""

from collections.abc import Iterator

import pyarrow as pa

from omnigraph.base.values import dataclass
from omnigraph.catalog.model import EntityType
from omnigraph.pipeline.load.newest import newest_type, newest_values
from omnigraph.records.tables import FILE, LINE, POSITION
from omnigraph.storage.worker_files import ScratchPlace
from omnigraph.writes.constraints.keys import CONTENT_FIELD, content_digests, key_columns, key_fields, typed


def incoming_schema(entity: EntityType, *, has_meaning: bool, newest_by: str | None = None) -> pa.Schema:
    """Return the key columns of incoming rows; with those that find the edge a record means, if it may mean one."""
    fields = [*key_fields(entity), ("position", pa.int64()), ("file", pa.int32()), ("line", pa.int64())]
    if (newest := newest_type(entity, newest_by)) is not None:
        fields.append(("newest", newest))
    return pa.schema(fields + ([("minted", pa.string()), CONTENT_FIELD] if has_meaning else []))


def incoming_keys(
    entity: EntityType, rows: pa.Table, *, minted: pa.Array | None = None, newest_by: str | None = None
) -> pa.Table:
    """Take the key columns out of parsed rows; with `minted`, also what finds the edge that a record means."""
    schema = incoming_schema(entity, has_meaning=minted is not None, newest_by=newest_by)
    columns = [*key_columns(entity, rows), rows[POSITION], rows[FILE], rows[LINE]]
    if newest_by is not None and newest_type(entity, newest_by) is not None:
        columns.append(newest_values(rows[newest_by]))
    if minted is not None:
        columns += [minted, content_digests(entity, rows)]
    return pa.table([typed(column, field) for column, field in zip(columns, schema, strict=True)], schema=schema)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyFile:
    """Where a worker kept key columns."""

    scratch: ScratchPlace
    name: str


def read_keys(file: KeyFile) -> Iterator[pa.RecordBatch]:
    """Read kept key columns."""
    yield from file.scratch.open().read_table(file.name).to_batches()
