"""New data files of a table, which nothing refers to until a commit names them."""

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pyarrow as pa

from omnigraph.storage.blob_columns import blob_storage, is_blob
from omnigraph.storage.checksums import read_back
from omnigraph.storage.field_ids import flat_field_ids
from omnigraph.storage.file_references import written_files
from omnigraph.storage.kept_row_ids import packed_row_ids, unpacked_row_ids
from omnigraph.storage.lance_errors import translated
from omnigraph.storage.table_store import TableStore
from omnigraph.storage.tables import Table, TableAddress

_FRAGMENT_ROWS_MAX = 1 << 20
_FRAGMENT_BYTES_MAX = 1 << 30


def described_fragment(store: TableStore, target: TableAddress, fragment: Any, *, has_blobs: bool) -> str:
    """Spell what a commit needs to know of a fragment that a worker wrote, the checksums of its files included."""
    sums = read_back(store.objects, written_files(target, [fragment]), has_blobs=has_blobs)
    row_ids = packed_row_ids(fragment.row_id_meta) if fragment.row_id_meta is not None else None
    return json.dumps({"fragment": replace(fragment, row_id_meta=None).to_json(), "row_ids": row_ids, "crc32": sums})


def fragment_of(described: str) -> tuple[Any, dict[str, str]]:
    """Return a fragment as it was described, and the checksums of its files."""
    from lance.fragment import FragmentMetadata

    document = json.loads(described)
    fragment = FragmentMetadata.from_json(json.dumps(document["fragment"]))
    if document["row_ids"] is not None:
        fragment.row_id_meta = unpacked_row_ids(document["row_ids"])
    return fragment, document["crc32"]


def write_data_files(
    store: TableStore,
    table: Table,
    target: TableAddress,
    rows: pa.Table | Iterable[pa.RecordBatch],
    *,
    rows_max: int | None = None,
) -> list[Any]:
    """Write rows, or a stream of them, as data files below `target`, none of more than `rows_max` rows.

    A target that is not the table should not exist yet. If it does, a writer that takes its gate first has just made
    it, or one that died left it: whoever commits these files finds out, so they are written all the same.
    """
    from lance.fragment import write_fragments

    existing = table if target == table.address else store.head(target)
    with translated(doing=f"writing new files of {target.path}", uri=target.path):
        fragments = write_fragments(
            with_blob_columns(rows, table.schema) if isinstance(rows, pa.Table) else _stream(rows, table.schema),
            store.uri(target) if existing is None else existing.dataset,
            schema=table.schema if existing is None else None,
            mode="create" if existing is None else "append",
            max_rows_per_file=_FRAGMENT_ROWS_MAX if rows_max is None else rows_max,
            max_bytes_per_file=_FRAGMENT_BYTES_MAX,
            storage_options=store.storage_options,
            enable_stable_row_ids=True,
            # Which references are allowed is decided where they come in; here they are carried as they are.
            allow_external_blob_outside_bases=True,
        )
    return [_with_field_ids(fragment, table) for fragment in fragments] if existing is None else list(fragments)


def _with_field_ids(fragment: Any, table: Table) -> Any:
    """Give files that were written without their table the field ids of that table.

    A table whose columns came and went has other ids than a new one of the same columns would get.
    """
    from lance.fragment import DataFile, FragmentMetadata
    from lance.schema import LanceSchema

    fresh = flat_field_ids(LanceSchema.from_pyarrow(table.schema).fields())
    known = dict(zip(fresh, flat_field_ids(table.dataset.lance_schema.fields()), strict=True))
    files = [
        DataFile(
            file.path,
            [known[field] for field in file.fields],
            file.column_indices,
            file.file_major_version,
            file.file_minor_version,
            file.file_size_bytes,
        )
        for file in fragment.files
    ]
    return FragmentMetadata(id=fragment.id, files=files, physical_rows=fragment.physical_rows)


def with_blob_columns(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Give columns of blob cells the blob type that the table's schema declares, and order columns by it."""
    columns = []
    for column_field in schema:
        column = rows[column_field.name]
        if is_blob(column_field.type):
            column = pa.chunked_array(map(blob_storage, column.chunks), column_field.type)
        columns.append(column)
    return pa.table(columns, schema=schema)


def _stream(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> pa.RecordBatchReader:
    return pa.RecordBatchReader.from_batches(
        schema,
        (
            made
            for batch in batches
            for made in with_blob_columns(pa.Table.from_batches([batch]), schema).combine_chunks().to_batches()
        ),
    )
