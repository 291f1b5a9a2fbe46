"""Nodes of several types as one graph: every node has a number, every edge is a pair of numbers."""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from omnigraph.query.access import Direction, GraphAccess
from omnigraph.query.run.arrays import arrow_of, distinct_sorted

if TYPE_CHECKING:
    from omnigraph.catalog.model import EdgeType, NodeType

Numbers = NDArray[np.int64]


class WholeGraph:
    """The nodes that some edge types connect, and those edges; parallel edges count once."""

    def __init__(self, access: GraphAccess, nodes: "Sequence[NodeType]", edges: "Sequence[EdgeType]") -> None:
        self._access = access
        self._types = tuple(nodes)
        self._edges = tuple(edges)
        sizes = [access.nodes(entity).size for entity in self._types]
        starts = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
        self._start = {entity.name: int(start) for entity, start in zip(self._types, starts, strict=False)}
        self.size = int(starts[-1])
        """One more than the largest number; not every number below it is a node."""

    def read(self) -> "WholeGraph":
        """Read all nodes and edges now, rather than when they are asked for."""
        _ = self.nodes, self.pairs
        return self

    @cached_property
    def nodes(self) -> Numbers:
        """The numbers of all nodes, ascending."""
        found = [
            self._access.nodes(entity).ordinals().astype(np.int64) + self._start[entity.name] for entity in self._types
        ]
        return np.concatenate(found) if found else np.empty(0, np.int64)

    @cached_property
    def pairs(self) -> tuple[Numbers, Numbers]:
        """Every edge from where to where, in the order of where from, each pair once."""
        packed = [self._pairs(edge) for edge in self._edges]
        joined = distinct_sorted(np.concatenate(packed)) if packed else np.empty(0, np.int64)
        return joined // self.size if self.size else joined, joined % self.size if self.size else joined

    def number(self, type_name: str, node_id: str) -> int | None:
        """Return the number of a node, or None if there is no such node."""
        entity = next((entity for entity in self._types if entity.name == type_name), None)
        if entity is None:
            return None
        found = self._access.nodes(entity).find(node_id)
        return None if found < 0 else self._start[type_name] + found

    def named(self, numbers: Numbers) -> dict[str, pa.Array]:
        """Return the type and the id of each node."""
        types, ids = np.empty(len(numbers), object), np.empty(len(numbers), object)
        for entity in self._types:
            start = self._start[entity.name]
            nodes = self._access.nodes(entity)
            places = np.flatnonzero((numbers >= start) & (numbers < start + nodes.size))
            if len(places):
                types[places] = entity.name
                ids[places] = nodes.column("id").take((numbers[places] - start).astype(np.int32)).to_pylist()
        return {"type": pa.array(types.tolist(), pa.string()), "id": pa.array(ids.tolist(), pa.string())}

    def table(self, name: str, values: NDArray[np.float64] | Numbers) -> pa.Table:
        """Return a value of every node as a table."""
        chosen = values[self.nodes]
        kind = pa.float64() if chosen.dtype.kind == "f" else pa.int64()
        return pa.table({**self.named(self.nodes), name: arrow_of(chosen, kind)})

    def _pairs(self, edge: "EdgeType") -> Numbers:
        access, start = self._access.edges(edge), (self._start[edge.from_type], self._start[edge.to_type])
        found = access.adjacency(Direction.OUT, distinct=True)
        if found is not None:
            sources = np.repeat(np.arange(len(found.offsets) - 1, dtype=np.int64), np.diff(found.offsets))
            targets = found.targets.astype(np.int64)
        else:
            entity = next(entity for entity in self._types if entity.name == edge.from_type)
            nodes = self._access.nodes(entity).ordinals()
            places, ends = access.expand(nodes, Direction.OUT)
            sources, targets = nodes[places].astype(np.int64), ends.astype(np.int64)
        return (sources + start[0]) * self.size + targets + start[1]
