"""The edges of one type at the nodes that a query has reached: whole lists of neighbours, looked up by either end."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from omnigraph.query.access import Adjacency, Direction, Ordinals, Positions, PropertyTest, Truths
from omnigraph.query.image.buffers import whole
from omnigraph.query.lookups.cells import Cells, LookedUpColumn
from omnigraph.query.lookups.nodes import NodeLookups
from omnigraph.query.lookups.reading import TableReads
from omnigraph.query.run.arrays import distinct_sorted, is_among, numbers_of
from omnigraph.query.typed import ID
from omnigraph.storage.tables import ROW_ID

_ENDS = {Direction.OUT: ("src", "dst"), Direction.IN: ("dst", "src")}
_NONE: Ordinals = np.zeros(0, np.int32)


class _AroundNode(NamedTuple):
    """The edges of one node in one direction: where they lead, ascending, and which they are."""

    targets: Ordinals
    edges: Ordinals
    distinct: Ordinals


_NOBODY = _AroundNode(_NONE, _NONE, _NONE)


class EdgeLookups:
    """Edges by ordinals that are given as they are met, in whichever direction that is."""

    def __init__(
        self, reads: TableReads, names: Sequence[str], *, from_nodes: NodeLookups, to_nodes: NodeLookups
    ) -> None:
        """Take the properties that the query asks for, which are read together with the ends."""
        self._reads = reads
        self.count = self.size = reads.count
        self._nodes = {Direction.OUT: (from_nodes, to_nodes), Direction.IN: (to_nodes, from_nodes)}
        self._around: dict[Direction, dict[int, _AroundNode]] = {direction: {} for direction in Direction}
        self._ordinal_by_row: dict[int, int] = {}
        self._row_ids: list[int] = []
        self._asked = Cells(reads.schema, tuple(dict.fromkeys(("src", "dst", *names))))
        self._cells = dict.fromkeys(self._asked.names, self._asked)

    # --- who is next to whom

    def neighbours(self, node: int, direction: Direction) -> Ordinals:
        """Return the neighbours of one node, ascending."""
        return self._lists([node], direction)[0].distinct

    def expand(self, sources: Ordinals, direction: Direction) -> tuple[Positions, Ordinals]:
        """Return position and neighbour for every neighbour of every source."""
        found = [around.distinct for around in self._lists(sources.tolist(), direction)]
        return _positions(found), np.concatenate([_NONE, *found])

    def expand_edges(self, sources: Ordinals, direction: Direction) -> tuple[Positions, Ordinals, Ordinals]:
        """Return position, neighbour and edge for every edge of every source."""
        found = self._lists(sources.tolist(), direction)
        targets = [around.targets for around in found]
        edges = np.concatenate([_NONE, *(around.edges for around in found)])
        return _positions(targets), np.concatenate([_NONE, *targets]), edges

    def connects(self, sources: Ordinals, targets: Ordinals) -> Truths:
        """Return for every pair whether an edge leads from the one to the other; asked at the end that is known."""
        unread = {
            direction: len({*ends.tolist()} - self._around[direction].keys())
            for direction, ends in ((Direction.OUT, sources), (Direction.IN, targets))
        }
        direction = min(unread, key=lambda each: unread[each])
        near, far = (sources, targets) if direction is Direction.OUT else (targets, sources)
        found = self._lists(near.tolist(), direction)
        width = max(self._nodes[direction][1].size, 1)
        counts = [len(around.distinct) for around in found]
        owners = np.repeat(near.astype(np.int64), counts)
        pairs = distinct_sorted(owners * width + np.concatenate([_NONE, *(around.distinct for around in found)]))
        return is_among(near.astype(np.int64) * width + far, pairs)

    def degrees(self, sources: Ordinals | None, direction: Direction, *, distinct: bool) -> NDArray[np.int64]:
        """Count the neighbours or the edges of nodes."""
        near = self._nodes[direction][0]
        nodes = near.ordinals() if sources is None else sources
        found = self._lists(nodes.tolist(), direction)
        lengths = (len(around.distinct if distinct else around.targets) for around in found)
        counts = np.fromiter(lengths, np.int64, len(nodes))
        return counts if sources is not None else np.pad(counts, (0, near.size - len(counts)))

    def adjacency(self, direction: Direction, *, distinct: bool) -> Adjacency | None:  # noqa: ARG002 — as every access has it
        """Nobody has all of it."""
        return None

    def _lists(self, nodes: Sequence[int], direction: Direction) -> list[_AroundNode]:
        known = self._around[direction]
        unread = [node for node in dict.fromkeys(nodes) if node not in known]
        if unread:
            self._look_up(unread, direction)
        return [known[node] for node in nodes]

    def _look_up(self, nodes: list[int], direction: Direction) -> None:
        (near, far), (near_name, far_name) = self._nodes[direction], _ENDS[direction]
        rows = self._reads.look_up(near_name, near.ids_of(nodes), self._asked.names)
        edges = self._take_in(rows)
        starts, ends = near.met(whole(rows[near_name])), far.met(whole(rows[far_name]))
        order = np.lexsort((edges, ends, starts))
        starts, ends, edges = starts[order], ends[order], edges[order]
        known = self._around[direction]
        known.update(dict.fromkeys(nodes, _NOBODY))
        bounds = np.flatnonzero(np.diff(starts, prepend=-1, append=-1)).tolist() if len(starts) else []
        for begin, end in pairwise(bounds):
            targets = ends[begin:end]
            known[int(starts[begin])] = _AroundNode(targets, edges[begin:end], distinct_sorted(targets))

    # --- what they have

    def ordinals(self) -> Ordinals:
        """Return all that exist, ascending."""
        if len(self._row_ids) < self.count:
            self._take_in(self._reads.scan(self._asked.names, None))
        return np.arange(len(self._row_ids), dtype=np.int32)

    def select(self, tests: Sequence[PropertyTest]) -> Ordinals | None:  # noqa: ARG002 — as every access has it
        """Edges are met along traversals, and their columns are at hand then."""
        return None

    def column(self, name: str) -> LookedUpColumn:
        """Return a property by its name, or `id`, `src` or `dst`."""
        cells = self._cells.get(name)
        if cells is None:
            cells = self._cells[name] = Cells(self._reads.schema, (name,))
        kind = self._reads.schema.field(name).type
        return LookedUpColumn(kind, lambda ordinals: self._take(cells, name, ordinals), self._everyone)

    def id_ranks(self, ordinals: Ordinals | None = None) -> NDArray[np.int64]:
        """Return numbers that compare as the ids do by their UTF-8 bytes, within one answer."""
        ids = self.column(ID).take(self._everyone() if ordinals is None else ordinals)
        return numbers_of(pc.rank(ids, tiebreaker="dense").cast(pa.int64())).values

    def _everyone(self) -> Ordinals:
        return np.arange(self.size, dtype=np.int32)

    def _take(self, cells: Cells, name: str, ordinals: Ordinals) -> pa.Array:
        unread = cells.unread(ordinals[ordinals < len(self._row_ids)])
        if len(unread):
            rows = self._reads.take([self._row_ids[each] for each in unread.tolist()], cells.names)
            cells.add(self._met(rows), rows)
        return cells.take(name, ordinals)

    def _take_in(self, rows: pa.Table) -> Ordinals:
        """Take edges that were read with what the query asks of them."""
        ordinals = self._met(rows)
        self._asked.add(ordinals, rows)
        return ordinals

    def _met(self, rows: pa.Table) -> Ordinals:
        return np.fromiter(map(self._ordinal, rows[ROW_ID].to_pylist()), np.int32, rows.num_rows)

    def _ordinal(self, row_id: int) -> int:
        found = self._ordinal_by_row.get(row_id)
        if found is None:
            found = self._ordinal_by_row[row_id] = len(self._row_ids)
            self._row_ids.append(row_id)
        return found


def _positions(found: list[Ordinals]) -> Positions:
    return np.repeat(np.arange(len(found)), [len(each) for each in found])
