"""Refs: the Lance branches of one table. Only the list proves that one exists; a tree that opens proves nothing."""

from dataclasses import dataclass

from omnigraph.storage.lance_errors import LanceFailure, classify, storage_error, translated
from omnigraph.storage.tables import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Ref:
    """One ref as the list shows it; `parent` None is the table's main line."""

    name: str
    parent: str | None


def list_refs(table: Table) -> tuple[Ref, ...]:
    """Return the refs of a table that exist right now, by name."""
    with translated(doing=f"listing the branches of {table.address.path}", uri=table.address.path):
        listed = table.dataset.branches.list()
    return tuple(Ref(name=name, parent=found["parent_branch"]) for name, found in sorted(listed.items()))


def delete_ref(table: Table, name: str) -> None:
    """Remove a ref and its files; one that is gone already is fine. Lance refuses one that another ref builds on."""
    try:
        table.dataset.branches.delete(name)
    except (OSError, ValueError, RuntimeError) as error:
        if classify(error) is not LanceFailure.NOT_FOUND:
            raise storage_error(
                error, doing=f"deleting branch {name} of {table.address.path}", uri=table.address.path
            ) from error
