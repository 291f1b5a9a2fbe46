"""Folding the small fragments of a table that gains one with every commit.

A keyed merge looks into every fragment of its table, so a table that is written one row at a time gets slower with
every write. Folding keeps the number of fragments small whatever the number of writes: when as many of one size have
come together as are folded at once, they become one of the next size, so each row is written again a few times in all.
"""

from collections import Counter
from collections.abc import Mapping
from itertools import count
from typing import Final

from omnigraph.base import faults
from omnigraph.base.units import counted
from omnigraph.errors import Internal
from omnigraph.storage.compaction import commit_rewrites, lance_task, new_files, without_row_versions
from omnigraph.storage.lance_errors import translated
from omnigraph.storage.table_store import TableStore
from omnigraph.storage.tables import Table
from omnigraph.storage.transactions import CommitInterleaved

FOLDED_AT_ONCE: Final = 24
"""How many of the smallest size, which commits leave, are folded together."""
_LARGER_AT_ONCE: Final = 8
"""How many of any other size: fewer, since these are folded seldom and looked into by every commit."""
_BATCH_ROWS: Final = 1_024


def fragments_to_fold(rows_by_fragment: Mapping[int, int]) -> tuple[int, ...]:
    """Choose the fragments that should become one: of the largest size that has enough of them, and all smaller ones.

    The sizes are up to 23 rows, up to 191, up to 1,535 and so on.
    """
    sizes = {number: _size(rows) for number, rows in rows_by_fragment.items()}
    counts = Counter(sizes.values())
    full = max((size for size, number in counts.items() if number >= _at_once(size)), default=None)
    return () if full is None else tuple(number for number, size in sizes.items() if size <= full)


def fold_small_fragments(store: TableStore, table: Table) -> Table | None:
    """Make one fragment of many small ones, if there are many; return the new state, which holds the same rows.

    Nothing refers to the new file before it is committed, and the commit changes no row: whoever is killed on the way
    leaves the table as it was. When somebody else wrote to these fragments meanwhile, they are left alone too.
    """
    rows = table.rows_by_fragment()
    chosen = fragments_to_fold(rows) if len(rows) >= min(FOLDED_AT_ONCE, _LARGER_AT_ONCE) else ()
    if not chosen:
        return None
    path = table.address.path
    handle = table.own_handle()
    with translated(doing=f"folding small fragments of {path}", uri=path):
        live = sum(handle.get_fragment(number).count_rows() for number in chosen)
        task = lance_task(handle, chosen, live_rows=live, batch_rows=_BATCH_ROWS)
        made = task.execute(handle)
    faults.reach("write.internal_folded")
    folded, result = Table(table.address, handle), without_row_versions(made.json())
    written = sum(fragment.physical_rows for fragment in made.new_fragments)
    if written != live:
        _drop(store, table, result)
        raise Internal(f"Folding {path} wrote {counted(written, 'row')} where {live} were live; nothing was committed.")
    try:
        commit_rewrites(folded, [result])
    except CommitInterleaved:
        _drop(store, table, result)
        raise
    return store.landed(folded)


def _drop(store: TableStore, table: Table, result: str) -> None:
    for name in new_files(result):
        store.objects.delete(f"{table.address.path}/data/{name}")


def _size(rows: int) -> int:
    return next(size for size in count() if rows < FOLDED_AT_ONCE * _LARGER_AT_ONCE**size)


def _at_once(size: int) -> int:
    return _LARGER_AT_ONCE if size else FOLDED_AT_ONCE
