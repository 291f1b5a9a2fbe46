"""What images read from Lance tables: ids, ends and columns, a batch at a time, so that strings never pile up."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from omnigraph.base.grouping import grouped
from omnigraph.query.access import MISSING, Codes, Numbers, Ordinals
from omnigraph.query.image.book import Book
from omnigraph.query.image.buffers import indices_of, numbers_of, whole
from omnigraph.query.image.columns import ImageColumn, column_by_ordinal, plain_value
from omnigraph.query.image.packing import PIECE_ROWS, Ends
from omnigraph.query.image.rows import BaseRows, RowIds, TableRows
from omnigraph.query.image.shelf import DoesNotFit
from omnigraph.storage.tables import ROW_ID, Table

_CHUNK_ROWS = 1 << 20
_LONG_TEXT_BYTES = 512
"""Texts that are longer on average stay in Lance, which searches them faster than a column in memory would."""
_LONG_TEXTS_MIN = 1_000
_PIECE_BYTES = 1 << 20
_TEXTS_BYTES_MAX = (1 << 31) - 1
"""What one Arrow array of strings holds."""


class FarColumn:
    """A property that stays in its table: taken from there, row by row, for the few entities that are asked about."""

    nbytes = 64

    def __init__(self, table: Table, rows: TableRows, name: str) -> None:
        self._table = table
        self._rows = rows
        self._name = name
        self.type = table.schema.field(name).type

    def one(self, ordinal: int) -> Any:
        """Return one value, or None."""
        return plain_value(self.take(np.array([ordinal], np.int32)), 0)

    def take(self, ordinals: Ordinals) -> pa.Array:
        """Return values in the order of the ordinals."""
        distinct, places = np.unique(ordinals, return_inverse=True)
        values = values_at(self._table, self._rows.row_ids_of(distinct), self._name)
        return values.take(indices_of(places.astype(np.int32)))

    def numbers(self, ordinals: Ordinals | None = None) -> Numbers:
        """Return values of fixed width."""
        return numbers_of(self.take(self._all() if ordinals is None else ordinals))

    def codes(self, ordinals: Ordinals | None = None) -> Codes | None:  # noqa: ARG002 — as every column has it
        """Long texts have no codes."""
        return None

    def pieces(self) -> Iterator[tuple[Ordinals, pa.Array]]:
        """Yield values with their ordinals, some at a time, as the table has them."""
        for batch in self._table.scan([self._name], with_row_ids=True):
            ordinals, values = self._rows.ordinals_of(row_ids_in(batch)), batch[self._name]
            at_once = max(1, batch.num_rows * _PIECE_BYTES // max(values.nbytes, 1))
            for start in range(0, batch.num_rows, at_once):
                yield ordinals[start : start + at_once], values.slice(start, at_once)

    def cosines(self, direction: NDArray[np.float64]) -> None:
        """Vectors that are not in memory are compared as they are read."""

    def _all(self) -> Ordinals:
        return np.arange(self._rows.size, dtype=np.int32)


def read_node_rows(table: Table, book: Book) -> BaseRows:
    """Read the ids of a state, give ordinals to those that are new, and return who has which row."""
    ordinals, row_ids = [np.zeros(0, np.int32)], [np.zeros(0, np.int64)]
    for rows in _chunks(table, ["id"]):
        ordinals.append(book.add_all(whole(rows["id"])))
        row_ids.append(row_ids_in(rows))
    by_ordinal = np.full(max((int(some.max(initial=-1)) for some in ordinals), default=-1) + 1, MISSING, np.int64)
    by_ordinal[np.concatenate(ordinals)] = np.concatenate(row_ids)
    return BaseRows(by_ordinal)


def read_edge_rows(table: Table) -> BaseRows:
    """Give the rows of a state numbers in the order of a scan, which opens no data file."""
    return BaseRows(np.concatenate([np.zeros(0, np.int64), *map(row_ids_in, _chunks(table, []))]))


def read_ends(table: Table, rows: TableRows, from_book: Book, to_book: Book) -> Iterator[Ends]:
    """Read both ends of every edge as ordinals, with the edge, a piece at a time."""
    start = 0
    for chunk in _chunks(table, ["src", "dst"], rows_max=PIECE_ROWS):
        near, far = ordinals_of_ids(chunk["src"], from_book), ordinals_of_ids(chunk["dst"], to_book)
        yield near, far, rows.ordinals_in_scan(row_ids_in(chunk), start)
        start += chunk.num_rows


def ordinals_of_ids(ids: pa.ChunkedArray, book: Book) -> Ordinals:
    """Return the ordinals of ids that may repeat; an id that the book does not know gets the next one."""
    encoded = whole(ids).dictionary_encode()
    ordinals = book.add_all(encoded.dictionary)
    found: Ordinals = ordinals[numbers_of(encoded.indices).values]
    return found


def read_column(table: Table, rows: TableRows, name: str, *, bytes_max: int) -> ImageColumn | FarColumn:
    """Read a property of all entities; long texts stay where they are."""
    kind = table.schema.field(name).type
    if not is_held_in_memory(kind):
        return FarColumn(table, rows, name)
    if pa.types.is_fixed_size_list(kind) and 2 * vector_bytes(kind) * rows.count > bytes_max:
        raise DoesNotFit(f"{name} needs more memory than images may take")
    pieces, ordinals = [], [np.zeros(0, np.int32)]
    size_bytes = count = 0
    for batch in table.scan([name], with_row_ids=True, is_thrifty=True):
        pieces.append(batch[name])
        ordinals.append(rows.ordinals_of(row_ids_in(batch)))
        size_bytes += batch[name].nbytes
        count += batch.num_rows
        if pa.types.is_string(kind) and (
            size_bytes > _TEXTS_BYTES_MAX or (count >= _LONG_TEXTS_MIN and size_bytes > count * _LONG_TEXT_BYTES)
        ):
            return FarColumn(table, rows, name)
        if 2 * size_bytes > bytes_max:
            raise DoesNotFit(f"{name} needs more memory than images may take")
    return column_by_ordinal(pieces, np.concatenate(ordinals), size=rows.size, kind=kind)


def vector_bytes(kind: pa.DataType) -> int:
    """How much memory a vector takes."""
    return int(kind.list_size) * 4


def is_held_in_memory(kind: pa.DataType) -> bool:
    """Whether values of a type are worth their memory; blobs never are."""
    return not (pa.types.is_struct(kind) or pa.types.is_large_binary(kind) or isinstance(kind, pa.BaseExtensionType))


def values_at(table: Table, row_ids: RowIds, name: str) -> pa.Array:
    """Return a property of rows by their ids, in their order; null where there is no such row."""
    wanted = row_ids[row_ids != MISSING]
    found = table.take(_row_id_array(wanted), [name])
    found_ids = row_ids_in(found)
    order = np.argsort(found_ids)
    values = whole(found[name])
    if not len(order):
        return pa.nulls(len(row_ids), values.type)
    places = np.minimum(np.searchsorted(found_ids[order], row_ids), len(order) - 1)
    is_found = found_ids[order][places] == row_ids
    return values.take(indices_of(order[places].astype(np.int64), is_found))


def row_ids_in(rows: pa.Table | pa.RecordBatch) -> RowIds:
    """Return the row ids of rows that were read with them."""
    return as_row_ids(whole(rows[ROW_ID]))


def as_row_ids(array: pa.Array) -> RowIds:
    """Return row ids as signed numbers, which leaves room for `MISSING`."""
    numbers: NDArray[Any] = numbers_of(array).values
    return numbers.astype(np.int64)


def _row_id_array(row_ids: RowIds) -> pa.Array:
    return pa.array(row_ids.tolist(), pa.uint64())


def _chunks(table: Table, columns: list[str], *, rows_max: int = _CHUNK_ROWS) -> Iterator[pa.Table]:
    scanned = table.scan(columns, with_row_ids=True, is_thrifty=True)
    for batches in grouped(scanned, (lambda batch: batch.num_rows, rows_max)):
        yield pa.Table.from_batches(batches)
