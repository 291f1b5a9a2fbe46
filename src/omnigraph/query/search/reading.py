"""How a search reads nodes: what an access offers for it, or else whole columns, as from any other access."""

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from omnigraph.query.access import MISSING, NodeAccess, Ordinals, SearchedColumn, Truths, Words, are_searched
from omnigraph.storage.tables import ROW_ID


def searched_column(nodes: NodeAccess, name: str, *, is_whole: bool) -> SearchedColumn:
    """Return a text or vectors of a type; `is_whole` if all of them will be looked at, rather than a few."""
    if are_searched(nodes):
        return nodes.searched(name, is_whole=is_whole)
    return _Anything(nodes, name)


def words_in_memory(nodes: NodeAccess, name: str, *, is_indexed: Callable[[], bool]) -> Words | None:
    """Return the words of a text property if they are in memory, or worth being there."""
    return nodes.words(name, is_indexed=is_indexed) if are_searched(nodes) else None


def columns_to_find(nodes: NodeAccess, name: str) -> list[str]:
    """Return what a search has to read for its rows to be found among the nodes, beside row ids."""
    return [name] if are_searched(nodes) else ["id", name]


def nodes_found(nodes: NodeAccess, rows: pa.Table) -> tuple[Ordinals, Truths]:
    """Return the nodes of rows that a search has found, and which of them the access knows."""
    if are_searched(nodes):
        found = nodes.of_row_ids(np.array(rows[ROW_ID].to_pylist(), np.int64))
    else:
        found = nodes.find_many(rows["id"].to_pylist())
    return found, found != MISSING


class _Anything:
    """A column of an access that does not know about searches."""

    def __init__(self, nodes: NodeAccess, name: str) -> None:
        self._nodes = nodes
        self._column = nodes.column(name)

    def take(self, ordinals: Ordinals) -> pa.Array:
        return self._column.take(ordinals)

    def pieces(self) -> Iterator[tuple[Ordinals, pa.Array]]:
        everyone = self._nodes.ordinals()
        yield everyone, self._column.take(everyone)

    def cosines(self, direction: NDArray[np.float64]) -> None:
        """Leave it to whoever reads the values."""
