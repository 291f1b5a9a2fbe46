"""Lance branches of one table ("refs"): listing, creating, deleting, and clearing what a crash left of one.

The list of refs is the only authority: Lance opens a tree whose ref is gone, so a successful open proves nothing.
"""

from typing import Any
from urllib.parse import unquote

from omnigraph.base import faults
from omnigraph.base.values import dataclass
from omnigraph.storage.lance_errors import LanceFailure, classify, lance_failures, storage_error
from omnigraph.storage.objects import ControlStore
from omnigraph.storage.table_store import TableStore
from omnigraph.storage.tables import Table, TableAddress

_ATTEMPTS_MAX = 20
"""Lance looks at all refs one by one, also to delete one of them, and fails if another is deleted meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ref:
    """A Lance branch of a table, as the table's own list names it."""

    name: str
    incarnation: str
    """The uuid that Lance gave this creation of the name; delete and recreate gives another."""
    parent: str | None
    parent_version: int
    created_at_s: int


def list_refs(store: TableStore, location: str) -> dict[str, Ref]:
    """Return the refs of a table by name."""
    head = store.head(TableAddress(location))
    if head is None:
        return {}
    listed = _listed(head.dataset, location)
    return {
        name: Ref(
            name=name,
            incarnation=str(facts["branch_identifier"][-1][1]),
            parent=facts["parent_branch"],
            parent_version=int(facts["parent_version"]),
            created_at_s=int(facts["create_at"]),
        )
        for name, facts in listed.items()
    }


def _listed(dataset: Any, location: str) -> dict[str, Any]:
    """List the refs, again if one of them was deleted meanwhile."""
    for again in range(_ATTEMPTS_MAX, 0, -1):
        try:
            found: dict[str, Any] = dataset.branches.list()
        except lance_failures() as error:
            if again == 1 or classify(error) is not LanceFailure.NOT_FOUND:
                raise storage_error(error, doing=f"listing the branches of {location}", uri=location) from error
        else:
            return found
    raise AssertionError("unreachable: the last listing returns or raises")


def has_ref(objects: ControlStore, location: str, name: str) -> bool:
    """Whether a table has a ref of this name, by its list of refs alone: no other ref needs to be readable for that."""
    prefix = f"{location}/_refs/branches/"
    return any(_plain(path) == f"{prefix}{name}.json" for path in objects.list(prefix))


def _plain(path: str) -> str:
    """Return a path as it is meant: Lance escapes the slashes of a name, and a store may escape that once more."""
    return unquote(unquote(path))


def create_ref(store: TableStore, source: Table, name: str) -> Table:
    """Create a ref at exactly the state `source` and open it; whether an unclear error created it, the list tells."""
    location = source.address.location
    address = TableAddress(location, name)
    try:
        _main_handle(store, location).create_branch(name, (source.address.ref, source.version))
        faults.reach("fork.create_ack_lost")
    except lance_failures() as error:
        created = list_refs(store, location).get(name)
        if created is None or (created.parent, created.parent_version) != (source.address.ref, source.version):
            raise storage_error(error, doing=f"creating branch {name} of {location}", uri=address.path) from error
    return store.open(address, source.version)


def delete_ref(store: TableStore, location: str, name: str) -> None:
    """Delete a ref and its tree; an absent one is fine.

    That something was not found does not mean that it was this ref: as long as it is listed, it is not deleted.
    """
    store.forget(TableAddress(location, name))
    for again in range(_ATTEMPTS_MAX, 0, -1):
        try:
            _main_handle(store, location).branches.delete(name)
        except lance_failures() as error:
            is_missing = classify(error) is LanceFailure.NOT_FOUND
            if is_missing and not has_ref(store.objects, location, name):
                return
            if again == 1 or not is_missing:
                raise storage_error(error, doing=f"deleting branch {name} of {location}", uri=location) from error
        else:
            return


def drop_leftover_tree(objects: ControlStore, location: str, name: str, *, keeps_data: bool) -> None:
    """Remove the files of a tree whose ref does not exist.

    With `keeps_data` the data files stay: a writer that is about to create this very ref may have staged them.
    """
    prefix = f"{location}/tree/{name}/"
    for path in objects.list(prefix):
        if not (keeps_data and path.startswith(f"{prefix}data/")):
            objects.delete(path)


def _main_handle(store: TableStore, location: str) -> Any:
    head = store.head(TableAddress(location))
    if head is None:
        raise FileNotFoundError(f"table {location} was not found")
    # A handle of its own: Lance lets nobody else use one that creates or deletes a branch, not even to read.
    return head.own_handle()
