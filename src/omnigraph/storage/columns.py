"""Changing the columns of a data table in one planned transaction: renamed, dropped and added ones alike.

Existing data files are not touched: Lance finds a column by its number, so a rename changes a name in the schema, a
drop leaves the number out of it, and a new column is null wherever no file has it. Only a column that existing rows
get a value for costs one small file per fragment. Row ids and the indexes of columns that stay survive.
"""

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

import pyarrow as pa

from omnigraph.base import ids
from omnigraph.base.values import dataclass
from omnigraph.storage.checksums import read_back
from omnigraph.storage.field_ids import flat_field_ids, numbered_schema, unused_field_ids
from omnigraph.storage.file_references import FileReference, written_files
from omnigraph.storage.lance_errors import translated
from omnigraph.storage.table_store import TableStore
from omnigraph.storage.tables import Table
from omnigraph.storage.transactions import StagedCommit


@dataclass(frozen=True, slots=True, kw_only=True)
class Reshape:
    """The columns of a table after a change."""

    schema: pa.Schema
    """All of them, metadata included."""
    kept: Mapping[str, str]
    """Per column that stays, what it is called so far."""
    filled: Mapping[str, pa.Scalar]
    """Per new column, what existing rows get; a new column that is not named here is null in all of them."""


def stage_reshape(store: TableStore, table: Table, reshape: Reshape, *, properties: Mapping[str, str]) -> StagedCommit:
    """Write the files of the new columns that have values, and plan the one transaction that changes the schema."""
    from lance import LanceOperation

    dataset = table.dataset
    with translated(doing=f"adding columns to {table.address.path}", uri=table.address.path):
        fragments, filled_ids = _filled(dataset, reshape.filled)
        # What the schema says beside its columns belongs to the table: by it the graph knows the table again.
        columns = reshape.schema.with_metadata(table.schema.metadata)
        schema = numbered_schema(columns, _field_ids(dataset, reshape, filled_ids))
    operation = LanceOperation.Merge(fragments, schema)
    files = _new_files(table, fragments)
    return StagedCommit(
        uuid=ids.new_uuid(),
        read_version=table.version,
        operation="Merge",
        properties=properties,
        build=lambda _: operation,
        files=files,
        checksums=read_back(store.objects, files, has_blobs=False),
    )


def _new_files(table: Table, fragments: Sequence[Any]) -> tuple[FileReference, ...]:
    """Return the files that the new columns were written to: those which the table does not have so far."""
    known = {file.path for fragment in table.dataset.get_fragments() for file in fragment.metadata.files}
    return tuple(file for file in written_files(table.address, fragments) if file.path.rpartition("/")[2] not in known)


def _filled(dataset: Any, filled: Mapping[str, pa.Scalar]) -> tuple[list[Any], dict[str, int]]:
    """Return the table's fragments with files for the filled columns, and the ids that Lance gave these."""
    fragments = dataset.get_fragments()
    if not filled or not fragments:
        return [fragment.metadata for fragment in fragments], {}
    # A new column may have the name of one that goes; inside the files only the numbers count.
    name_in_file = {name: f"__new_{position}" for position, name in enumerate(filled)}

    def values(batch: pa.RecordBatch) -> pa.RecordBatch:
        columns = [pa.repeat(value, batch.num_rows) for value in filled.values()]
        return pa.record_batch(columns, names=list(name_in_file.values()))

    merged = [fragment.merge_columns(values, columns=["id"]) for fragment in fragments]
    _, schema = merged[-1]
    return [metadata for metadata, _ in merged], {name: schema.field(name_in_file[name]).id() for name in filled}


def _field_ids(dataset: Any, reshape: Reshape, filled_ids: Mapping[str, int]) -> list[int]:
    """Return the numbers of the new schema, depth first: known columns keep theirs, others get unused ones."""
    from lance.schema import LanceSchema

    known = {field.name(): flat_field_ids([field]) for field in dataset.lance_schema.fields()}
    unused = (number for number in unused_field_ids(dataset) if number not in filled_ids.values())
    numbers: list[int] = []
    for field in LanceSchema.from_pyarrow(reshape.schema).fields():
        if field.name() in reshape.kept:
            numbers += known[reshape.kept[field.name()]]
        elif field.name() in filled_ids:
            numbers.append(filled_ids[field.name()])
        else:
            numbers += islice(unused, len(flat_field_ids([field])))
    return numbers
