"""One blob of one row: how long it is, where it is if that is elsewhere, and any part of its bytes."""

from typing import Any

from omnigraph.storage.filters import Comparison
from omnigraph.storage.lance_errors import translated
from omnigraph.storage.tables import Table


class StoredBlob:
    """A blob that is there; its bytes are read on request, a part at a time."""

    def __init__(self, table: Table, file: Any, *, size: int, uri: str | None) -> None:
        self._table = table
        self._file = file
        self.size = size
        self.uri = uri
        """Where the bytes are, for a value that only refers to them; they are never read from there."""

    def read(self, start: int, end: int) -> bytes:
        """Return the bytes from `start` up to `end`, which lie inside of the blob."""
        path = self._table.address.path
        with translated(doing=f"reading a blob of {path}", uri=path):
            content: bytes = self._file.read_range(start, end - start)
        return content


def find_blob(table: Table, column: str, *, id_: str) -> tuple[bool, StoredBlob | None]:
    """Find a blob by the id of its row: whether there is such a row, and its blob unless that is null."""
    path = table.address.path
    with translated(doing=f"finding a blob of {path}", uri=path):
        found = table.dataset.scanner(
            columns=[column], filter=Comparison("id", "=", id_).sql(), with_row_id=True, limit=1
        ).to_table()
        if not found.num_rows:
            return False, None
        described = found[column][0].as_py()
        if described is None:
            return True, None
        uri = described.get("blob_uri") or None
        if uri is not None:
            return True, StoredBlob(table, None, size=int(described.get("size") or 0), uri=uri)
        (file,) = table.dataset.take_blobs(column, ids=found["_rowid"].to_pylist(), buffer_size=0)
        return True, StoredBlob(table, file, size=int(file.size()), uri=None)
