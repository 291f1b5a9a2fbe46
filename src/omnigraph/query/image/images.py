"""All images of one graph in this process: every snapshot finds there what an earlier one has had built."""

import os
from threading import Lock
from typing import Any

import numpy as np

from omnigraph.errors import HistoricalVersionReclaimed, StorageError
from omnigraph.graphs.context import GraphContext
from omnigraph.graphs.reclaimed import telling_reclaimed
from omnigraph.manifest.snapshot import TablePin
from omnigraph.query.access import Direction, Ordinals
from omnigraph.query.image.adjacency import BUILD_BYTES_PER_EDGE, Csr, build_csr
from omnigraph.query.image.book import Book
from omnigraph.query.image.columns import ImageColumn, PatchedColumn
from omnigraph.query.image.disk import DiskCache
from omnigraph.query.image.known_states import KnownStates
from omnigraph.query.image.patches import PatchedCsr, TouchedLists
from omnigraph.query.image.ranks import Ranks
from omnigraph.query.image.saved import SavedImages
from omnigraph.query.image.scanning import (
    FarColumn,
    read_column,
    read_ends,
    values_at,
)
from omnigraph.query.image.shelf import CACHE_BYTES_VARIABLE, DoesNotFit, Shelf, shelf_bytes
from omnigraph.query.image.states import State, folded

_VALUE_BYTES = 64
"""What reading a column takes per value, about."""

AnyColumn = ImageColumn | PatchedColumn | FarColumn
AnyCsr = Csr | PatchedCsr


class Images:
    """What was built for the snapshots of one graph; several threads may share it."""

    def __init__(self, shelf: Shelf, disk: DiskCache | None = None) -> None:
        self._shelf = shelf
        self._saved = SavedImages(disk)
        self._states = KnownStates(shelf, self._saved, fold=self._folded)

    @property
    def shelf(self) -> Shelf:
        """Where everything stands."""
        return self._shelf

    def nodes(self, context: GraphContext, pin: TablePin) -> State:
        """Return the nodes that a pin means."""
        return self._states.nodes(context, pin)

    def edges(self, context: GraphContext, pin: TablePin, from_nodes: State, to_nodes: State) -> State:
        """Return the edges that a pin means, between nodes of the same snapshot."""
        return self._states.edges(context, pin, from_nodes, to_nodes)

    def column(self, context: GraphContext, state: State, name: str) -> AnyColumn:
        """Return a property of all entities of a state."""
        key = ("column", state.serial, name)
        found = self._shelf.find(key)
        if found is not None:
            return found  # type: ignore[return-value]  # nothing else is under such a key
        with telling_reclaimed(context, [state.pin]):
            base = self._base_column(context, state, name) if state.base is not None else None
            if base is None or isinstance(base, FarColumn):
                return self._shelf.get(key, lambda: self._read_column(state, name))
            if not len(state.rows.changed):
                return base
            return self._shelf.get(key, lambda: _patched(base, state, name))

    def adjacency(self, context: GraphContext, state: State, direction: Direction) -> AnyCsr:
        """Return who is next to whom in a state, in one direction."""
        key = ("adjacency", state.serial, direction)
        found = self._shelf.find(key)
        if found is not None:
            return found  # type: ignore[return-value]  # nothing else is under such a key
        with telling_reclaimed(context, [state.pin]):
            if state.base is None:
                return self._csr(state, direction)
            try:
                base = self._csr(state.base, direction)
            except (HistoricalVersionReclaimed, StorageError):
                # Cleanup has taken the base, which nobody pins any more; the state itself is still there.
                return self._csr(state, direction)
            return PatchedCsr(base, self._touched_lists(state, base, direction)) if state.deltas else base

    def whole_adjacency(self, context: GraphContext, state: State, direction: Direction) -> Csr:
        """Return the same in one piece."""
        found = self.adjacency(context, state, direction)
        if isinstance(found, Csr):
            return found
        key = ("adjacency", state.serial, direction)
        return self._shelf.get(key, found.folded, peak_bytes=BUILD_BYTES_PER_EDGE * state.rows.count)

    def node_ranks(self, book: Book) -> "np.typing.NDArray[np.int64]":
        """Return the ranks of all ids of a book, by ordinal."""
        sealed, more = book.parts()
        key = ("ranks of nodes", book.serial, len(sealed))

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

    def _folded(self, state: State) -> State:
        """Make a new base of a state, with the lists that the old base has in memory."""
        new = folded(state)
        try:
            for direction in Direction:
                self._fold_lists(state, new, direction)
        except DoesNotFit:
            return state  # It serves as it is.
        return new

    def _fold_lists(self, state: State, new: State, direction: Direction) -> None:
        base = state.base
        old = self._shelf.find(("adjacency", base.serial, direction)) if base is not None else None
        if not isinstance(old, Csr):
            return

        def build() -> Csr:
            return PatchedCsr(old, self._touched_lists(state, old, direction)).folded() if state.deltas else old

        key = ("adjacency", new.serial, direction)
        self._shelf.get(key, build, peak_bytes=BUILD_BYTES_PER_EDGE * state.rows.count)

    def _csr(self, state: State, direction: Direction) -> Csr:
        def build() -> Csr:
            saved = self._saved.load_csr(state.pin, state.table, direction, state.books) if state.is_fresh else None
            if saved is not None:
                return saved
            with self._shelf.reserved(BUILD_BYTES_PER_EDGE * state.rows.count):
                csr = self._built_csr(state, direction)
            if state.is_fresh:
                self._saved.save_csr(state.pin, state.table, direction, state.books, csr)
            return csr

        return self._shelf.get(("adjacency", state.serial, direction), build)

    def _built_csr(self, state: State, direction: Direction) -> Csr:
        other = Direction.IN if direction is Direction.OUT else Direction.OUT
        reverse = self._shelf.find(("adjacency", state.serial, other))
        if isinstance(reverse, Csr):
            far, near = reverse.ends(state.rows.size)
            edges = state.rows.ordinals
            near, far = near[edges], far[edges]
        else:
            near, far, edges = read_ends(state.table, state.rows, *state.books)
            if direction is Direction.IN:
                near, far = far, near
        return build_csr(near, far, edges, size=len(state.books[0 if direction is Direction.OUT else 1]))

    def _touched_lists(self, state: State, base: Csr, direction: Direction) -> TouchedLists:
        def build() -> TouchedLists:
            earlier = self._shelf.find(("touched", state.previous, direction))
            if isinstance(earlier, TouchedLists):
                return earlier.after(state.deltas[-1:], base, direction)
            return TouchedLists({}).after(state.deltas, base, direction)

        return self._shelf.get(("touched", state.serial, direction), build)

    def _base_column(self, context: GraphContext, state: State, name: str) -> AnyColumn | None:
        assert state.base is not None
        try:
            return self.column(context, state.base, name)
        except (HistoricalVersionReclaimed, StorageError):
            return None  # As with lists: the base may be gone while the state is not.

    def _read_column(self, state: State, name: str) -> ImageColumn | FarColumn:
        book = state.books[0] if len(state.books) == 1 else None
        saved = self._saved.load_column(state.pin, state.table, name, book) if state.is_fresh else None
        if saved is not None:
            return saved
        with self._shelf.reserved(_VALUE_BYTES * state.rows.count):
            column = read_column(state.table, state.rows, name, bytes_max=self._shelf.bytes_max)
        if state.is_fresh and isinstance(column, ImageColumn):
            self._saved.save_column(state.pin, state.table, name, book, column)
        return column


def _patched(base: Any, state: State, name: str) -> PatchedColumn:
    values = values_at(state.table, state.rows.changed_row_ids, name)
    return PatchedColumn(base, state.rows.changed_ordinals, values, size=state.rows.size)


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
