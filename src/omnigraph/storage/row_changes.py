"""Which rows of a table differ between two of its states, by what Lance remembers of rows and files.

Nothing here compares values: a row that was written again with equal values counts as changed.
"""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from omnigraph.storage.lance_errors import translated
from omnigraph.storage.lineage import Stretch
from omnigraph.storage.tables import Table, TableAddress, TableStore

_LAST_UPDATED = "_row_last_updated_at_version"


def rows_written_since(table: Table, version: int, columns: Sequence[str]) -> pa.RecordBatchReader:
    """Stream the rows that were inserted or updated after `version`, with row ids; see `lineage.py` for when to ask."""
    return table.scan(columns, where=f"{_LAST_UPDATED} > {version}", with_row_ids=True)


def deleted_row_ids(store: TableStore, location: str, stretches: Sequence[Stretch]) -> pa.Array:
    """Return the ids of rows that were deleted on the way; some may have been inserted on it, too."""
    found = [pa.array([], pa.uint64())]
    for stretch in stretches:
        # The handle must stand at exactly the end: a newer one leaves out what happened to a row later.
        table = store.open(TableAddress(location, stretch.ref), stretch.end)
        with translated(doing=f"reading the deletions of {table.address.path}", uri=table.address.path):
            delta = table.dataset.delta(begin_version=stretch.begin, end_version=stretch.end)
            found += [batch.column(0).cast(pa.uint64()) for batch in delta.get_deleted_row_ids()]
    return pa.concat_arrays(found)


def unshared_fragments(left: Table, right: Table) -> tuple[list[int], list[int]]:
    """Return the fragments of each state that the other does not have in the same form.

    The files of a fragment are never written twice under one name. Two fragments over the same data files with the
    same deletions therefore hold the same rows, whatever the refs and however the two states came to be.
    """
    of_left, of_right = (
        {_form(fragment): fragment.fragment_id for fragment in _fragments(table)} for table in (left, right)
    )
    return (
        [number for form, number in of_left.items() if form not in of_right],
        [number for form, number in of_right.items() if form not in of_left],
    )


def _fragments(table: Table) -> Sequence[Any]:
    found: Sequence[Any] = table.dataset.get_fragments()
    return found


def _form(fragment: Any) -> tuple[Any, ...]:
    described = fragment.metadata.to_json()
    deletions = described["deletion_file"]
    return (
        tuple((file["path"], *file["fields"], "|", *file["column_indices"]) for file in described["files"]),
        str(described["overlays"]),
        # The id is random, so that it names a deletion file in whatever tree it lies.
        (deletions["read_version"], deletions["id"]) if deletions else None,
    )
