"""All images of one graph in this process: every snapshot finds there what an earlier one has had built."""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa

from omnigraph.errors import HistoricalVersionReclaimed, StorageError
from omnigraph.graphs.context import GraphContext
from omnigraph.graphs.reclaimed import telling_reclaimed
from omnigraph.manifest.snapshot import TablePin
from omnigraph.query.access import Direction, Ordinals
from omnigraph.query.caches import CacheFacts
from omnigraph.query.image.adjacency import Csr
from omnigraph.query.image.book import Book
from omnigraph.query.image.columns import ImageColumn, PatchedColumn
from omnigraph.query.image.disk import DiskCache
from omnigraph.query.image.known_states import KnownStates
from omnigraph.query.image.packing import Ends, build_in_pieces, turned
from omnigraph.query.image.patches import PatchedCsr, TouchedLists
from omnigraph.query.image.postings import AnyPostings, PatchedPostings, Postings, build_postings
from omnigraph.query.image.ranks import Ranks
from omnigraph.query.image.saved import SavedImages
from omnigraph.query.image.scanning import (
    FarColumn,
    read_column,
    read_ends,
    values_at,
    vector_bytes,
)
from omnigraph.query.image.shelf import CACHE_BYTES_VARIABLE, DoesNotFit, Shelf, shelf_bytes
from omnigraph.query.image.sizes import VALUE_BUILD_BYTES, adjacency_build_bytes, would_fit
from omnigraph.query.image.states import State, folded

_SMALL_BYTES = 1 << 26
"""A column that is not larger is read as a whole where some of it is asked for."""
_TEXTS_PER_SEARCH = 1_000
"""How many texts are taken apart in the time that a search in an index takes, about."""
_WORDS_BYTES = 512
"""What building the words of a text takes, about; the rest is seen while building."""
_REFUSED_MAX = 4_096

AnyColumn = ImageColumn | PatchedColumn | FarColumn
AnyCsr = Csr | PatchedCsr


class Images:
    """What was built for the snapshots of one graph; several threads may share it."""

    def __init__(self, shelf: Shelf, disk: DiskCache | None = None) -> None:
        self._shelf = shelf
        self._saved = SavedImages(disk)
        self._asked: Counter[tuple[str, str]] = Counter()
        """How often an index was asked for words, by table and property."""
        self._refused: set[tuple[str, int, str]] = set()
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

    def has(self, pin: TablePin, kind: str, name: str) -> bool:
        """Whether rows, a column or an adjacency need not be built: in memory or on disk, or following from there."""
        state = self._states.known(pin)
        if state is None:
            return self._saved.last_pin(pin) is not None
        base = state.base or state
        return (
            kind == "rows"
            or any(self._shelf.find((kind, each.serial, name)) is not None for each in (state, base))
            or (base.is_fresh and self._saved.has(kind, base.pin, base.table, name, base.books))
        )

    def would_fit(self, parts: Iterable[tuple[str, str, int]]) -> bool:
        """Whether structures fit beside each other: the kind of each, "node" or "edge", and how many rows it has."""
        return would_fit(parts, self._shelf.bytes_max)

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

    def searched(self, context: GraphContext, state: State, name: str, *, is_whole: bool) -> AnyColumn:
        """Return a text or vectors to search in: those in memory, or where they are too many, those of the table.

        Whoever wants a few of them gets them from the table unless all are in memory, or soon are.
        """
        key = ("far", state.serial, name)
        if self._shelf.find(key) is None:
            if not is_whole and not self._is_soon_at_hand(state, name):
                return FarColumn(state.table, state.rows, name)
            try:
                return self.column(context, state, name)
            except DoesNotFit:
                pass  # Nobody needs to try again.
        return self._shelf.get(key, lambda: FarColumn(state.table, state.rows, name))

    def words(
        self, context: GraphContext, state: State, name: str, *, is_indexed: Callable[[], bool]
    ) -> AnyPostings | None:
        """Return the words of a text property; None where an index answers for less than it takes to build them.

        They are built when about as much time has been spent on asking an index, and at once where there is none.
        """
        found = self._shelf.find(("words", state.serial, name))
        if isinstance(found, Postings | PatchedPostings):
            return found
        if ("no words", state.serial, name) in self._refused:
            return None
        if not self._has_base_words(state, name) and is_indexed():
            asked = self._asked[state.pin.location, name] = self._asked[state.pin.location, name] + 1
            if asked * _TEXTS_PER_SEARCH < state.rows.count:
                return None
        try:
            with telling_reclaimed(context, [state.pin]):
                return self._built_words(context, state, name)
        except DoesNotFit:
            if len(self._refused) >= _REFUSED_MAX:
                self._refused.clear()  # most are of states that nobody asks about any more
            self._refused.add(("no words", state.serial, name))
            return None

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
        return self._shelf.get(
            key, found.folded, peak_bytes=adjacency_build_bytes(state.rows.size, *map(len, state.books))
        )

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
        """Make a new base of a state, with the lists and the words that the old base has in memory."""
        new = folded(state)
        try:
            for direction in Direction:
                self._fold_lists(state, new, direction)
            self._fold_words(state, new)
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
        self._shelf.get(key, build, peak_bytes=adjacency_build_bytes(state.rows.size, *map(len, state.books)))

    def _fold_words(self, state: State, new: State) -> None:
        for name in state.table.schema.names:
            if self._has_base_words(state, name) and len(state.rows.changed):
                words = self._patched_words(state, name)
                self._shelf.get(("words", new.serial, name), words.folded, peak_bytes=4 * words.base_bytes)

    def _has_base_words(self, state: State, name: str) -> bool:
        return state.base is not None and self._shelf.find(("words", state.base.serial, name)) is not None

    def _built_words(self, context: GraphContext, state: State, name: str) -> AnyPostings:
        if self._has_base_words(state, name):
            return self._patched_words(state, name) if len(state.rows.changed) else self._base_words(state, name)

        def build() -> Postings:
            texts = self.searched(context, state, name, is_whole=True)
            room = self._shelf.bytes_max // 2
            with self._shelf.reserved(min(_WORDS_BYTES * state.rows.count, room)):
                return build_postings(texts.pieces(), size=state.rows.size, bytes_max=room)

        return self._shelf.get(("words", state.serial, name), build)

    def _patched_words(self, state: State, name: str) -> PatchedPostings:
        def build() -> PatchedPostings:
            texts = values_at(state.table, state.rows.changed_row_ids, name)
            base = self._base_words(state, name)
            return PatchedPostings(base, state.rows.changed_ordinals, texts, size=state.rows.size)

        return self._shelf.get(("words", state.serial, name), build)

    def _base_words(self, state: State, name: str) -> Postings:
        assert state.base is not None
        found = self._shelf.find(("words", state.base.serial, name))
        if not isinstance(found, Postings):
            raise DoesNotFit("what the words are patched onto has just been taken off")
        return found

    def _is_soon_at_hand(self, state: State, name: str) -> bool:
        serials = (state.serial, *(() if state.base is None else (state.base.serial,)))
        if any(self._shelf.find(("column", serial, name)) is not None for serial in serials):
            return True
        kind = state.table.schema.field(name).type
        width = vector_bytes(kind) if pa.types.is_fixed_size_list(kind) else VALUE_BUILD_BYTES
        return width * state.rows.count <= _SMALL_BYTES

    def _csr(self, state: State, direction: Direction) -> Csr:
        def build() -> Csr:
            saved = self._saved.load_csr(state.pin, state.table, direction, state.books) if state.is_fresh else None
            if saved is not None:
                return saved
            with self._shelf.reserved(adjacency_build_bytes(state.rows.size, *map(len, state.books))):
                csr = self._built_csr(state, direction)
            if state.is_fresh:
                self._saved.save_csr(state.pin, state.table, direction, state.books, csr)
            return csr

        return self._shelf.get(("adjacency", state.serial, direction), build)

    def _built_csr(self, state: State, direction: Direction) -> Csr:
        other = Direction.IN if direction is Direction.OUT else Direction.OUT
        reverse = self._shelf.find(("adjacency", state.serial, other))

        def pieces() -> Iterator[Ends]:
            if isinstance(reverse, Csr):
                yield from turned(reverse)
                return
            for near, far, edges in read_ends(state.table, state.rows, *state.books):
                yield (near, far, edges) if direction is Direction.OUT else (far, near, edges)

        near, far = state.books if direction is Direction.OUT else state.books[::-1]
        return build_in_pieces(
            pieces, len(near), len(far), state.rows.size, count=state.rows.count, size=lambda: len(near)
        )

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
        with self._shelf.reserved(VALUE_BUILD_BYTES * state.rows.count):
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


def image_facts() -> CacheFacts:
    """Tell what the images of all graphs of this process take."""
    shelf = _shelf or Shelf(shelf_bytes(os.environ.get(CACHE_BYTES_VARIABLE)))
    return CacheFacts(
        name="image",
        hits=shelf.hits,
        misses=shelf.misses,
        entries=shelf.count,
        bytes_used=shelf.used_bytes,
        bytes_max=shelf.bytes_max,
    )


def images_of(context: GraphContext) -> Images:
    """Return the images of a graph, which all who have it open in this process share; one shelf serves all graphs."""
    global _shelf  # noqa: PLW0603 — there is one memory
    with _lock:
        if _shelf is None:
            _shelf = Shelf(shelf_bytes(os.environ.get(CACHE_BYTES_VARIABLE)))
        return _images.setdefault(context.store.root.identity, Images(_shelf, DiskCache.of_environment(os.environ)))
