"""Single blobs of a table: what is stored about one, and its bytes, a part at a time.

A scan brings blobs whole, and would open an external reference to do so. Here nothing is read but the descriptor until
somebody asks for bytes, and a reference is never opened.
"""

import hashlib
from typing import Any, Final

import pyarrow as pa

from omnigraph.base.values import dataclass
from omnigraph.storage.blob_columns import EXTERNAL
from omnigraph.storage.filters import Comparison
from omnigraph.storage.lance_errors import translated
from omnigraph.storage.tables import ROW_ADDRESS, ROW_ID, Table, serialized_row_ids

_OFFSET_BITS: Final = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredBlob:
    """One blob as a table has it: its size and a mark of its bytes, or the address that it refers to."""

    table: Table
    column: str
    row_id: int
    size: int
    etag: str
    """Another one whenever the bytes differ; it may change without them, as when files are rewritten."""
    uri: str | None

    def opened(self) -> "OpenBlob":
        """Prepare to read bytes; nothing is read yet."""
        with _reading(self.table):
            [file] = self.table.dataset.take_blobs(self.column, ids=[self.row_id], buffer_size=0)
        return OpenBlob(self.table, file)


class OpenBlob:
    """Reads parts of one blob, each into memory and nothing else."""

    def __init__(self, table: Table, file: Any) -> None:
        self._table = table
        self._file = file

    def read(self, offset: int, length: int) -> bytes:
        """Read bytes that are known to be there."""
        with _reading(self._table):
            return bytes(self._file.read_range(offset, length))


def find_blob(table: Table, entity_id: str, column: str) -> tuple[bool, StoredBlob | None]:
    """Return whether there is such an entity, and its blob; a cell without a value has none."""
    where = Comparison("id", "=", entity_id).sql()
    found = table.read(["id"], where=where, with_row_ids=True, with_row_addresses=True).to_pylist()
    if not found:
        return False, None
    [row] = found
    described = _descriptor(table, column, row[ROW_ID], row[ROW_ADDRESS])
    if described is None:
        return True, None
    return True, StoredBlob(
        table=table,
        column=column,
        row_id=row[ROW_ID],
        size=described["size"],
        etag=_etag(table, column, row[ROW_ADDRESS]),
        uri=described["blob_uri"] if described["kind"] == EXTERNAL else None,
    )


def _descriptor(table: Table, column: str, row_id: int, row_address: int) -> dict[str, Any] | None:
    with _reading(table):
        fragment = table.dataset.get_fragment(row_address >> _OFFSET_BITS)
        scanner = table.dataset.scanner(
            columns=[column],
            fragments=[fragment],
            row_addr_allowlist=serialized_row_ids(pa.array([row_id], pa.uint64())),
            blob_handling="blobs_descriptions",
        )
        [described] = scanner.to_table()[column].to_pylist()
    return described  # type: ignore[no-any-return]  # what Lance says


def _etag(table: Table, column: str, row_address: int) -> str:
    """Name the bytes by where they were written: a data file is never written again, and no two share a name."""
    dataset = table.dataset
    field = dataset.lance_schema.field(column).id()
    fragment = dataset.get_fragment(row_address >> _OFFSET_BITS)
    files = [file.path for file in fragment.metadata.files if field in file.fields]
    place = row_address & ((1 << _OFFSET_BITS) - 1)
    return hashlib.sha256("\n".join((*files, str(field), str(place))).encode()).hexdigest()[:32]


def _reading(table: Table) -> Any:
    return translated(doing=f"reading {table.address.path} version {table.version}", uri=table.address.path)
