"""What `PlainAccess` reads of a snapshot, without a disk."""

from types import SimpleNamespace
from typing import Any

from omnigraph.catalog.model import Catalog
from support import query_worlds
from support.naive_query import NaiveGraph


class TablesInMemory:
    """What `PlainAccess` reads of a snapshot, without a disk: this compares the executor, thousands of times."""

    def __init__(self, graph: NaiveGraph, world: Catalog) -> None:
        self.catalog = world
        self._tables = query_worlds.tables(graph, world)

    def table(self, table_key: str) -> Any:
        rows = self._tables[table_key]
        return SimpleNamespace(pin=SimpleNamespace(row_count=rows.num_rows), to_arrow=rows.select)
