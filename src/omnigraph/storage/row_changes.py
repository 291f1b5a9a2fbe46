"""Which rows of a table differ between two of its states, by what Lance remembers of rows and files.

Nothing here compares values: a row that was written again with equal values counts as changed.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.storage.lance_errors import translated
from omnigraph.storage.lineage import Stretch
from omnigraph.storage.tables import ROW_ADDRESS, ROW_ID, Table, TableAddress, TableStore

_LAST_UPDATED = "_row_last_updated_at_version"
_OFFSET_BITS = (1 << 32) - 1


def rows_written_since(older: Table, table: Table, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield the rows that were inserted or updated since an older state, with row ids.

    Ask only where row versions tell (`lineage.py`). What was written lies in new files, so no others are opened.
    """
    new = _only_in(_by_files(table), _by_files(older))
    if new:
        where = f"{_LAST_UPDATED} > {older.version}"
        yield from table.scan(columns, where=where, with_row_ids=True, fragment_ids=new)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsharedRows:
    """The rows of one state that are not known to be in another: whole fragments, and single rows of others."""

    fragment_ids: tuple[int, ...]
    row_ids: pa.Array


def unshared_rows(left: Table, right: Table) -> tuple[UnsharedRows, UnsharedRows]:
    """Return the rows of each state that the other does not have in the same files.

    No file is ever written twice under one name. Two fragments over the same data files therefore hold the same rows
    at the same offsets, less what each has deleted, whatever the refs and however the two states came to be.
    """
    of_left, of_right = _by_files(left), _by_files(right)
    thinned = [
        (of_left[files], of_right[files])
        for files in of_left.keys() & of_right.keys()
        if _deletions(of_left[files]) != _deletions(of_right[files])
    ]
    rows_left, rows_right = [pa.array([], pa.uint64())], [pa.array([], pa.uint64())]
    for fragment_left, fragment_right in thinned:
        offsets_left, ids_left = _live_rows(left, fragment_left)
        offsets_right, ids_right = _live_rows(right, fragment_right)
        physical_rows = fragment_left.physical_rows
        rows_left.append(ids_left.filter(pc.is_in(offsets_left, value_set=_gaps(offsets_right, physical_rows))))
        rows_right.append(ids_right.filter(pc.is_in(offsets_right, value_set=_gaps(offsets_left, physical_rows))))
    return (
        UnsharedRows(fragment_ids=_only_in(of_left, of_right), row_ids=pa.concat_arrays(rows_left)),
        UnsharedRows(fragment_ids=_only_in(of_right, of_left), row_ids=pa.concat_arrays(rows_right)),
    )


def _by_files(table: Table) -> dict[tuple[Any, ...], Any]:
    return {_files(fragment): fragment for fragment in table.dataset.get_fragments()}


def _only_in(ours: dict[tuple[Any, ...], Any], theirs: dict[tuple[Any, ...], Any]) -> tuple[int, ...]:
    return tuple(fragment.fragment_id for files, fragment in ours.items() if files not in theirs)


def _live_rows(table: Table, fragment: Any) -> tuple[pa.Array, pa.Array]:
    """Return the offsets and ids of the rows of a fragment that are not deleted; reads no column."""
    rows = table.read([], with_row_ids=True, with_row_addresses=True, fragment_ids=[fragment.fragment_id])
    offsets = pc.bit_wise_and(rows[ROW_ADDRESS], pa.scalar(_OFFSET_BITS, pa.uint64()))
    return offsets.combine_chunks(), rows[ROW_ID].combine_chunks()


def _gaps(offsets: pa.Array, physical_rows: int) -> pa.Array:
    """Return the offsets below `physical_rows` that are missing from an ascending list; deletions are mostly few."""
    ends = [pa.array([-1], pa.int64()), offsets.cast(pa.int64()), pa.array([physical_rows], pa.int64())]
    bounded = pa.concat_arrays(ends)
    lower, upper = bounded.slice(0, len(bounded) - 1), bounded.slice(1)
    is_gap = pc.greater(pc.subtract(upper, lower), 1)
    runs = zip(lower.filter(is_gap).to_pylist(), upper.filter(is_gap).to_pylist(), strict=True)
    missing = itertools.chain.from_iterable(range(below + 1, above) for below, above in runs)
    return pa.array(missing, pa.uint64())


def _files(fragment: Any) -> tuple[Any, ...]:
    described = fragment.metadata
    return (
        *((file.path, *file.fields, "|", *file.column_indices) for file in described.files),
        repr(described.overlays),
    )


def _deletions(fragment: Any) -> tuple[int, int] | None:
    deletions = fragment.metadata.deletion_file
    # The id is random, so that it names a deletion file in whatever tree it lies.
    return (deletions.read_version, deletions.id) if deletions else None
