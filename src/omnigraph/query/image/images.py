"""All images of one graph in this process: every snapshot finds there what an earlier one has had built."""

import os
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock, RLock
from typing import Any

import numpy as np

from omnigraph.catalog.arrow import identity_mark
from omnigraph.errors import HistoricalVersionReclaimed, StorageError, TableReplaced
from omnigraph.graphs.context import GraphContext
from omnigraph.graphs.reclaimed import telling_reclaimed
from omnigraph.manifest.snapshot import TablePin
from omnigraph.query.access import Direction, Ordinals
from omnigraph.query.image.adjacency import BUILD_BYTES_PER_EDGE, Csr, build_csr
from omnigraph.query.image.book import Book
from omnigraph.query.image.columns import Column, PatchedColumn
from omnigraph.query.image.disk import DiskCache
from omnigraph.query.image.patches import PatchedCsr, TouchedLists
from omnigraph.query.image.ranks import Ranks
from omnigraph.query.image.saved import SavedImages
from omnigraph.query.image.scanning import (
    FarColumn,
    read_column,
    read_edge_rows,
    read_ends,
    read_node_rows,
    values_at,
)
from omnigraph.query.image.shelf import CACHE_BYTES_VARIABLE, DoesNotFit, Shelf, shelf_bytes
from omnigraph.query.image.states import State, edges_after, folded, fresh_state, nodes_after

_STATES_PER_TABLE = 8
_NODE_BYTES = 64
"""What reading the ids of nodes takes per node, about: text, hash, place, row."""
_EDGE_BYTES = 16
_VALUE_BYTES = 64

AnyColumn = Column | PatchedColumn | FarColumn
AnyCsr = Csr | PatchedCsr


class Images:
    """What was built for the snapshots of one graph; several threads may share it."""

    def __init__(self, shelf: Shelf, disk: DiskCache | None = None) -> None:
        self._shelf = shelf
        self._saved = SavedImages(disk)
        self._books: dict[str, Book] = {}
        self._states: dict[str, OrderedDict[tuple[str | None, int], State]] = {}
        self._advancing: dict[str, RLock] = {}
        self._lock = Lock()

    def book(self, pin: TablePin) -> Book:
        """Return the ordinals of a node type."""
        with self._lock:
            book = self._books.get(_table(pin))
            if book is None:
                book = self._books[_table(pin)] = self._saved.load_book(pin)
            return book

    def nodes(self, context: GraphContext, pin: TablePin) -> State:
        """Return the nodes that a pin means."""
        book = self.book(pin)

        def follow(earlier: State) -> State | None:
            table = context.store.tables.open(pin.address, pin.version)
            return nodes_after(context, earlier, pin, table, book)

        return self._state(context, pin, book, follow)

    def edges(self, context: GraphContext, pin: TablePin, *, from_book: Book, to_book: Book) -> State:
        """Return the edges that a pin means."""

        def follow(earlier: State) -> State | None:
            table = context.store.tables.open(pin.address, pin.version)
            return edges_after(context, earlier, pin, table, from_book=from_book, to_book=to_book)

        return self._state(context, pin, None, follow)

    def column(self, context: GraphContext, state: State, name: str) -> AnyColumn:
        """Return a property of all entities of a state."""
        key = ("column", state.serial, name)
        found = self._shelf.find(key)
        if found is not None:
            return found  # type: ignore[return-value]  # nothing else is under such a key
        with telling_reclaimed(context, [state.pin]):
            base = self._base_column(context, state, name) if state.base is not None else None
            if base is None or isinstance(base, FarColumn):
                return self._shelf.get(key, lambda: self._read_column(state, name), peak_bytes=self._peak(state))
            if not len(state.rows.changed):
                return base
            return self._shelf.get(key, lambda: _patched(base, state, name), peak_bytes=0)

    def adjacency(
        self, context: GraphContext, state: State, direction: Direction, *, from_book: Book, to_book: Book
    ) -> AnyCsr:
        """Return who is next to whom in a state, in one direction."""
        key = ("adjacency", state.serial, direction)
        found = self._shelf.find(key)
        if found is not None:
            return found  # type: ignore[return-value]  # nothing else is under such a key
        with telling_reclaimed(context, [state.pin]):
            if state.base is None:
                return self._csr(state, direction, from_book, to_book)
            try:
                base = self._csr(state.base, direction, from_book, to_book)
            except (HistoricalVersionReclaimed, StorageError):
                # Cleanup has taken the base, which nobody pins any more; the state itself is still there.
                return self._csr(state, direction, from_book, to_book)
            return PatchedCsr(base, self._touched_lists(state, base, direction)) if state.deltas else base

    def whole_adjacency(
        self, context: GraphContext, state: State, direction: Direction, *, from_book: Book, to_book: Book
    ) -> Csr:
        """Return the same in one piece."""
        found = self.adjacency(context, state, direction, from_book=from_book, to_book=to_book)
        if isinstance(found, Csr):
            return found
        key = ("adjacency", state.serial, direction)
        return self._shelf.get(key, found.folded, peak_bytes=BUILD_BYTES_PER_EDGE * state.rows.count)

    def node_ranks(self, book: Book) -> "np.typing.NDArray[np.int64]":
        """Return the ranks of all ids of a book, by ordinal."""
        sealed, more = book.parts()
        key = ("ranks", id(book), len(sealed))

        def build() -> Ranks:
            saved = self._saved.load_ranks(book, sealed)
            if saved is not None:
                return saved
            ranks = Ranks.of_ids(sealed.ids)
            self._saved.save_ranks(book, sealed, ranks)
            return ranks

        return self._shelf.get(key, build, peak_bytes=32 * len(sealed)).with_more(sealed, more)

    def edge_ranks(self, context: GraphContext, state: State) -> Ranks:
        """Return the ranks of the ids of all edges."""
        ids = self.column(context, state, "id")
        everyone: Ordinals = np.arange(state.rows.size, dtype=np.int32)
        key = ("ranks", state.serial)
        return self._shelf.get(key, lambda: Ranks.of_ids(ids.take(everyone)), peak_bytes=64 * state.rows.size)

    def _state(
        self,
        context: GraphContext,
        pin: TablePin,
        book: Book | None,
        follow: Callable[[State], State | None],
    ) -> State:
        table, version = _table(pin), (pin.ref, pin.version)
        with self._lock:
            states = self._states.setdefault(table, OrderedDict())
            found = states.get(version)
            if found is not None:
                states.move_to_end(version)
                return found
            advancing = self._advancing.setdefault(table, RLock())
        with advancing, telling_reclaimed(context, [pin]):
            with self._lock:
                found = states.get(version)
                earlier = _nearest(states, pin)
            if found is not None:
                return found
            if earlier is None:
                new = self._loaded(context, pin, book)
                earlier = self._loaded_last(context, pin, book) if new is None else None
            else:
                new = None
            if new is None and earlier is not None:
                new = _followed(follow, earlier)
            if new is None or new.is_sparse:
                new = self._read(context, pin, book)
            elif new.rows.should_be_folded:
                new = self._folded(new)
            with self._lock:
                states[version] = new
                while len(states) > _STATES_PER_TABLE:
                    states.popitem(last=False)
            return new

    def _read(self, context: GraphContext, pin: TablePin, book: Book | None) -> State:
        """Read the rows of a state from its table."""
        if (_EDGE_BYTES if book is None else _NODE_BYTES) * pin.row_count > self._shelf.bytes_max:
            raise DoesNotFit(f"the rows of {pin.table_key} need more memory than images may take")
        table = context.store.tables.open(pin.address, pin.version)
        rows = read_edge_rows(table) if book is None else read_node_rows(table, book)
        self._saved.save_rows(pin, table, rows, book)
        return fresh_state(pin, table, rows)

    def _loaded(self, context: GraphContext, pin: TablePin, book: Book | None) -> State | None:
        """Return a state whose rows are on disk."""
        table = context.store.tables.open(pin.address, pin.version)
        rows = self._saved.load_rows(pin, table, book)
        return None if rows is None else fresh_state(pin, table, rows)

    def _loaded_last(self, context: GraphContext, pin: TablePin, book: Book | None) -> State | None:
        """Return the state that some process saved last, to go on from there."""
        last = self._saved.last_pin(pin)
        try:
            return None if last is None else self._loaded(context, last, book)
        except (HistoricalVersionReclaimed, StorageError, TableReplaced):
            return None

    def _folded(self, state: State) -> State:
        """Make a new base of a state, with the lists that the old base had in memory."""
        new = folded(state)
        base = state.base
        for direction in Direction:
            old = self._shelf.find(("adjacency", base.serial, direction)) if base is not None else None
            if isinstance(old, Csr):
                lists = PatchedCsr(old, self._touched_lists(state, old, direction)) if state.deltas else None
                self._shelf.get(
                    ("adjacency", new.serial, direction),
                    lambda old=old, lists=lists: lists.folded() if lists is not None else old,  # type: ignore[misc]  # bound for this turn of the loop
                    peak_bytes=BUILD_BYTES_PER_EDGE * state.rows.count,
                )
        return new

    def _csr(self, state: State, direction: Direction, from_book: Book, to_book: Book) -> Csr:
        books = (from_book, to_book)

        def build() -> Csr:
            saved = self._saved.load_csr(state.pin, state.table, direction, books) if state.is_fresh else None
            if saved is not None:
                return saved
            csr = self._built_csr(state, direction, books)
            if state.is_fresh:
                self._saved.save_csr(state.pin, state.table, direction, books, csr)
            return csr

        peak_bytes = BUILD_BYTES_PER_EDGE * state.rows.count
        return self._shelf.get(("adjacency", state.serial, direction), build, peak_bytes=peak_bytes)

    def _built_csr(self, state: State, direction: Direction, books: tuple[Book, Book]) -> Csr:
        other = Direction.IN if direction is Direction.OUT else Direction.OUT
        reverse = self._shelf.find(("adjacency", state.serial, other))
        if isinstance(reverse, Csr):
            far, near = reverse.ends(state.rows.size)
            edges = state.rows.ordinals
            near, far = near[edges], far[edges]
        else:
            near, far, edges = read_ends(state.table, state.rows, *books)
            if direction is Direction.IN:
                near, far = far, near
        return build_csr(near, far, edges, size=len(books[0] if direction is Direction.OUT else books[1]))

    def _touched_lists(self, state: State, base: Csr, direction: Direction) -> TouchedLists:
        def build() -> TouchedLists:
            earlier = self._shelf.find(("touched", state.previous, direction))
            if isinstance(earlier, TouchedLists):
                return earlier.after(state.deltas[-1:], base, direction)
            return TouchedLists({}).after(state.deltas, base, direction)

        return self._shelf.get(("touched", state.serial, direction), build, peak_bytes=0)

    def _base_column(self, context: GraphContext, state: State, name: str) -> AnyColumn | None:
        assert state.base is not None
        try:
            return self.column(context, state.base, name)
        except (HistoricalVersionReclaimed, StorageError):
            return None  # As with lists: the base may be gone while the state is not.

    def _read_column(self, state: State, name: str) -> Column | FarColumn:
        book = self.book(state.pin) if state.pin.entity_kind == "node" else None
        saved = self._saved.load_column(state.pin, state.table, name, book) if state.is_fresh else None
        if saved is not None:
            return saved
        column = read_column(state.table, state.rows, name, bytes_max=self._shelf.bytes_max)
        if state.is_fresh and isinstance(column, Column):
            self._saved.save_column(state.pin, state.table, name, book, column)
        return column

    def _peak(self, state: State) -> int:
        return _VALUE_BYTES * state.rows.count


def _followed(follow: Callable[[State], State | None], earlier: State) -> State | None:
    try:
        return follow(earlier)
    except (HistoricalVersionReclaimed, StorageError):
        return None  # The earlier state is gone; the one that is asked for is read as a whole.


def _nearest(states: "OrderedDict[tuple[str | None, int], State]", pin: TablePin) -> State | None:
    """Return the state that is likely to differ least: the newest of the same ref below, else the last one used."""
    same_ref = [version for ref, version in states if ref == pin.ref and version < pin.version]
    if same_ref:
        return states[pin.ref, max(same_ref)]
    return next(reversed(states.values()), None)


def _patched(base: Any, state: State, name: str) -> PatchedColumn:
    values = values_at(state.table, state.rows.changed_row_ids, name)
    return PatchedColumn(base, state.rows.changed_ordinals, values, size=state.rows.size)


def _table(pin: TablePin) -> str:
    return f"{identity_mark(pin.graph_id or '', pin.identity)}/{pin.location}"


_images: dict[str, Images] = {}
_shelf: Shelf | None = None
_lock = Lock()


def images_of(context: GraphContext) -> Images:
    """Return the images of a graph, which all who have it open in this process share; one shelf serves all graphs."""
    global _shelf  # noqa: PLW0603 — there is one memory
    with _lock:
        if _shelf is None:
            _shelf = Shelf(shelf_bytes(os.environ.get(CACHE_BYTES_VARIABLE)))
        return _images.setdefault(context.store.root.identity, Images(_shelf, DiskCache.of_environment(os.environ)))
