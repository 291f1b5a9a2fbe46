"""How a worker reaches one state of a table: a small value that travels, opened where the work happens."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from omnigraph.storage.tables import Table, TableStore


@dataclass(frozen=True, slots=True, kw_only=True)
class TableAccess:
    """The address of one version of one ref, complete: a handle's own URI would name the main line."""

    uri: str
    version: int
    storage_options: Mapping[str, str] | None = field(default=None, repr=False)
    """Holds credentials, so it is never printed."""

    @classmethod
    def to(cls, store: TableStore, table: Table) -> "TableAccess":
        """Describe how to reach exactly this state."""
        return cls(uri=store.uri(table.address), version=table.version, storage_options=store.storage_options)

    def open(self) -> Any:
        """Open the dataset in this process; every call is a handle of its own."""
        import lance

        options = dict(self.storage_options) if self.storage_options else None
        return lance.dataset(self.uri, version=self.version, storage_options=options)
