"""One graph's storage, opened: its root, control objects, locks and tables, all from one resolved set of settings."""

import os
from collections.abc import Mapping

from omnigraph.base.values import dataclass
from omnigraph.storage.locks import LeaseTerms, LockService, open_locks
from omnigraph.storage.objects import ControlStore, open_objects
from omnigraph.storage.settings import StoreSettings
from omnigraph.storage.table_store import TableStore
from omnigraph.storage.uris import GraphRoot


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphStore:
    """Everything that speaks to the store of one graph."""

    root: GraphRoot
    objects: ControlStore
    locks: LockService
    tables: TableStore
    settings: StoreSettings

    @property
    def uri(self) -> str:
        """The graph's address as people write it."""
        return self.root.uri

    @classmethod
    def open(
        cls,
        uri: str,
        storage_options: Mapping[str, str] | None = None,
        *,
        lease_terms: LeaseTerms | None = None,
    ) -> "GraphStore":
        """Resolve an address and its settings; reads nothing yet."""
        root = GraphRoot.parse(uri)
        settings = StoreSettings.resolve(root, storage_options, os.environ)
        objects = open_objects(root, settings)
        return cls(
            root=root,
            objects=objects,
            locks=open_locks(root, objects, terms=lease_terms),
            tables=TableStore(root, settings.lance_options, objects),
            settings=settings,
        )
