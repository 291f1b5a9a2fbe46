"""Removing whole tables, and versions of tables that hold what was given up for good.

When a table was dropped is told by the store's clock: a mark beside its files, which goes with them. The commit that
drops a table says it too, by the clock of whichever machine made it.
"""

from collections.abc import Callable

import pyarrow as pa

from omnigraph.storage.objects import ControlStore, ObjectExists
from omnigraph.storage.refs import list_refs
from omnigraph.storage.retention import doomed_files, remove_files, stored_versions, tagged_versions
from omnigraph.storage.table_store import TableStore
from omnigraph.storage.tables import TableAddress

_DROP_MARK = "_dropped.json"


def remove_table(store: TableStore, objects: ControlStore, location: str) -> None:
    """Delete every file of a table's directory; an absent one is fine."""
    store.forget_table(location)
    objects.delete_all(objects.list(f"{location}/"))


def remove_doomed_versions(
    store: TableStore,
    objects: ControlStore,
    location: str,
    *,
    before: int,
    is_doomed: Callable[[pa.Schema], bool],
) -> None:
    """Delete the main line's versions below `before` whose schema is doomed.

    Versions that a ref was forked from, or that somebody has tagged, stay: others read them. Repeating this finds
    nothing left to do.
    """
    address = TableAddress(location)
    head = store.head(address)
    if head is None:
        return
    needed = {ref.parent_version for ref in list_refs(store, location).values() if ref.parent is None}
    needed |= tagged_versions(head).keys()
    doomed = [
        stored.version
        for stored in stored_versions(objects, address)
        if stored.version < before
        and stored.version not in needed
        and is_doomed(store.open(address, stored.version).schema)
    ]
    if doomed:
        store.forget_table(location)
        files = doomed_files(objects, head, doomed, abandoned_before=None)
        # The versions last: whoever repeats this finds by them what is left to remove.
        remove_files(objects, files.of_versions, versions_first=False)


def mark_dropped(objects: ControlStore, location: str, content: bytes) -> None:
    """Leave the mark; the first one counts."""
    try:
        objects.create(f"{location}/{_DROP_MARK}", content)
    except ObjectExists:
        return


def dropped_at(objects: ControlStore, location: str) -> float | None:
    """Return when the mark was left, in seconds of the store; None if there is none."""
    mark = objects.read(f"{location}/{_DROP_MARK}")
    return None if mark is None else mark.last_modified
