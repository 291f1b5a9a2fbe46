"""How a worker reaches one state of a table: a small value that travels, opened where the work happens."""

from collections.abc import Mapping
from typing import Any, Final

from omnigraph.base.values import dataclass
from omnigraph.storage.store import GraphStore
from omnigraph.storage.tables import StateAddress, Table, TableAddress
from omnigraph.storage.worker_files import worker_store

ANY_OPERATION: Final = "table access"
"""Handles are opened afresh each time, so that one operation may well use the store that another one opened."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableAccess:
    """One state, and the graph it belongs to: complete, and without credentials.

    A handle's own URI would not do: on a ref it names the main line.
    """

    graph_uri: str
    state: StateAddress

    @classmethod
    def to(cls, store: GraphStore, table: Table) -> "TableAccess":
        """Describe how to reach exactly this state."""
        return cls(graph_uri=store.uri, state=table.state)

    @property
    def address(self) -> TableAddress:
        """Where the table lives."""
        return self.state.address

    @property
    def uri(self) -> str:
        """The URI that Lance knows the ref by."""
        return worker_store(self.graph_uri, ANY_OPERATION).tables.uri(self.address)

    @property
    def storage_options(self) -> Mapping[str, str] | None:
        """What Lance needs to reach the store from here."""
        return worker_store(self.graph_uri, ANY_OPERATION).tables.storage_options

    def open(self) -> Any:
        """Open the dataset in this process, on a handle of its own: tasks run side by side."""
        return worker_store(self.graph_uri, ANY_OPERATION).tables.fresh(self.state.address, self.state.version).dataset
