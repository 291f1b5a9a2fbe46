"""Which entities of a type exist in one state of its table, and by which row id Lance knows each of them.

A state that was built in one go is an array, or nothing but a count where the row ids are consecutive, as they mostly
are. A later state is the same array and the few entries that commits have changed since, so that following a commit
costs what it changed.
"""

from collections.abc import Iterable, Mapping
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from omnigraph.query.access import MISSING, Ordinals
from omnigraph.query.image.buffers import frozen

RowIds = NDArray[np.int64]

_CHANGED_MIN = 1_024
_CHANGED_MAX = 50_000
_CHANGED_SHARE = 50
_DICT_ENTRY_BYTES = 200


class BaseRows:
    """The rows of a state that was read from its table; never changed."""

    def __init__(self, row_ids: RowIds) -> None:
        """Take the row id of every ordinal, `MISSING` where there is no entity."""
        self.size = len(row_ids)
        self.start = int(row_ids[0]) if len(row_ids) else 0
        is_plain = self.start >= 0 and bool((row_ids == np.arange(self.start, self.start + self.size)).all())
        self.row_ids = None if is_plain else frozen(row_ids)
        self.count = self.size if is_plain else int((row_ids != MISSING).sum())

    @property
    def nbytes(self) -> int:
        """How much memory it takes, with what is made of it when rows are looked up."""
        return 64 if self.row_ids is None else self.row_ids.nbytes * 3

    def all_row_ids(self) -> RowIds:
        """Return the row ids by ordinal."""
        return np.arange(self.start, self.start + self.size) if self.row_ids is None else self.row_ids

    def row_ids_of(self, ordinals: Ordinals) -> RowIds:
        """Return the row ids of ordinals, `MISSING` where there is no entity."""
        if self.row_ids is None:
            return np.where(ordinals < self.size, ordinals + np.int64(self.start), np.int64(MISSING))
        if not self.size:
            return np.full(len(ordinals), MISSING, np.int64)
        return np.where(ordinals < self.size, self.row_ids[np.minimum(ordinals, self.size - 1)], np.int64(MISSING))

    def ordinals_of(self, row_ids: RowIds) -> Ordinals:
        """Return the ordinals of row ids, `MISSING` where a row is not in this state."""
        if self.row_ids is None:
            places = row_ids - self.start
            return np.where((places >= 0) & (places < self.size), places, MISSING).astype(np.int32)
        sorted_ids, order = self._by_row_id
        if not len(order):
            return np.full(len(row_ids), MISSING, np.int32)
        places = np.minimum(np.searchsorted(sorted_ids, row_ids), len(order) - 1)
        return np.where(sorted_ids[places] == row_ids, order[places], MISSING).astype(np.int32)

    def has(self, ordinal: int) -> bool:
        """Whether an entity exists."""
        return 0 <= ordinal < self.size and (self.row_ids is None or bool(self.row_ids[ordinal] >= 0))

    @cached_property
    def ordinals(self) -> Ordinals:
        """All that exist, ascending."""
        if self.row_ids is None:
            return frozen(np.arange(self.size, dtype=np.int32))
        return frozen(np.flatnonzero(self.row_ids != MISSING).astype(np.int32))

    @cached_property
    def _by_row_id(self) -> tuple[RowIds, Ordinals]:
        assert self.row_ids is not None
        live = self.ordinals
        order = np.argsort(self.row_ids[live])
        return self.row_ids[live][order], live[order]


class TableRows:
    """The rows of one state: those of a base, less and more what was changed since; never changed itself."""

    def __init__(
        self,
        base: BaseRows,
        changed: Mapping[int, int] | None = None,
        by_row_id: Mapping[int, int] | None = None,
    ) -> None:
        self.base = base
        self.changed = changed or {}
        """The row id of every ordinal that is not as in the base, `MISSING` where it is gone."""
        self._by_row_id = by_row_id or {}
        new = sorted(ordinal for ordinal in self.changed if ordinal >= base.size)
        self.size = new[-1] + 1 if new else base.size
        before = base.row_ids_of(self.changed_ordinals)
        now = self.changed_row_ids
        self.count = base.count - int((before != MISSING).sum()) + int((now != MISSING).sum())

    @property
    def nbytes(self) -> int:
        """How much memory it takes beside the base."""
        return _DICT_ENTRY_BYTES * len(self.changed)

    @property
    def should_be_folded(self) -> bool:
        """Whether so much has changed that a new base is worth its price."""
        return len(self.changed) > max(_CHANGED_MIN, min(self.base.size // _CHANGED_SHARE, _CHANGED_MAX))

    @cached_property
    def changed_ordinals(self) -> Ordinals:
        """The ordinals that are not as in the base, ascending."""
        return np.array(sorted(self.changed), np.int32)

    @cached_property
    def changed_row_ids(self) -> RowIds:
        """The row ids of these."""
        return np.array([self.changed[ordinal] for ordinal in self.changed_ordinals.tolist()], np.int64)

    def has(self, ordinal: int) -> bool:
        """Whether an entity exists."""
        row_id = self.changed.get(ordinal)
        return self.base.has(ordinal) if row_id is None else row_id != MISSING

    @cached_property
    def ordinals(self) -> Ordinals:
        """All that exist, ascending."""
        if not self.changed:
            return self.base.ordinals
        is_there = np.zeros(self.size, np.bool_)
        is_there[self.base.ordinals] = True
        is_there[self.changed_ordinals] = self.changed_row_ids != MISSING
        return frozen(np.flatnonzero(is_there).astype(np.int32))

    def is_there(self, ordinals: Ordinals) -> NDArray[np.bool_]:
        """Return for every ordinal whether an entity exists; `MISSING` is none."""
        found: NDArray[np.bool_] = (self.row_ids_of(ordinals) != MISSING) & (ordinals >= 0)
        return found

    def row_ids_of(self, ordinals: Ordinals) -> RowIds:
        """Return the row ids of ordinals, `MISSING` where there is no entity."""
        found = self.base.row_ids_of(ordinals)
        if self.changed and len(ordinals):
            places = np.minimum(np.searchsorted(self.changed_ordinals, ordinals), len(self.changed) - 1)
            found = np.where(self.changed_ordinals[places] == ordinals, self.changed_row_ids[places], found)
        return found

    def ordinals_of(self, row_ids: RowIds) -> Ordinals:
        """Return the ordinals of row ids, `MISSING` where a row is not in this state."""
        found = self.base.ordinals_of(row_ids)
        if self.changed:
            # What the base knows of a changed ordinal is out of date.
            found = np.where(np.isin(found, self.changed_ordinals), np.int32(MISSING), found)
            for place in np.flatnonzero(found == MISSING).tolist():
                found[place] = self._by_row_id.get(int(row_ids[place]), MISSING)
        return found

    def ordinals_in_scan(self, row_ids: RowIds, start: int) -> Ordinals:
        """Return the ordinals of rows of a scan that come behind `start` others.

        Mostly rows are numbered in this order, and then nobody needs the rows sorted by their ids, which take as much
        memory again.
        """
        numbered = self.base.row_ids
        if not self.changed and numbered is not None:
            end = start + len(row_ids)
            if np.array_equal(numbered[start:end], row_ids):
                return np.arange(start, end, dtype=np.int32)
        return self.ordinals_of(row_ids)

    def with_changes(self, changes: Iterable[tuple[int, int]]) -> "TableRows":
        """Return the rows after a commit: new row ids of ordinals, `MISSING` for those that are gone."""
        changed = {**self.changed}
        by_row_id = {**self._by_row_id}
        for ordinal, row_id in changes:
            before = changed.get(ordinal, MISSING)
            if by_row_id.get(before) == ordinal:
                del by_row_id[before]
            changed[ordinal] = row_id
            if row_id != MISSING:
                by_row_id[row_id] = ordinal
        return TableRows(self.base, changed, by_row_id)

    def folded(self) -> "TableRows":
        """Return the same rows as a base of their own."""
        row_ids = np.full(self.size, MISSING, np.int64)
        row_ids[: self.base.size] = self.base.all_row_ids()
        row_ids[self.changed_ordinals] = self.changed_row_ids
        return TableRows(BaseRows(row_ids))
