"""How one state of a table came out of another, and whether Lance's row versions tell what changed in between.

Version numbers continue from a fork, so the way from an older state to a newer one is a chain of stretches: on the
older state's ref up to a fork, and so on down to the newer state. Row versions and row deltas are right along such a
chain as long as every version in it was made by an operation that keeps them; a restore, for one, brings old row
versions back and the delta then reports nothing.
"""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from enum import StrEnum

from omnigraph.base.values import dataclass
from omnigraph.storage.objects import ControlStore
from omnigraph.storage.operations import HistoryUnreadable, OperationName, TableDirectory, has_version, operation
from omnigraph.storage.refs import Ref, list_refs
from omnigraph.storage.table_store import TableStore
from omnigraph.storage.tables import Table, TableAddress

_READ_AT_ONCE = 8
"""How many versions are read at a time where each takes a round trip."""

_TELLING_OPERATIONS = frozenset(
    {
        OperationName.APPEND,
        OperationName.UPDATE,
        OperationName.DELETE,
        OperationName.REWRITE,
        OperationName.RESERVE_FRAGMENTS,
        OperationName.CREATE_INDEX,
        OperationName.UPDATE_CONFIG,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """The versions of one ref after `begin`, up to and including `end`."""

    ref: str | None
    begin: int
    end: int


def stretches_between(store: TableStore, older: Table, newer: Table) -> tuple[Stretch, ...] | None:
    """Return the way from one state to a later one, oldest stretch first; None when there is none.

    Empty when both are the same version of the same ref, or when nothing happened since the fork.
    """
    location = older.address.location
    if location != newer.address.location:
        return None
    refs: dict[str, Ref] = {}
    if older.address.ref != newer.address.ref:
        refs = list_refs(store, location)
    found: list[Stretch] = []
    ref, end = newer.address.ref, int(newer.version)
    while ref != older.address.ref:
        forked = refs.get(ref) if ref is not None else None
        if forked is None:
            return None
        found.append(Stretch(ref=ref, begin=forked.parent_version, end=end))
        ref, end = forked.parent, forked.parent_version
    if end < older.version:
        return None
    found.append(Stretch(ref=ref, begin=int(older.version), end=end))
    return tuple(stretch for stretch in reversed(found) if stretch.begin < stretch.end)


class History(StrEnum):
    """What Lance remembers of a way."""

    INCOMPLETE = "incomplete"
    """Some version on it says nothing of its rows, or cannot be read."""
    ROW_BY_ROW = "row by row"
    """Row versions tell what was written, and row deltas what was deleted."""
    ADDED_ONLY = "added only"
    """The same, and nothing but new fragments was added: what is there stayed as it was."""


def history_of(objects: ControlStore, location: str, stretches: tuple[Stretch, ...]) -> History:
    """Tell whether every version on the way keeps row versions truthful; one that cannot be read does not count.

    The version that a stretch begins after must be there too, since Lance compares with it: on a ref that is the copy
    of what it was forked from, which cleanup may have removed.
    """
    files = TableDirectory(objects, location)
    if not all(has_version(files, ref=stretch.ref, version=stretch.begin) for stretch in stretches):
        return History.INCOMPLETE
    is_added_only = True
    try:
        for stretch in stretches:
            for version in range(stretch.begin + 1, stretch.end + 1):
                name = operation(files, ref=stretch.ref, version=version).name
                if name not in _TELLING_OPERATIONS:
                    return History.INCOMPLETE
                is_added_only = is_added_only and name == OperationName.APPEND
    except HistoryUnreadable:
        return History.INCOMPLETE
    return History.ADDED_ONLY if is_added_only else History.ROW_BY_ROW


def operation_names(objects: ControlStore, address: TableAddress, versions: Iterable[int]) -> dict[int, str]:
    """Return what made each of some versions of a ref; those that are gone or cannot be read are left out."""
    files = TableDirectory(objects, address.location)

    def name_of(version: int) -> str | None:
        try:
            return operation(files, ref=address.ref, version=version).name
        except HistoryUnreadable:
            return None

    asked = [*versions]
    if objects.root.is_local or len(asked) == 1:
        names = [name_of(version) for version in asked]
    else:
        with ThreadPoolExecutor(_READ_AT_ONCE, thread_name_prefix="omnigraph-versions") as pool:
            names = [*pool.map(lambda version: copy_context().run(name_of, version), asked)]
    return {version: name for version, name in zip(asked, names, strict=True) if name is not None}
