"""The target's rows that go or get a successor: workers write the deletion files of the fragments that hold them.

Where the merge itself will fork the ref, there is no place for them yet. The write protocol then has them written when
there is, one fragment at a time, from what workers left in the scratch.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from operator import itemgetter

import pyarrow as pa

from omnigraph.base.grouping import grouped
from omnigraph.branches.merge.bulk.outcomes import REMOVED_ROWS
from omnigraph.catalog.model import EntityType
from omnigraph.engine.interface import Engine
from omnigraph.storage.deletions import RemovedRows, write_deletions
from omnigraph.storage.worker_files import TablePlace, worker_store
from omnigraph.writes.constraints.resulting_state import number_of
from omnigraph.writes.exchange.stages import Exchange, ScratchShelf

_TASK_ROWS = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinnedTable:
    """A table from which rows go."""

    entity: EntityType
    place: TablePlace
    rows_by_fragment: Mapping[int, int]

    @property
    def relation(self) -> str:
        """What its removed rows are called."""
        return f"{number_of(self.entity)}_removed"

    @property
    def is_there(self) -> bool:
        """Whether there is a place for deletion files already."""
        return self.place.target == self.place.state.address


@dataclass(frozen=True, slots=True, kw_only=True)
class _Removal:
    """What is the same for all fragments of a merge."""

    uri: str
    operation_id: str
    shelf: ScratchShelf


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fragments:
    """Some fragments of one table."""

    table: int
    relation: str
    place: TablePlace
    fragment_ids: tuple[int, ...]


def remove_rows(
    engine: Engine, exchange: Exchange, tables: list[ThinnedTable], *, uri: str, operation_id: str
) -> list[RemovedRows]:
    """Have workers write deletion files; return what becomes of each table."""
    if not tables:
        return []
    shelf = exchange.listed(REMOVED_ROWS, [table.relation for table in tables])
    removed = [
        RemovedRows() if table.is_there else RemovedRows(waiting=partial(_offsets, shelf, table)) for table in tables
    ]
    tasks = [
        _Fragments(
            table=number,
            relation=table.relation,
            place=table.place,
            fragment_ids=tuple(fragment_id for fragment_id, _ in group),
        )
        for number, table in enumerate(tables)
        if table.is_there
        for group in grouped(sorted(table.rows_by_fragment.items()), (itemgetter(1), _TASK_ROWS))
    ]
    removal = _Removal(uri=uri, operation_id=operation_id, shelf=shelf)
    for number, done in engine.map(partial(_remove, removal), tasks):
        removed[number] = RemovedRows(
            deletions=(*removed[number].deletions, *done.deletions),
            emptied=(*removed[number].emptied, *done.emptied),
        )
    return removed


def _remove(removal: _Removal, fragments: _Fragments) -> tuple[int, RemovedRows]:
    store = worker_store(removal.uri, removal.operation_id)
    table = fragments.place.open(store)
    offsets = _offsets_in(removal.shelf, fragments.relation, fragments.fragment_ids)
    return fragments.table, write_deletions(store.tables, table, offsets)


def _offsets(shelf: ScratchShelf, table: ThinnedTable) -> Iterator[tuple[int, pa.Array]]:
    yield from _offsets_in(shelf, table.relation, tuple(table.rows_by_fragment))


def _offsets_in(shelf: ScratchShelf, relation: str, fragment_ids: tuple[int, ...]) -> Iterator[tuple[int, pa.Array]]:
    for fragment_id in fragment_ids:
        rows = shelf.rows(relation, fragment_id)
        if rows.num_rows:
            yield fragment_id, rows["position"].combine_chunks()
