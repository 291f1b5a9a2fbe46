"""Which structures of an image are kept on disk, and how each of them is spelled there.

Only what was read from a table as a whole is kept: it follows from the files of that state alone, whose digest is part
of the key. What holds ordinals of nodes also names the book that gave them. A book on disk has a name of its own and
never changes under it: one that has grown is written anew, under another name.
"""

from dataclasses import replace
from functools import lru_cache
from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from omnigraph.base import ids
from omnigraph.catalog.arrow import identity_mark
from omnigraph.manifest.snapshot import TablePin
from omnigraph.query.access import Direction
from omnigraph.query.image.adjacency import Csr, Lists
from omnigraph.query.image.book import Book, KeyIndex, SealedIds
from omnigraph.query.image.buffers import text_parts
from omnigraph.query.image.columns import ImageColumn
from omnigraph.query.image.disk import DiskCache, Key
from omnigraph.query.image.ranks import Ranks
from omnigraph.query.image.rows import BaseRows
from omnigraph.storage.row_changes import files_digest
from omnigraph.storage.tables import Table

_ROWS_MIN = 10_000
"""What has fewer is read from its table as fast."""


class SavedImages:
    """Saves and loads structures; without a cache it does neither."""

    def __init__(self, cache: DiskCache | None) -> None:
        self._cache = cache
        self._books: dict[int, tuple[str, int]] = {}
        """By the serial of each book that is on disk, its name and how many ids are in the file."""
        self._pins: dict[int, TablePin] = {}
        """By the serial of each book, of which nodes it is."""
        self._lock = Lock()

    def load_book(self, pin: TablePin) -> Book:
        """Return the book of a node type as it was saved last, or an empty one."""
        stored = self._cache.read(_book_key(pin)) if self._cache is not None else None
        if stored is None:
            return self.new_book(pin)
        texts = _texts(stored.arrays["begins"], stored.arrays["data"])
        book = Book(SealedIds(texts, KeyIndex(stored.arrays["hashes"], stored.arrays["ordinals"])))
        self._books[book.serial] = (str(stored.facts["book"]), len(texts))
        self._pins[book.serial] = pin
        return book

    def new_book(self, pin: TablePin) -> Book:
        """Return an empty book of a node type, which takes the place of the one on disk when it is saved."""
        book = Book()
        self._pins[book.serial] = pin
        return book

    def last_pin(self, pin: TablePin) -> TablePin | None:
        """Return the state of the same table that was saved last; it may be on another branch, or gone."""
        stored = self._read(pin, _last_key(pin))
        return None if stored is None else replace(pin, **stored.facts)

    def has(self, kind: str, pin: TablePin, table: Table, name: str, books: tuple[Book, ...]) -> bool:
        """Whether a column or an adjacency of a state is on disk."""
        if self._cache is None or pin.row_count < _ROWS_MIN:
            return False
        if kind == "column":
            key = self._column_key(pin, table, name, books[0] if len(books) == 1 else None)
        else:
            key = self._state_key(f"{kind} {name}", pin, table, *books)
        return key is not None and self._cache.has(key)

    def load_rows(self, pin: TablePin, table: Table, book: Book | None) -> BaseRows | None:
        """Return the rows of a state; those of nodes by the ordinals of a book."""
        stored = self._read(pin, self._state_key("rows", pin, table, book))
        if stored is None:
            return None
        row_ids = stored.arrays["row_ids"]
        start, size = int(stored.facts["start"]), int(stored.facts["size"])
        return BaseRows(row_ids if len(row_ids) else np.arange(start, start + size))

    def save_rows(self, pin: TablePin, table: Table, rows: BaseRows, book: Book | None) -> None:
        """Keep the rows of a state."""
        if pin.row_count < _ROWS_MIN or (book is not None and not self._save_book(book, rows.size)):
            return
        row_ids = rows.row_ids if rows.row_ids is not None else np.zeros(0, np.int64)
        facts = {"start": rows.start, "size": rows.size}
        self._write(pin, self._state_key("rows", pin, table, book), facts, {"row_ids": row_ids})
        self._write(pin, _last_key(pin), {"ref": pin.ref, "version": pin.version, "row_count": pin.row_count}, {})

    def load_csr(self, pin: TablePin, table: Table, direction: Direction, books: tuple[Book, ...]) -> Csr | None:
        """Return the lists of a state in one direction."""
        stored = self._read(pin, self._state_key(f"adjacency {direction}", pin, table, *books))
        if stored is None:
            return None
        arrays = stored.arrays
        distinct = Lists(arrays["offsets once"], arrays["targets once"]) if "offsets once" in arrays else None
        return Csr(arrays["offsets"], arrays["targets"], arrays["edges"], distinct)

    def save_csr(self, pin: TablePin, table: Table, direction: Direction, books: tuple[Book, ...], csr: Csr) -> None:
        """Keep the lists of a state, and before them the books that they count by."""
        far_size = int(csr.all.targets.max(initial=-1)) + 1
        near_size = int(np.flatnonzero(np.diff(csr.all.offsets)).max(initial=-1)) + 1
        sizes = (near_size, far_size) if direction is Direction.OUT else (far_size, near_size)
        if pin.row_count < _ROWS_MIN or not all(map(self._save_book, books, sizes)):
            return
        arrays: dict[str, NDArray[Any]] = {"offsets": csr.all.offsets, "targets": csr.all.targets, "edges": csr.edges}
        if csr.has_parallels:
            arrays |= {"offsets once": csr.distinct.offsets, "targets once": csr.distinct.targets}
        self._write(pin, self._state_key(f"adjacency {direction}", pin, table, *books), {}, arrays)

    def load_column(self, pin: TablePin, table: Table, name: str, book: Book | None) -> ImageColumn | None:
        """Return a property of a state."""
        stored = self._read(pin, self._column_key(pin, table, name, book))
        if stored is None:
            return None
        with pa.ipc.open_stream(pa.py_buffer(stored.arrays["arrow"])) as reader:
            return ImageColumn(reader.read_next_batch().column(0))

    def save_column(self, pin: TablePin, table: Table, name: str, book: Book | None, column: ImageColumn) -> None:
        """Keep a property of a state."""
        if pin.row_count < _ROWS_MIN or (book is not None and not self._save_book(book, len(column.values))):
            return
        key = self._column_key(pin, table, name, book)
        batch = pa.record_batch([column.values], [name])
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        content: NDArray[np.uint8] = np.frombuffer(sink.getvalue(), np.uint8)
        self._write(pin, key, {}, {"arrow": content})

    def load_ranks(self, book: Book, sealed: SealedIds) -> Ranks | None:
        """Return the ranks of the ids of a book."""
        key = self._ranks_key(book, sealed)
        stored = self._cache.read(key) if self._cache is not None and key is not None else None
        return Ranks(stored.arrays["order"]) if stored is not None else None

    def save_ranks(self, book: Book, sealed: SealedIds, ranks: Ranks) -> None:
        """Keep the ranks of the ids of a book."""
        key = self._ranks_key(book, sealed)
        if self._cache is not None and key is not None and len(sealed) >= _ROWS_MIN:
            self._cache.write(key, {}, {"order": ranks.order})

    def _save_book(self, book: Book, size: int) -> bool:
        """Write a book unless all ids below `size` are on disk already; whether they are then."""
        if self._cache is None:
            return False
        with self._lock:
            _, count = self._books.get(book.serial, ("", -1))
            if count >= size:
                return True
            sealed, name = book.sealed(), ids.new_ulid()
            begins, data = text_parts(sealed.ids)
            arrays: dict[str, NDArray[Any]] = {"begins": begins, "data": data, **sealed.index._asdict()}
            if not self._cache.write(_book_key(self._pins[book.serial]), {"book": name}, arrays):
                return False
            self._books[book.serial] = (name, len(sealed))
            return True

    def _state_key(self, kind: str, pin: TablePin, table: Table, *books: Book | None) -> Key | None:
        """Spell what a structure is of; None where a book is not on disk."""
        if self._cache is None:
            return None
        names = [self._books.get(book.serial, (None, 0))[0] for book in books if book is not None]
        if None in names:
            return None
        return [kind, _mark(pin), pin.location, pin.ref, pin.version, _digest(table), *names]

    def _column_key(self, pin: TablePin, table: Table, name: str, book: Book | None) -> Key | None:
        field = table.schema.field(name)
        key = self._state_key("column", pin, table, book)
        return None if key is None else [*key, name, str(field.type), str(field.metadata)]

    def _ranks_key(self, book: Book, sealed: SealedIds) -> Key | None:
        name, count = self._books.get(book.serial, (None, 0))
        return None if name is None or count != len(sealed) else ["ranks", name]

    def _read(self, pin: TablePin, key: Key | None) -> Any:
        if self._cache is None or key is None or pin.row_count < _ROWS_MIN:
            return None
        return self._cache.read(key)

    def _write(self, pin: TablePin, key: Key | None, facts: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        if self._cache is not None and key is not None and pin.row_count >= _ROWS_MIN:
            self._cache.write(key, facts, arrays)


@lru_cache(maxsize=64)
def _digest(table: Table) -> str:
    return files_digest(table)


def _book_key(pin: TablePin) -> Key:
    return ["book", _mark(pin), pin.location]


def _last_key(pin: TablePin) -> Key:
    return ["last", _mark(pin), pin.location]


def _mark(pin: TablePin) -> str:
    return identity_mark(pin.graph_id or "", pin.identity)


def _texts(begins: NDArray[np.int32], data: NDArray[np.uint8]) -> pa.Array:
    return pa.Array.from_buffers(pa.string(), len(begins) - 1, [None, pa.py_buffer(begins), pa.py_buffer(data)])
