"""Blob values in rows outside of tables: one binary column that holds content and references side by side.

Content stands for itself, so ordinary values cost nothing. A reference stands behind a mark, and so does the rare
content that begins with the mark. No two values have the same cell: whoever compares, hashes, sorts or sends rows needs
to know nothing of references, and null, empty, content and reference stay four different things.
"""

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

CELL: Final = pa.large_binary()
_MARK: Final = b"\x00\xf5omnigraph blob\xf5"
"""No text in UTF-8 holds these bytes."""
_REFERENCE: Final = _MARK + b"@"
_CONTENT: Final = _MARK + b"="


def reference_cell(uri: str) -> bytes:
    """Return the cell of a reference."""
    return _REFERENCE + uri.encode()


def content_cell(content: bytes) -> bytes:
    """Return the cell of content."""
    return _CONTENT + content if content.startswith(_MARK) else content


def content_cells(contents: pa.Array) -> pa.Array:
    """Return the cells of a column of contents; null stays null."""
    if not _has_marks(contents):
        return contents
    return pa.array([None if content is None else content_cell(content) for content in contents.to_pylist()], CELL)


def cells_of(contents: pa.Array, uris: pa.Array) -> pa.Array:
    """Return the cells of rows that have content, a reference or neither; `uris` counts where both are there."""
    cells = content_cells(contents)
    if uris.null_count == len(uris):
        return cells
    references = pc.binary_join_element_wise(pa.scalar(_REFERENCE, CELL), uris.cast(CELL), pa.scalar(b"", CELL))
    return pc.if_else(pc.is_valid(uris), references, cells)


def split_cells(cells: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return the contents, null where a reference is, and the references, null where none is."""
    if not _has_marks(cells):
        return cells, pa.nulls(len(cells), pa.utf8())
    listed = cells.to_pylist()
    contents = [None if _uri(cell) is not None else _content(cell) for cell in listed]
    return pa.array(contents, CELL), pa.array(map(_uri, listed), pa.utf8())


def _has_marks(cells: pa.Array) -> bool:
    return bool(pc.any(pc.starts_with(cells, _MARK), min_count=0).as_py())


def _uri(cell: bytes | None) -> str | None:
    return cell.removeprefix(_REFERENCE).decode() if cell is not None and cell.startswith(_REFERENCE) else None


def _content(cell: bytes | None) -> bytes | None:
    return None if cell is None else cell.removeprefix(_CONTENT)
