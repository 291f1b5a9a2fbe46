"""States of tables as images know them, and how one follows from an earlier one after a commit.

A base was read from its table as a whole. What commits have changed since stands beside it, found without looking at
anything else; when that is much, it is folded into a new base. Ordinals of nodes are those of the graph's books in
every state. Ordinals of edges hold for a base and all states that follow from it.
"""

from collections.abc import Iterator
from itertools import count

import numpy as np
import pyarrow as pa

from omnigraph.base.values import dataclass
from omnigraph.changes.compare import TouchedRows, touched_rows
from omnigraph.graphs.context import GraphContext
from omnigraph.manifest.snapshot import TablePin
from omnigraph.query.access import MISSING, Ordinals
from omnigraph.query.image.book import Book
from omnigraph.query.image.buffers import whole
from omnigraph.query.image.patches import EdgeDelta
from omnigraph.query.image.rows import BaseRows, TableRows
from omnigraph.query.image.scanning import (
    as_row_ids,
    ordinals_of_ids,
    row_ids_in,
)
from omnigraph.query.run.arrays import arrow_of
from omnigraph.storage.tables import Table

_TOUCHED_SHARE = 10
"""Rows that are not known to be shared with an earlier state are compared up to one in so many."""
_TOUCHED_MIN = 1_000
_DEAD_SHARE = 4
_DEAD_MIN = 100_000
"""A state with so many more ordinals than entities is read anew, and its ordinals begin again."""

_serials = count()


@dataclass(frozen=True, kw_only=True, eq=False)
class State:
    """One state of one table."""

    serial: int
    """Tells states apart, also two of the same version that were read at different times."""
    pin: TablePin
    table: Table
    rows: TableRows
    books: tuple[Book, ...]
    """Whose ordinals it has: the book of the nodes, or of both ends of the edges."""
    base: "State | None" = None
    """Whose columns and lists this state shares, except for what has changed; None for a base."""
    previous: int | None = None
    """The serial of the state that this one follows from."""
    is_fresh: bool = False
    """Whether it was read from its table as it is there, rather than made of an earlier state."""
    deltas: tuple[EdgeDelta, ...] = ()
    """What commits did to the edges since the base."""

    @property
    def nbytes(self) -> int:
        """How much memory it takes."""
        edges = sum(20 * len(delta.edges) for delta in self.deltas)
        return self.rows.nbytes + edges + (self.rows.base.nbytes if self.base is None else 0)

    @property
    def is_sparse(self) -> bool:
        """Whether most ordinals mean nobody any more."""
        return self.rows.size > _DEAD_SHARE * self.rows.count + _DEAD_MIN


def fresh_state(pin: TablePin, table: Table, rows: BaseRows, books: tuple[Book, ...]) -> State:
    """Return a base whose rows were read from its table."""
    return State(serial=next(_serials), pin=pin, table=table, rows=TableRows(rows), books=books, is_fresh=True)


def state_after(context: GraphContext, earlier: State, pin: TablePin, table: Table) -> State | None:
    """Return another state of the same table by what was done to its rows; None where that does not tell."""
    return (nodes_after if len(earlier.books) == 1 else edges_after)(context, earlier, pin, table)


def nodes_after(context: GraphContext, earlier: State, pin: TablePin, table: Table) -> State | None:
    """Return the nodes of another state."""
    (book,) = earlier.books
    touched = _touched(context, earlier, table, ("id",))
    if touched is None:
        return None
    gone = earlier.rows.ordinals_of(as_row_ids(touched.gone))
    written = book.add_all(whole(touched.written["id"]))
    return _following(earlier, pin, table, rows=earlier.rows.with_changes(_changes(gone, written, touched)))


def edges_after(context: GraphContext, earlier: State, pin: TablePin, table: Table) -> State | None:
    """Return the edges of another state."""
    touched = _touched(context, earlier, table, ("src", "dst"))
    if touched is None:
        return None
    rows = earlier.rows
    written_ids = row_ids_in(touched.written)
    gone_ids = np.setdiff1d(as_row_ids(touched.gone), written_ids)
    gone, known = rows.ordinals_of(gone_ids), rows.ordinals_of(written_ids)
    written = known.copy()
    written[known == MISSING] = np.arange(rows.size, rows.size + int((known == MISSING).sum()), dtype=np.int32)
    gone = gone[gone != MISSING]
    after = tuple(
        np.concatenate([np.full(len(gone), MISSING, np.int32), ordinals_of_ids(touched.written[name], book)])
        for name, book in zip(("src", "dst"), earlier.books, strict=True)
    )
    delta = EdgeDelta(
        edges=np.concatenate([gone, written]),
        before=_ends_before(earlier, np.concatenate([gone, known])),
        after=(after[0], after[1]),
    )
    return _following(
        earlier,
        pin,
        table,
        rows=rows.with_changes(_changes(gone, written, touched)),
        deltas=(*earlier.deltas, delta) if len(delta.edges) else earlier.deltas,
    )


def _touched(context: GraphContext, earlier: State, table: Table, columns: tuple[str, ...]) -> TouchedRows | None:
    rows_max = max(_TOUCHED_MIN, earlier.rows.count // _TOUCHED_SHARE)
    touched = touched_rows(context, earlier.table, table, columns, rows_max=rows_max)
    if touched is None or max(len(touched.gone), touched.written.num_rows) > rows_max:
        return None
    return touched


def _changes(gone: Ordinals, written: Ordinals, touched: TouchedRows) -> Iterator[tuple[int, int]]:
    """Yield what becomes of ordinals: first those that are gone, since an id may have come back in another row."""
    for ordinal in gone[gone != MISSING].tolist():
        yield ordinal, MISSING
    yield from zip(written.tolist(), row_ids_in(touched.written).tolist(), strict=True)


def _following(
    earlier: State, pin: TablePin, table: Table, *, rows: TableRows, deltas: tuple[EdgeDelta, ...] = ()
) -> State:
    base = earlier.base or earlier
    return State(
        serial=next(_serials),
        pin=pin,
        table=table,
        rows=rows,
        books=earlier.books,
        base=base,
        previous=earlier.serial,
        deltas=deltas,
    )


def folded(state: State) -> State:
    """Return the same state as a base of its own; ordinals stay."""
    return State(serial=next(_serials), pin=state.pin, table=state.table, rows=state.rows.folded(), books=state.books)


def _ends_before(state: State, edges: Ordinals) -> tuple[Ordinals, Ordinals]:
    """Read the ends that edges have in a state; `MISSING` for what is no edge there."""
    near, far = np.full(len(edges), MISSING, np.int32), np.full(len(edges), MISSING, np.int32)
    is_known = edges != MISSING
    if is_known.any():
        row_ids = state.rows.row_ids_of(edges[is_known])
        found = state.table.take(arrow_of(row_ids.astype(np.uint64), pa.uint64()), ["src", "dst"])
        found_ids = row_ids_in(found)
        order = np.argsort(found_ids)
        places = order[np.searchsorted(found_ids[order], row_ids)]
        near[is_known] = ordinals_of_ids(found["src"], state.books[0])[places]
        far[is_known] = ordinals_of_ids(found["dst"], state.books[1])[places]
    return near, far
