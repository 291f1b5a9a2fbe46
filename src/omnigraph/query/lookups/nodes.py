"""The nodes of one type that a query has reached: found by id, by a filter, or at the end of an edge."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from omnigraph.catalog.model import NodeType
from omnigraph.query.access import MISSING, Ordinals, PropertyTest
from omnigraph.query.image.buffers import whole
from omnigraph.query.lookups.cells import Cells, LookedUpColumn
from omnigraph.query.lookups.pushed import filter_of_tests, is_id
from omnigraph.query.lookups.reading import TableReads, TooMuchToLookUp
from omnigraph.query.run.arrays import numbers_of
from omnigraph.query.typed import ID


class NodeLookups:
    """Nodes by ordinals that are given as nodes are met; those of the ids alone are enough to go on from a node."""

    def __init__(self, entity: NodeType, reads: TableReads, names: Sequence[str]) -> None:
        """Take the properties that the query asks for, which are read together."""
        self._entity = entity
        self._reads = reads
        self.count = self.size = reads.count
        self._ids: list[str] = []
        self._ordinal_by_id: dict[str, int] = {}
        self._is_complete = False
        asked = tuple(name for name in names if not is_id(entity, name))
        self._asked = Cells(reads.schema, asked)
        self._cells = dict.fromkeys(asked, self._asked)

    # --- who is there

    def find(self, node_id: str) -> int:
        """Return the ordinal of an id, or `MISSING`."""
        return int(self.find_many([node_id])[0])

    def find_many(self, node_ids: Sequence[str]) -> Ordinals:
        """Return the ordinals of ids, `MISSING` where there is none."""
        unknown = [node_id for node_id in dict.fromkeys(node_ids) if node_id not in self._ordinal_by_id]
        if unknown and not self._is_complete:
            self._take_in(self._reads.look_up(ID, unknown, [ID, *self._asked.names]))
        return np.fromiter((self._ordinal_by_id.get(each, MISSING) for each in node_ids), np.int32, len(node_ids))

    def met(self, node_ids: pa.Array) -> Ordinals:
        """Return the ordinals of nodes that edges lead to, which therefore exist; ids may repeat."""
        encoded = node_ids.dictionary_encode()
        ordinals = np.fromiter(map(self._ordinal, encoded.dictionary.to_pylist()), np.int32, len(encoded.dictionary))
        found: Ordinals = ordinals[numbers_of(encoded.indices).values]
        return found

    def ids_of(self, ordinals: Sequence[int]) -> list[str]:
        """Return the ids of nodes that were met."""
        return [self._ids[ordinal] for ordinal in ordinals]

    def ordinals(self) -> Ordinals:
        """Return all that exist, ascending."""
        if not self._is_complete:
            self._take_in(self._reads.scan([ID, *self._asked.names], None))
            self._is_complete = True
        return np.arange(len(self._ids), dtype=np.int32)

    def select(self, tests: Sequence[PropertyTest]) -> Ordinals | None:
        """Return those that Lance lets through, who may be more than pass the tests."""
        where, _ = filter_of_tests(self._entity, tests)
        if where is None or self._is_complete:
            return self.ordinals()
        return np.sort(self._take_in(self._reads.scan([ID, *self._asked.names], where)))

    # --- what they have

    def column(self, name: str) -> LookedUpColumn:
        """Return a property by its name, or `id`."""
        if is_id(self._entity, name):
            return LookedUpColumn(pa.string(), self._take_ids, self._everyone)
        cells = self._cells.get(name)
        if cells is None:
            cells = self._cells[name] = Cells(self._reads.schema, (name,))
        kind = self._reads.schema.field(name).type
        return LookedUpColumn(kind, lambda ordinals: self._take(cells, name, ordinals), self._everyone)

    def id_ranks(self, ordinals: Ordinals | None = None) -> NDArray[np.int64]:
        """Return numbers that compare as the ids do by their UTF-8 bytes, within one answer."""
        ids = self._take_ids(self._everyone() if ordinals is None else ordinals)
        return numbers_of(pc.rank(ids, tiebreaker="dense").cast(pa.int64())).values

    def _everyone(self) -> Ordinals:
        return np.arange(self.size, dtype=np.int32)

    def _take_ids(self, ordinals: Ordinals) -> pa.Array:
        known = len(self._ids)
        found = [self._ids[each] if each < known else None for each in ordinals.tolist()]
        return pa.array(found, pa.string())

    def _take(self, cells: Cells, name: str, ordinals: Ordinals) -> pa.Array:
        unread = cells.unread(ordinals[ordinals < len(self._ids)])
        if len(unread):
            rows = self._reads.look_up(ID, self.ids_of(unread.tolist()), [ID, *cells.names])
            cells.add(self.met(whole(rows[ID])), rows)
            cells.leave_out(unread)
        return cells.take(name, ordinals)

    def _take_in(self, rows: pa.Table) -> Ordinals:
        """Take nodes that were read with what the query asks of them."""
        ordinals = self.met(whole(rows[ID]))
        if self._asked.names:
            self._asked.add(ordinals, rows)
        return ordinals

    def _ordinal(self, node_id: str) -> int:
        found = self._ordinal_by_id.get(node_id)
        if found is None:
            found = self._ordinal_by_id[node_id] = len(self._ids)
            if found >= self.size:
                raise TooMuchToLookUp(f"edges lead to nodes that {self._entity.name} does not have")
            self._ids.append(node_id)
        return found
