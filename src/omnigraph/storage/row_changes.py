"""Which rows of a table differ between two of its states, and how much, by what Lance remembers of rows and files.

Nothing here compares values: a row that was written again with equal values counts as changed.
"""

import itertools
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.values import dataclass
from omnigraph.storage.data_paths import data_path
from omnigraph.storage.lance_errors import translated
from omnigraph.storage.lineage import Stretch
from omnigraph.storage.table_store import TableStore
from omnigraph.storage.tables import ROW_ADDRESS, ROW_ID, Table, TableAddress

_LAST_UPDATED = "_row_last_updated_at_version"
_CREATED = "_row_created_at_version"
_OFFSET_BITS = (1 << 32) - 1
_SPARSE = 16
"""From one row in so many on, a scan of the whole fragment is cheaper than looking rows up."""
_TAKE_ROWS = 8_192


def rows_written_since(older: Table, table: Table, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield the rows that were inserted or updated since an older state, with row ids.

    Ask only where row versions tell (`lineage.py`). What was written lies in new files, so no others are opened.
    """
    new = fragments_not_in(older, table)
    if new:
        where = f"{_LAST_UPDATED} > {older.version}"
        yield from table.scan(columns, where=where, with_row_ids=True, fragment_ids=new)


def rows_written_in(older: Table, table: Table, columns: Sequence[str], fragment_ids: Sequence[int]) -> pa.Table:
    """Read the same of some fragments at once, for who knows that they are few."""
    where = f"{_LAST_UPDATED} > {older.version}"
    return table.read(columns, where=where, with_row_ids=True, fragment_ids=fragment_ids)


def rows_added_since(older: Table, table: Table, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield the same where nothing but fragments was added to an older state: then their numbers tell them.

    Whoever follows a table through thousands of small commits would otherwise compare thousands of files each time.
    """
    new = fragments_added_to(older, table)
    if new:
        yield from table.scan(columns, with_row_ids=True, fragment_ids=new)


def fragments_added_to(older: Table, table: Table) -> tuple[int, ...]:
    """Return the fragments of a state that came to an older one, where nothing else was done to that."""
    known = frozenset(older.fragment_ids())
    return tuple(number for number in table.fragment_ids() if number not in known)


def rows_with_versions(table: Table, columns: Sequence[str], fragment_ids: Sequence[int]) -> tuple[pa.Table, list[int]]:
    """Read some fragments that appends left, and the version in which each of their rows was added."""
    rows = table.read([*columns, _CREATED], fragment_ids=fragment_ids)
    return rows.select(columns), rows[_CREATED].to_pylist()


def rows_inserted_since(
    older: Table, table: Table, columns: Sequence[str], fragment_ids: Sequence[int]
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of some fragments that an older state does not have; ask where `rows_written_since` may."""
    yield from table.scan(columns, where=f"{_CREATED} > {older.version}", fragment_ids=fragment_ids)


def rows_updated_since(
    older: Table, table: Table, columns: Sequence[str], fragment_ids: Sequence[int]
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of some fragments that an older state has in another form, with row ids; ask as above."""
    where = f"{_LAST_UPDATED} > {older.version} AND {_CREATED} <= {older.version}"
    yield from table.scan(columns, where=where, with_row_ids=True, fragment_ids=fragment_ids)


def fragments_not_in(older: Table, table: Table) -> tuple[int, ...]:
    """Return the fragments of a state whose files another one does not have."""
    return _only_in(_by_files(table), _by_files(older))


def count_written_since(older: Table, table: Table) -> tuple[int, int]:
    """Return how many rows were inserted or updated since an older state, and how many of them inserted."""
    new = fragments_not_in(older, table)
    counts = [
        sum(len(batch) for batch in table.scan([], where=where, with_row_ids=True, fragment_ids=new)) if new else 0
        for where in (f"{_LAST_UPDATED} > {older.version}", f"{_CREATED} > {older.version}")
    ]
    return counts[0], counts[1]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class FragmentOverlap:
    """Which fragments of two states hold the same rows, decided from their files alone; no row is read."""

    left_only: tuple[int, ...]
    right_only: tuple[int, ...]
    thinned: tuple[tuple[int, int], ...]
    """Pairs of fragments over the same files that have not deleted the same rows."""


def overlap(left: Table, right: Table) -> FragmentOverlap:
    """Compare two states file by file.

    No file is ever written twice under one name. Two fragments over the same data files therefore hold the same rows
    at the same offsets, less what each has deleted, whatever the refs and however the two states came to be.
    """
    of_left, of_right = _by_files(left), _by_files(right)
    return FragmentOverlap(
        left_only=_only_in(of_left, of_right),
        right_only=_only_in(of_right, of_left),
        thinned=tuple(
            (fragment.fragment_id, of_right[files].fragment_id)
            for files, fragment in of_left.items()
            if files in of_right and _deletions(fragment) != _deletions(of_right[files])
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenRows:
    """Some rows of one fragment in the order in which they lie in it, by their ids and by their offsets."""

    fragment_id: int
    row_ids: pa.Array
    offsets: pa.Array


def unshared_rows(left: Table, right: Table) -> tuple[UnsharedRows, UnsharedRows]:
    """Return the rows of each state that the other does not have in the same files."""
    shared = overlap(left, right)
    rows_left = [rows_deleted_elsewhere(left, mine, right, theirs).row_ids for mine, theirs in shared.thinned]
    rows_right = [rows_deleted_elsewhere(right, mine, left, theirs).row_ids for theirs, mine in shared.thinned]
    none = pa.array([], pa.uint64())
    return (
        UnsharedRows(fragment_ids=shared.left_only, row_ids=pa.concat_arrays([none, *rows_left])),
        UnsharedRows(fragment_ids=shared.right_only, row_ids=pa.concat_arrays([none, *rows_right])),
    )


def rows_deleted_elsewhere(table: Table, fragment_id: int, other: Table, other_fragment_id: int) -> ChosenRows:
    """Return the rows of a fragment that another one over the same files has deleted."""
    offsets, row_ids = _live_rows(table, fragment_id)
    other_offsets, _ = _live_rows(other, other_fragment_id)
    is_gone = pc.is_in(offsets, value_set=_gaps(other_offsets, table.rows_by_fragment()[fragment_id]))
    return ChosenRows(fragment_id=fragment_id, row_ids=row_ids.filter(is_gone), offsets=offsets.filter(is_gone))


def chosen_by_fragment(row_ids: pa.Array, addresses: pa.Array) -> Iterator[ChosenRows]:
    """Divide rows by the fragments that they lie in; those of one fragment are given together, by ascending address."""
    fragment_ids = pc.shift_right(addresses, pa.scalar(32, pa.uint64()))
    start = 0
    for found in pc.value_counts(fragment_ids).to_pylist():
        yield ChosenRows(
            fragment_id=found["values"],
            row_ids=row_ids.slice(start, found["counts"]),
            offsets=_offsets(addresses.slice(start, found["counts"])),
        )
        start += found["counts"]


def scan_chosen(table: Table, chosen: ChosenRows, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield the chosen rows in their order, with row ids and addresses.

    Few are looked up; many are picked out of a scan, which costs less than finding every single one.
    """
    physical_rows = table.rows_by_fragment()[chosen.fragment_id]
    if len(chosen.row_ids) * _SPARSE < physical_rows:
        for start in range(0, len(chosen.row_ids), _TAKE_ROWS):
            wanted = chosen.row_ids.slice(start, _TAKE_ROWS)
            found = table.take(wanted, columns).combine_chunks()
            yield from found.take(pc.index_in(wanted, value_set=found[ROW_ID].combine_chunks())).to_batches()
        return
    is_chosen = pc.is_in(pa.array(range(physical_rows), pa.uint64()), value_set=chosen.offsets)
    for batch in table.scan(columns, with_row_ids=True, with_row_addresses=True, fragment_ids=[chosen.fragment_id]):
        yield batch.filter(is_chosen.take(_offsets(batch[ROW_ADDRESS])))


def files_digest(table: Table) -> str:
    """Name what a state holds by its files, of which none is ever written twice: equal digests mean equal rows."""
    spelled = [
        (fragment.fragment_id, _files(fragment), _deletions(fragment)) for fragment in table.dataset.get_fragments()
    ]
    return sha256(repr(spelled).encode()).hexdigest()


def _by_files(table: Table) -> dict[tuple[Any, ...], Any]:
    return {_files(fragment): fragment for fragment in table.dataset.get_fragments()}


def _only_in(ours: dict[tuple[Any, ...], Any], theirs: dict[tuple[Any, ...], Any]) -> tuple[int, ...]:
    return tuple(fragment.fragment_id for files, fragment in ours.items() if files not in theirs)


def _live_rows(table: Table, fragment_id: int) -> tuple[pa.Array, pa.Array]:
    """Return the offsets and ids of the rows of a fragment that are not deleted; reads no column."""
    rows = table.read([], with_row_ids=True, with_row_addresses=True, fragment_ids=[fragment_id])
    return _offsets(rows[ROW_ADDRESS].combine_chunks()), rows[ROW_ID].combine_chunks()


def _offsets(addresses: pa.Array) -> pa.Array:
    return pc.bit_wise_and(addresses, pa.scalar(_OFFSET_BITS, pa.uint64()))


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
        *((data_path(file), *file.fields, "|", *file.column_indices) for file in described.files),
        repr(described.overlays),
    )


def _deletions(fragment: Any) -> tuple[int, int] | None:
    deletions = fragment.metadata.deletion_file
    # The id is random, so that it names a deletion file in whatever tree it lies.
    return (deletions.read_version, deletions.id) if deletions else None


def unshared_bytes(older: Table, newer: Table) -> int:
    """Return the size of what the states do not share: whole fragments, and rows that only one of them has deleted."""
    shared = overlap(older, newer)
    of_older, of_newer = older.bytes_by_fragment(), newer.bytes_by_fragment()
    rows, live_older, live_newer = older.rows_by_fragment(), older.fragment_rows(), newer.fragment_rows()
    thinned = sum(
        abs(live_older[left] - live_newer[right]) * of_older[left] // max(rows[left], 1)
        for left, right in shared.thinned
    )
    whole = sum(of_older[left] for left in shared.left_only) + sum(of_newer[right] for right in shared.right_only)
    return whole + thinned


def written_bytes(older: Table, newer: Table) -> int:
    """Return the size of the rows that were inserted, updated or deleted since an older state.

    Ask only where row versions tell (`lineage.py`): then a rewrite of files that changed no row counts as nothing.
    """
    written, inserted = count_written_since(older, newer)
    deleted = older.count_rows() + inserted - newer.count_rows()
    width = sum(newer.bytes_by_fragment().values()) // max(sum(newer.rows_by_fragment().values()), 1)
    return (written + max(deleted, 0)) * width


def has_lost_rows(older: Table, newer: Table) -> bool:
    """Whether rows of an older state are gone; ask only where row versions tell."""
    _, inserted = count_written_since(older, newer)
    return older.count_rows() + inserted != newer.count_rows()
