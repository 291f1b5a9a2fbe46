"""Comparing rewritten fragments with what they were made from, value for value.

New files belong to no version yet. A scratch dataset in memory that names them as its own makes them readable like any
others, blobs included. A rewrite keeps the order of rows, so both sides are compared as two streams, without a sort.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base import ids
from omnigraph.storage.access import TableAccess
from omnigraph.storage.blob_columns import DESCRIBED, blob_columns, read_blobs, read_schema

_BASE_ID = 1


def changed_columns(dataset: Any, access: TableAccess, made: Mapping[str, Any], *, batch_rows: int) -> list[str]:
    """Name the columns whose values are not the same, in the same order, in the new files; none is what we hope for."""
    originals = [dataset.get_fragment(old["id"]) for old in made["original_fragments"]]
    before = _scan(dataset, batch_rows, fragments=originals)
    after = _scan(_scratch(dataset, access, made["new_fragments"]), batch_rows)
    changed: set[str] = set()
    for older, newer in _aligned(before, after):
        for name in older.schema.names:
            if not _are_same(older[name], newer[name]):
                changed.add(name)
    return sorted(changed)


def _scan(dataset: Any, batch_rows: int, **options: Any) -> Iterator[pa.RecordBatch]:
    blobs = blob_columns(dataset.schema)
    described = DESCRIBED if blobs else {}
    reader = dataset.scanner(batch_size=batch_rows, scan_in_order=True, **described, **options).to_reader()
    if not blobs:
        yield from reader
        return
    yield from read_blobs(dataset, reader, read_schema(reader.schema, blobs), blobs)


def _scratch(dataset: Any, access: TableAccess, fragments: Sequence[Mapping[str, Any]]) -> Any:
    """Make a dataset in memory whose data files are the new ones, where they lie."""
    import lance
    from lance import DatasetBasePath, LanceOperation
    from lance.fragment import DataFile, FragmentMetadata

    named = [
        FragmentMetadata(
            id=number,
            files=[
                DataFile(
                    file["path"],
                    file["fields"],
                    file["column_indices"],
                    file["file_major_version"],
                    file["file_minor_version"],
                    file["file_size_bytes"],
                    _BASE_ID,
                )
                for file in fragment["files"]
            ],
            physical_rows=fragment["physical_rows"],
        )
        for number, fragment in enumerate(fragments)
    ]
    base = DatasetBasePath(access.uri, id=_BASE_ID, is_dataset_root=True)
    return lance.LanceDataset.commit(
        f"memory://omnigraph-verify-{ids.new_uuid()}",
        LanceOperation.Overwrite(dataset.lance_schema, named, initial_bases=[base]),
        storage_options=dict(access.storage_options) if access.storage_options else None,
    )


def _aligned(
    left: Iterator[pa.RecordBatch], right: Iterator[pa.RecordBatch]
) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch]]:
    """Cut two streams of equally many rows into pairs of equally long batches."""
    older, newer = next(left, None), next(right, None)
    while older is not None and newer is not None:
        rows = min(older.num_rows, newer.num_rows)
        yield older.slice(0, rows), newer.slice(0, rows)
        older = older.slice(rows) if rows < older.num_rows else next(left, None)
        newer = newer.slice(rows) if rows < newer.num_rows else next(right, None)


def _are_same(older: pa.Array, newer: pa.Array) -> bool:
    """Compare bit for bit: two NaNs are the same value here, and the two zeros are not."""
    kind = older.type
    if pa.types.is_floating(kind):
        bits = {16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[kind.bit_width]
        return bool(older.view(bits).equals(newer.view(bits)))
    if pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind):
        lengths = pc.list_value_length(older).equals(pc.list_value_length(newer))
        return bool(lengths) and _are_same(older.flatten(), newer.flatten())
    return bool(older.equals(newer))
