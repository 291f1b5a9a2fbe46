"""Stored rows that go or get a successor: workers write the deletion files of the fragments that hold them.

Where the write itself will fork the ref, there is no place for them yet. The write protocol then has them written when
there is, one fragment at a time, from what workers left in the scratch.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from operator import itemgetter

import pyarrow as pa

from omnigraph.base import ids
from omnigraph.base.grouping import grouped
from omnigraph.base.values import dataclass
from omnigraph.catalog.model import EntityType, TableKey
from omnigraph.engine.interface import Engine
from omnigraph.engine.local import LocalEngine
from omnigraph.graphs.capture import Capture
from omnigraph.storage.cut_files import write_cuts
from omnigraph.storage.deletions import RemovedRows, offsets_by_fragment, write_deletions
from omnigraph.storage.scratch import Scratch
from omnigraph.storage.worker_files import ScratchPlace, TablePlace, worker_store
from omnigraph.writes.constraints.resulting_state import number_of
from omnigraph.writes.exchange.stages import ScratchShelf, list_files

_TASK_ROWS = 1 << 20
_FEW_ROWS = 1 << 16
"""So few are removed here sooner than workers are told to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinnedTable:
    """A table from which rows go."""

    entity: EntityType
    place: TablePlace
    rows_by_fragment: Mapping[int, int]

    @property
    def relation(self) -> str:
        """What its removed rows are called."""
        return removed_relation(self.entity)

    @property
    def is_there(self) -> bool:
        """Whether there is a place for deletion files already."""
        return self.place.target == self.place.state.address

    def groups(self) -> Iterator[tuple[int, ...]]:
        """Divide its fragments into shares of work, neighbours together."""
        for group in grouped(sorted(self.rows_by_fragment.items()), (itemgetter(1), _TASK_ROWS)):
            yield tuple(fragment_id for fragment_id, _ in group)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptRemoved:
    """Where a worker wrote down which rows go, and how many."""

    name: str
    rows: int


def removed_relation(entity: EntityType) -> str:
    """Name the removed rows of a type."""
    return f"{number_of(entity)}_removed"


def keep_removed(scratch: Scratch, entity: EntityType, addresses: pa.Array, *, folder: str = "") -> KeptRemoved:
    """Write down which stored rows go, cut by the fragments that hold them; only a few bytes of it travel."""
    name = f"{folder}removed-{ids.new_ulid()}"
    relation = removed_relation(entity)
    cuts = (
        (fragment_id, relation, pa.table({"position": offsets}))
        for fragment_id, offsets in offsets_by_fragment(addresses)
    )
    write_cuts(scratch, name, cuts)
    return KeptRemoved(name=name, rows=len(addresses))


def remove_kept(
    engine: Engine, capture: Capture, operation_id: str, kept: Mapping[TableKey, Sequence[KeptRemoved]]
) -> dict[TableKey, RemovedRows]:
    """Have the rows of some tables removed that workers wrote down; return what becomes of each table."""
    tables = [
        ThinnedTable(
            entity=capture.catalog.type_by_table_key[key],
            place=capture.place(key),
            rows_by_fragment=capture.table(key).rows_by_fragment(),
        )
        for key, parts in sorted(kept.items())
        if parts
    ]
    if not tables:
        return {}
    found = [part for parts in kept.values() for part in parts]
    place = ScratchPlace(uri=capture.context.store.uri, operation_id=operation_id)
    shelf = ScratchShelf(
        place=place,
        files=list_files(place.open(), "removed", [part.name for part in found]),
        schema_by_relation={},
    )
    is_few = sum(part.rows for part in found) <= _FEW_ROWS
    by = LocalEngine() if is_few else engine
    removed = remove_rows(by, shelf, tables, uri=place.uri, operation_id=operation_id)
    return {table.entity.table_key: rows for table, rows in zip(tables, removed, strict=True)}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fragments:
    """Some fragments of one table."""

    table: int
    relation: str
    place: TablePlace
    fragment_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Removal:
    """What is the same for all fragments; the scratch need not lie in the graph."""

    uri: str
    operation_id: str
    shelf: ScratchShelf


def remove_rows(
    engine: Engine, shelf: ScratchShelf, tables: Sequence[ThinnedTable], *, uri: str, operation_id: str
) -> list[RemovedRows]:
    """Have workers write deletion files; return what becomes of each table."""
    removed = [
        RemovedRows() if table.is_there else RemovedRows(waiting=partial(_offsets, shelf, table)) for table in tables
    ]
    tasks = [
        _Fragments(table=number, relation=table.relation, place=table.place, fragment_ids=group)
        for number, table in enumerate(tables)
        if table.is_there
        for group in table.groups()
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
    offsets = _offsets_in(removal.shelf, fragments.relation, fragments.fragment_ids)
    return fragments.table, write_deletions(store.tables, fragments.place.open(store), offsets)


def _offsets(shelf: ScratchShelf, table: ThinnedTable) -> Iterator[tuple[int, pa.Array]]:
    for group in table.groups():
        yield from _offsets_in(shelf, table.relation, group)


def _offsets_in(shelf: ScratchShelf, relation: str, fragment_ids: tuple[int, ...]) -> Iterator[tuple[int, pa.Array]]:
    parts: dict[int, list[pa.Array]] = defaultdict(list)
    for fragment_id, rows in shelf.rows_between(relation, fragment_ids[0], fragment_ids[-1]):
        parts[fragment_id].append(rows["position"].combine_chunks())
    for fragment_id in sorted(parts):
        yield fragment_id, pa.concat_arrays(parts[fragment_id])
