"""Rows of one table that an index finds: by the words of a text, or by how near a vector is."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import pyarrow as pa

from omnigraph.storage.layout import TableLayout, read_layout
from omnigraph.storage.tables import Table

SCORE, DISTANCE = "_score", "_distance"
_PROBES_MIN = 32
"""Partitions of a vector index that are searched at least, which is enough for 19 of 20 neighbours."""
_REFINED = 10
"""How many times as many vectors as were asked for are compared in full."""


@lru_cache(maxsize=64)
def indexed_table(table: Table) -> "IndexedTable":
    """Return what can be searched in one state of a table, which never changes."""
    return IndexedTable(table)


class IndexedTable:
    """One state of a table, and which of its columns have an index to search in."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self._layout: TableLayout = read_layout(table)

    def has_full_text(self, column: str, *, complete: bool = False) -> bool:
        """Whether words of a column are indexed, of all rows if it must be complete."""
        return any(
            index.is_full_text and index.columns == (column,) and not (complete and self._layout.uncovered(index))
            for index in self._layout.indexes
        )

    def has_vectors(self, column: str) -> bool:
        """Whether vectors of a column are indexed."""
        return any(index.is_vector and index.columns == (column,) for index in self._layout.indexes)

    def with_any_word(self, column: str, query: str, columns: Sequence[str], *, limit: int | None = None) -> pa.Table:
        """Return rows that have one of the words, the best first, with their scores; those without an index, too.

        An index may still know words that a row had once.
        """
        from lance.query import MatchQuery

        found = self._layout.rows if limit is None else limit
        # A search that may find nothing is refused.
        return self._found([*columns, SCORE], full_text_query=MatchQuery(query, column), limit=max(found, 1))

    def nearest(self, column: str, vector: Sequence[float], columns: Sequence[str], *, limit: int) -> pa.Table:
        """Return rows whose vectors are near, most of the nearest among them."""
        asked: dict[str, Any] = {
            "column": column,
            "q": pa.array(vector, pa.float32()),
            "k": limit,
            "metric": "cosine",
            "minimum_nprobes": _PROBES_MIN,
            "refine_factor": _REFINED,
        }
        return self._found([*columns, DISTANCE], nearest=asked)

    def _found(self, columns: Sequence[str], **options: Any) -> pa.Table:
        return self.table.search(columns, with_row_ids=True, **options)
