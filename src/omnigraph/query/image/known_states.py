"""The states of one graph's tables that images know, and how the next one is found: followed, loaded or read.

States stand on the shelf like everything that is built of them. The books that give ordinals do not, because what is
built counts by them; their size is set aside instead.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock, RLock

from omnigraph.catalog.arrow import identity_mark
from omnigraph.errors import HistoricalVersionReclaimed, StorageError, TableReplaced
from omnigraph.graphs.context import GraphContext
from omnigraph.graphs.reclaimed import telling_reclaimed
from omnigraph.manifest.snapshot import TablePin
from omnigraph.query.image.book import Book
from omnigraph.query.image.saved import SavedImages
from omnigraph.query.image.scanning import read_edge_rows, read_node_rows
from omnigraph.query.image.shelf import Entry, Shelf
from omnigraph.query.image.sizes import EDGE_BUILD_BYTES, NODE_BUILD_BYTES
from omnigraph.query.image.states import State, fresh_state, state_after
from omnigraph.storage.open_states import are_too_many

_STATES_PER_TABLE = 8
BUILT_OF_STATES = ("adjacency", "column", "far", "ranks", "touched", "words")
"""What is on the shelf under keys that begin like this and with the serial of a state."""


class KnownStates:
    """Finds states; several threads may share it."""

    def __init__(self, shelf: Shelf, saved: SavedImages, *, fold: Callable[[State], State]) -> None:
        """Take what makes a new base of a state when much has changed since the old one."""
        self._fold = fold
        self._shelf = shelf
        self._saved = saved
        self._books: dict[str, Book] = {}
        self._keys: dict[str, OrderedDict[Hashable, TablePin]] = {}
        """Per table, under which keys states may be on the shelf, the last one used at the end."""
        self._finding: dict[str, RLock] = {}
        self._lock = Lock()

    def nodes(self, context: GraphContext, pin: TablePin) -> State:
        """Return the nodes that a pin means, by the ordinals of the present book of their type."""
        with self._lock:
            book = self._books.get(_table(pin))
            if book is None:
                book = self._books[_table(pin)] = self._saved.load_book(pin)
        found = self._find(context, pin, (book,))
        if found.is_sparse and not found.is_fresh:
            # Most ids of the book are of nodes that are gone. What was built by it serves whoever has it in hand.
            book = self._saved.new_book(pin)
            with self._lock:
                self._books[_table(pin)] = book
            found = self._find(context, pin, (book,))
        self._shelf.hold(("book", _table(pin)), book.nbytes)
        return found

    def edges(self, context: GraphContext, pin: TablePin, from_nodes: State, to_nodes: State) -> State:
        """Return the edges that a pin means, between nodes of the same snapshot."""
        return self._find(context, pin, (*from_nodes.books, *to_nodes.books))

    def known(self, pin: TablePin) -> State | None:
        """Return the state of a table that was used last, from which others follow; None where none is in memory."""
        with self._lock:
            keys = [*self._keys.get(_table(pin), {})]
        return next((state for key in reversed(keys) if isinstance(state := self._shelf.find(key), State)), None)

    def _find(self, context: GraphContext, pin: TablePin, books: tuple[Book, ...]) -> State:
        table = _table(pin)
        key = ("state", table, pin.ref, pin.version, *(book.serial for book in books))
        found = self._shelf.find(key)
        if isinstance(found, State):
            return found
        with self._lock:
            finding = self._finding.setdefault(table, RLock())
        with finding, telling_reclaimed(context, [pin]):
            state = self._shelf.get(key, lambda: self._made(context, pin, books))
            self._remember(table, key, pin)
        return state

    def _made(self, context: GraphContext, pin: TablePin, books: tuple[Book, ...]) -> State:
        earlier = self._nearest(pin, books)
        if earlier is None:
            loaded = self._loaded(context, pin, books)
            if loaded is not None:
                return loaded
            earlier = self._loaded_last(context, pin, books)
        new = _followed(context, earlier, pin) if earlier is not None else None
        if new is None or (new.is_sparse and len(books) > 1):
            return self._read(context, pin, books)
        return self._fold(new) if new.rows.should_be_folded else new

    def _read(self, context: GraphContext, pin: TablePin, books: tuple[Book, ...]) -> State:
        """Read the rows of a state from its table."""
        table = context.store.tables.open(pin.address, pin.version)
        with self._shelf.reserved((NODE_BUILD_BYTES if len(books) == 1 else EDGE_BUILD_BYTES) * pin.row_count):
            rows = read_node_rows(table, *books) if len(books) == 1 else read_edge_rows(table)
        self._saved.save_rows(pin, table, rows, books[0] if len(books) == 1 else None)
        return fresh_state(pin, table, rows, books)

    def _loaded(self, context: GraphContext, pin: TablePin, books: tuple[Book, ...]) -> State | None:
        """Return a state whose rows are on disk."""
        table = context.store.tables.open(pin.address, pin.version)
        rows = self._saved.load_rows(pin, table, books[0] if len(books) == 1 else None)
        return None if rows is None else fresh_state(pin, table, rows, books)

    def _loaded_last(self, context: GraphContext, pin: TablePin, books: tuple[Book, ...]) -> State | None:
        """Return the state that some process saved last, to go on from there."""
        last = self._saved.last_pin(pin)
        try:
            return None if last is None else self._loaded(context, last, books)
        except (HistoricalVersionReclaimed, StorageError, TableReplaced):
            return None

    def _nearest(self, pin: TablePin, books: tuple[Book, ...]) -> State | None:
        """Return the state that is likely to differ least: the newest of the same ref below, else the last one used."""
        with self._lock:
            keys = [*self._keys.get(_table(pin), {})]
        found = [state for key in keys if isinstance(state := self._shelf.find(key), State) and state.books == books]
        below = [state for state in found if state.pin.ref == pin.ref and state.pin.version < pin.version]
        if below:
            return max(below, key=lambda state: state.pin.version)
        return found[-1] if found else None

    def _remember(self, table: str, key: Hashable, pin: TablePin) -> None:
        with self._lock:
            keys = self._keys.setdefault(table, OrderedDict())
            keys[key] = pin
            keys.move_to_end(key)
            surplus = self._surplus(keys)
            kept = [*keys]
        if surplus:
            self._let_go(surplus, kept)

    def _surplus(self, keys: OrderedDict[Hashable, TablePin]) -> list[Hashable]:
        """Take out the keys of states that should not stay: each has the handle of its table, with all fragments."""
        surplus = [keys.popitem(last=False)[0] for _ in range(len(keys) - _STATES_PER_TABLE)]
        tables = {key: state.table for key in keys if isinstance(state := self._shelf.find(key), State)}
        while are_too_many(tables.values()):
            oldest = next(iter(tables))
            del keys[oldest], tables[oldest]
            surplus.append(oldest)
        return surplus

    def _let_go(self, surplus: list[Hashable], kept: list[Hashable]) -> None:
        """Take states off the shelf, with everything that was built for them and serves no other."""
        gone, stay = (_serials([self._shelf.find(key) for key in keys]) for keys in (surplus, kept))
        unused = gone - stay
        self._shelf.remove_all(lambda key: key in surplus or (isinstance(key, tuple) and key[:2] in unused))


def _serials(states: list[Entry | None]) -> set[tuple[object, ...]]:
    """Return how the keys begin of all that was built for states and for the bases that they share."""
    found = [state for state in states if isinstance(state, State)]
    serials = {state.serial for state in found} | {state.base.serial for state in found if state.base is not None}
    return {(kind, serial) for kind in BUILT_OF_STATES for serial in serials}


def _followed(context: GraphContext, earlier: State, pin: TablePin) -> State | None:
    table = context.store.tables.open(pin.address, pin.version)
    try:
        return state_after(context, earlier, pin, table)
    except (HistoricalVersionReclaimed, StorageError):
        return None  # The earlier state is gone; the one that is asked for is read as a whole.


def _table(pin: TablePin) -> str:
    return f"{identity_mark(pin.graph_id or '', pin.identity)}/{pin.location}"
