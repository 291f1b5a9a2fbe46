"""The plainest access to a snapshot: whole columns in memory, in the order in which Lance returns rows.

It is what every other access is compared with, and what answers where nothing faster does. What is asked of a few rows
is taken from the table, and what is searched in never becomes a whole column.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from omnigraph.catalog.model import EdgeType, EntityType, NodeType, TableKey
from omnigraph.graphs.snapshot import stored_table
from omnigraph.query.access import (
    MISSING,
    Adjacency,
    Codes,
    Direction,
    Numbers,
    Ordinals,
    Positions,
    PropertyTest,
    Truths,
)
from omnigraph.query.image.rows import TableRows
from omnigraph.query.image.scanning import FarColumn, read_edge_rows
from omnigraph.query.run.arrays import distinct_sorted, indices_of, numbers_of
from omnigraph.storage.tables import Table

if TYPE_CHECKING:
    from omnigraph.graphs.snapshot import Snapshot

_WORDS_MAX = 65_536
_FEW_SHARE = 64
"""Where no more than one in so many is asked for, it is taken from the table."""
_FAR_MIN = 1_000
"""A column that has fewer values is read as a whole."""


class PlainAccess:
    """All of a snapshot that is asked for, read once."""

    def __init__(self, snapshot: "Snapshot") -> None:
        self._snapshot = snapshot
        self._lock = RLock()
        self._nodes: dict[TableKey, PlainNodes] = {}
        self._edges: dict[TableKey, PlainEdges] = {}

    def nodes(self, entity: NodeType) -> "PlainNodes":
        """Return the nodes of a type."""
        with self._lock:
            if entity.table_key not in self._nodes:
                self._nodes[entity.table_key] = PlainNodes(self._snapshot, entity)
            return self._nodes[entity.table_key]

    def edges(self, entity: EdgeType) -> "PlainEdges":
        """Return the edges of a type."""
        with self._lock:
            if entity.table_key not in self._edges:
                nodes = self._snapshot.catalog.node_by_name
                ends = self.nodes(nodes[entity.from_type]), self.nodes(nodes[entity.to_type])
                self._edges[entity.table_key] = PlainEdges(self._snapshot, entity, *ends)
            return self._edges[entity.table_key]


class PlainColumn:
    """One column, as Arrow has it once much of it was asked for."""

    def __init__(self, read: Callable[[], pa.Array], far: Callable[[], FarColumn], count: int) -> None:
        self._read = read
        self._far = far
        self._count = count

    def one(self, ordinal: int) -> Any:
        """Return one value."""
        value = self.take(np.array([ordinal], np.int32))[0]
        if not value.is_valid:
            return None
        return value.value if pa.types.is_temporal(value.type) else value.as_py()

    def take(self, ordinals: Ordinals) -> pa.Array:
        """Return values in the order of the ordinals."""
        if "_values" not in self.__dict__ and _are_few(ordinals, self._count):
            return self._far().take(ordinals)
        return self._values.take(indices_of(ordinals))

    def numbers(self, ordinals: Ordinals | None = None) -> Numbers:
        """Return values of fixed width."""
        if ordinals is not None and _are_few(ordinals, self._count):
            return numbers_of(self.take(ordinals))
        values, valid = self._numbers
        if ordinals is None:
            return self._numbers
        return Numbers(values[ordinals], None if valid is None else valid[ordinals])

    def codes(self, ordinals: Ordinals | None = None) -> Codes | None:
        """Return strings as codes."""
        if self._codes is None or ordinals is None:
            return self._codes
        return Codes(self._codes.codes[ordinals], self._codes.words)

    @cached_property
    def _values(self) -> pa.Array:
        return self._read()

    @cached_property
    def _numbers(self) -> Numbers:
        return numbers_of(self._values)

    @cached_property
    def _codes(self) -> Codes | None:
        encoded = self._values.dictionary_encode()
        if len(encoded.dictionary) > _WORDS_MAX:
            return None
        order = numbers_of(pc.sort_indices(encoded.dictionary).cast(pa.int64())).values
        rank = np.empty(len(order), np.int32)
        rank[order] = np.arange(len(order), dtype=np.int32)
        places, valid = numbers_of(encoded.indices)
        codes = np.full(len(places), MISSING, np.int32)
        present = slice(None) if valid is None else valid
        codes[present] = rank[places[present]]
        return Codes(codes, encoded.dictionary.take(indices_of(order)))


class _PlainEntities:
    """What nodes and edges share."""

    def __init__(self, snapshot: "Snapshot", entity: EntityType) -> None:
        self._table = snapshot.table(entity.table_key)
        self._snapshot = snapshot
        self._table_key = entity.table_key
        self._columns: dict[str, PlainColumn] = {}
        self._lock = RLock()
        self.count = self._table.pin.row_count

    @property
    def size(self) -> int:
        """There are no gaps."""
        return self.count

    def ordinals(self) -> Ordinals:
        """Return all that exist."""
        return np.arange(self.count, dtype=np.int32)

    def column(self, name: str) -> PlainColumn:
        """Return a property by its name."""
        with self._lock:
            if name not in self._columns:
                self._columns[name] = PlainColumn(lambda: self._whole(name), lambda: self._far(name), self.count)
            return self._columns[name]

    def id_ranks(self, ordinals: Ordinals | None = None) -> NDArray[np.int64]:
        """Return numbers that compare as the ids do."""
        if ordinals is not None and _are_few(ordinals, self.count):
            return _ranks(self.column("id").take(ordinals))
        return self._id_ranks if ordinals is None else self._id_ranks[ordinals]

    def of_row_ids(self, row_ids: NDArray[np.int64]) -> Ordinals:
        """Return the entities that the table knows by row ids."""
        return self._rows.ordinals_of(row_ids)

    def select(self, tests: Sequence[PropertyTest]) -> Ordinals | None:
        """Leave it to the columns."""
        del tests
        return None

    def _whole(self, name: str) -> pa.Array:
        read = self._table.to_arrow([name]).column(0)
        return pa.concat_arrays(read.chunks) if read.num_chunks else _empty(read)

    def _far(self, name: str) -> FarColumn:
        return FarColumn(self._stored, self._rows, name)

    @cached_property
    def _stored(self) -> Table:
        return stored_table(self._snapshot, self._table_key)

    @cached_property
    def _rows(self) -> TableRows:
        """By which row id the table knows each of them: they are numbered in the order of a scan, too."""
        return TableRows(read_edge_rows(self._stored))

    @cached_property
    def _ids(self) -> pa.Array:
        return self.column("id").take(self.ordinals())

    @cached_property
    def _id_ranks(self) -> NDArray[np.int64]:
        return _ranks(self._ids)


class PlainNodes(_PlainEntities):
    """The nodes of one type."""

    def find(self, node_id: str) -> int:
        """Return the ordinal of an id."""
        return self._ordinal_by_id.get(node_id, MISSING)

    def find_many(self, node_ids: Sequence[str]) -> Ordinals:
        """Return the ordinals of ids."""
        return np.fromiter(map(self.find, node_ids), np.int32, len(node_ids))

    @cached_property
    def _ordinal_by_id(self) -> dict[str, int]:
        return {node_id: ordinal for ordinal, node_id in enumerate(self._ids.to_pylist())}

    def searched(self, name: str, *, is_whole: bool) -> FarColumn:  # noqa: ARG002 — as every access has it
        """Return a text or vectors as the table has them."""
        return self._far(name)

    def words(self, name: str, *, is_indexed: Callable[[], bool]) -> None:
        """Keep none: there is no memory for them."""


class PlainEdges(_PlainEntities):
    """The edges of one type."""

    def __init__(self, snapshot: "Snapshot", entity: EdgeType, sources: PlainNodes, targets: PlainNodes) -> None:
        super().__init__(snapshot, entity)
        self._ends = {Direction.OUT: (sources, "src"), Direction.IN: (targets, "dst")}
        self._adjacencies: dict[tuple[Direction, bool], Adjacency] = {}

    def adjacency(self, direction: Direction, *, distinct: bool) -> Adjacency:
        """Return the whole adjacency."""
        with self._lock:
            if (direction, distinct) not in self._adjacencies:
                self._adjacencies[direction, distinct] = self._build(direction, distinct=distinct)
            return self._adjacencies[direction, distinct]

    def neighbours(self, node: int, direction: Direction) -> Ordinals:
        """Return the neighbours of one node."""
        offsets, targets, _ = self.adjacency(direction, distinct=True)
        return targets[offsets[node] : offsets[node + 1]]

    def expand(self, sources: Ordinals, direction: Direction) -> tuple[Positions, Ordinals]:
        """Return position and neighbour for every neighbour of every source."""
        adjacency = self.adjacency(direction, distinct=True)
        positions, places = _gathered(adjacency.offsets, sources)
        return positions, adjacency.targets[places]

    def expand_edges(self, sources: Ordinals, direction: Direction) -> tuple[Positions, Ordinals, Ordinals]:
        """Return position, neighbour and edge for every edge of every source."""
        adjacency = self.adjacency(direction, distinct=False)
        assert adjacency.edges is not None
        positions, places = _gathered(adjacency.offsets, sources)
        return positions, adjacency.targets[places], adjacency.edges[places]

    def connects(self, sources: Ordinals, targets: Ordinals) -> Truths:
        """Return for every pair whether an edge leads from the one to the other."""
        if not self.count:
            return np.zeros(len(sources), np.bool_)
        width = max(self._ends[Direction.IN][0].size, 1)
        asked = np.asarray(sources, np.int64) * width + targets
        places = np.searchsorted(self._pairs, asked)
        places[places == len(self._pairs)] = 0
        found: Truths = self._pairs[places] == asked
        return found

    def degrees(self, sources: Ordinals | None, direction: Direction, *, distinct: bool) -> NDArray[np.int64]:
        """Count the neighbours or the edges of nodes."""
        offsets = self.adjacency(direction, distinct=distinct).offsets
        return np.diff(offsets) if sources is None else offsets[sources + 1] - offsets[sources]

    @cached_property
    def _pairs(self) -> NDArray[np.int64]:
        width = max(self._ends[Direction.IN][0].size, 1)
        return distinct_sorted(self._endpoints(Direction.OUT).astype(np.int64) * width + self._endpoints(Direction.IN))

    def _endpoints(self, direction: Direction) -> Ordinals:
        nodes, name = self._ends[direction]
        return nodes.find_many(self.column(name).take(self.ordinals()).to_pylist())

    def _build(self, direction: Direction, *, distinct: bool) -> Adjacency:
        other = Direction.IN if direction is Direction.OUT else Direction.OUT
        starts, ends = self._endpoints(direction), self._endpoints(other)
        order = np.lexsort((ends, starts)).astype(np.int32)
        starts, ends = starts[order], ends[order]
        if distinct and len(order):
            is_new = np.ones(len(order), np.bool_)
            is_new[1:] = (starts[1:] != starts[:-1]) | (ends[1:] != ends[:-1])
            starts, ends = starts[is_new], ends[is_new]
        counts = np.bincount(starts, minlength=self._ends[direction][0].size)
        offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
        return Adjacency(offsets, ends, None if distinct else order)


def _gathered(offsets: NDArray[np.int64], sources: Ordinals) -> tuple[Positions, NDArray[np.int64]]:
    """Return for all neighbours of the sources the position of their source and their own place."""
    starts = offsets[sources]
    counts = offsets[sources + 1] - starts
    positions = np.repeat(np.arange(len(sources)), counts)
    firsts = np.cumsum(counts) - counts
    return positions, np.arange(len(positions)) + np.repeat(starts - firsts, counts)


def _are_few(ordinals: Ordinals, count: int) -> bool:
    return count >= _FAR_MIN and len(ordinals) * _FEW_SHARE <= count


def _ranks(ids: pa.Array) -> NDArray[np.int64]:
    return np.asarray(numbers_of(pc.rank(ids, tiebreaker="dense").cast(pa.int64())).values, np.int64)


def _empty(column: pa.ChunkedArray) -> pa.Array:
    return pa.array([], column.type)
