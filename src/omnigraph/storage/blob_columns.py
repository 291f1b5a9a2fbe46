"""Blob columns of tables as columns of cells (`catalog/blob_cells.py`), and back.

Left alone, Lance reads a blob column by opening whatever it refers to. Here it is asked for descriptions, which say of
every value where it is, and then for the bytes that the table itself holds: a reference is carried and never opened.
"""

from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.catalog.blob_cells import CELL, cells_of, split_cells
from omnigraph.errors import InvalidTarget

EXTERNAL: Final = 3
"""How Lance marks a blob that is a reference; `tests/guards/test_blobs.py` pins it."""
DESCRIBED: Final[dict[str, Any]] = {"blob_handling": "blobs_descriptions", "with_row_address": True}
"""What a scan is asked for."""
PARTS: Final = pa.struct([pa.field("data", CELL), pa.field("uri", pa.utf8())])
_ROW_ADDRESS: Final = "_rowaddr"
_READ_BYTES: Final = 32 * 2**20
"""How much content is read at a time: a row may hold megabytes, and a batch has thousands of rows."""


class BlobForm(Enum):
    """What a scan makes of blobs."""

    CELLS = "cells"
    """Content and references, for whoever writes or spells them again."""
    CONTENTS = "contents"
    """Content alone, for whoever takes columns for what they are; a reference is an error."""
    PARTS = "parts"
    """Content and reference side by side, as others hand in blobs; see `PARTS`."""


def is_blob(data_type: pa.DataType) -> bool:
    """Whether a column holds blobs, as Lance stores them."""
    return getattr(data_type, "extension_name", None) == "lance.blob.v2"


def blob_columns(schema: pa.Schema) -> list[str]:
    """Name the columns that hold blobs."""
    return [field.name for field in schema if is_blob(field.type)]


def read_schema(
    described: pa.Schema, blobs: Sequence[str], form: BlobForm = BlobForm.CELLS, *, with_row_addresses: bool = False
) -> pa.Schema:
    """Return what `read_blobs` makes of the columns of a scan."""
    kind = PARTS if form is BlobForm.PARTS else CELL
    fields = [field.with_type(kind).remove_metadata() if field.name in blobs else field for field in described]
    return pa.schema([field for field in fields if with_row_addresses or field.name != _ROW_ADDRESS])


def read_blobs(
    dataset: Any,
    described: Iterator[pa.RecordBatch],
    schema: pa.Schema,
    blobs: Sequence[str],
    form: BlobForm = BlobForm.CELLS,
) -> Iterator[pa.RecordBatch]:
    """Put blobs in the place of their descriptions, a bounded number of bytes at a time; see `read_schema`."""
    for batch in described:
        for piece in _pieces(batch, blobs):
            addresses = piece[_ROW_ADDRESS]
            columns = {name: _blobs(dataset, name, piece[name], addresses, form) for name in blobs}
            yield pa.record_batch([columns.get(name, piece[name]) for name in schema.names], schema=schema)


def blob_storage(cells: pa.Array) -> pa.Array:
    """Return cells as Lance takes blobs."""
    from lance.blob import BlobType

    contents, uris = split_cells(cells)
    nothing = pa.nulls(len(cells), pa.uint64())
    storage = pa.StructArray.from_arrays(
        [contents, uris, nothing, nothing], names=["data", "uri", "position", "size"], mask=pc.is_null(cells)
    )
    return pa.ExtensionArray.from_storage(BlobType(), storage)


def _pieces(batch: pa.RecordBatch, blobs: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Cut a batch into pieces whose content is about as large as is read at a time."""
    sizes = (pc.fill_null(pc.struct_field(batch[name], "size"), 0).to_pylist() for name in blobs)
    start, total = 0, 0
    for row, size in enumerate(map(sum, zip(*sizes, strict=True))):
        if total and total + size > _READ_BYTES:
            yield batch.slice(start, row - start)
            start, total = row, 0
        total += size
    yield batch.slice(start)


def _blobs(dataset: Any, name: str, described: pa.Array, addresses: pa.Array, form: BlobForm) -> pa.Array:
    is_there = pc.is_valid(described)
    is_external = pc.and_(is_there, pc.equal(pc.struct_field(described, "kind"), EXTERNAL))
    if form is BlobForm.CONTENTS:
        _refuse_references(name, is_external)
    is_held = pc.and_(is_there, pc.invert(is_external))
    held = _held(dataset, name, addresses.filter(pc.and_(is_held, pc.greater(pc.struct_field(described, "size"), 0))))
    contents = pa.array(
        [
            None if not is_own else held[address] if size else b""
            for is_own, size, address in zip(
                is_held.to_pylist(),
                pc.struct_field(described, "size").to_pylist(),
                addresses.to_pylist(),
                strict=True,
            )
        ],
        CELL,
    )
    if form is BlobForm.CONTENTS:
        return contents
    uris = pc.if_else(is_external, pc.struct_field(described, "blob_uri"), pa.scalar(None, pa.utf8()))
    if form is BlobForm.PARTS:
        return pa.StructArray.from_arrays([contents, uris], fields=list(PARTS), mask=pc.invert(is_there))
    return cells_of(contents, uris)


def _held(dataset: Any, name: str, addresses: pa.Array) -> dict[int, bytes]:
    """Read what the table holds itself, by row address."""
    return dict(dataset.read_blobs(name, addresses=addresses.to_pylist())) if len(addresses) else {}


def _refuse_references(name: str, is_external: pa.Array) -> None:
    if pc.any(is_external, min_count=0).as_py():
        raise InvalidTarget(
            f"{name} refers to objects elsewhere in some rows: they are never opened, and a binary column cannot hold "
            "a reference. Choose other columns, or export as jsonl, which keeps references; `omnigraph blob stat` "
            "tells a single one."
        )
