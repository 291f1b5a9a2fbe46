"""Removing tables and versions of tables for good: the only code that takes committed data away."""

from collections.abc import Callable

import pyarrow as pa

from omnigraph.storage.lance_errors import translated
from omnigraph.storage.objects import ControlStore
from omnigraph.storage.refs import list_refs
from omnigraph.storage.tables import TableAddress, TableStore


def remove_table(store: TableStore, objects: ControlStore, location: str) -> None:
    """Delete every file of a table's directory; an absent one is fine."""
    store.forget_table(location)
    for path in objects.list(f"{location}/"):
        objects.delete(path)


def remove_versions(store: TableStore, location: str, *, before: int, is_doomed: Callable[[pa.Schema], bool]) -> None:
    """Delete the main line's versions below `before` whose schema is doomed.

    Versions that a ref was forked from stay: the ref reads them. Repeating this finds nothing left to do.
    """
    address = TableAddress(location)
    head = store.head(address)
    if head is None:
        return
    forked = {ref.parent_version for ref in list_refs(store, location).values() if ref.parent is None}
    doomed = [
        version
        for version in head.versions()
        if version < before and version not in forked and is_doomed(store.open(address, version).schema)
    ]
    store.forget_table(location)
    if doomed:
        with translated(doing=f"removing versions of {location}", uri=location):
            head.dataset.cleanup_old_versions(versions=doomed)
