"""What people ask of a graph as a whole."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from omnigraph.catalog.type_names import no_such_type
from omnigraph.errors import EntityNotFound, InvalidTarget
from omnigraph.query.algorithms.whole import Numbers, WholeGraph

if TYPE_CHECKING:
    import pyarrow as pa

    from omnigraph.catalog.model import Catalog, EdgeType, NodeType
    from omnigraph.query.access import GraphAccess

DirectionName = Literal["out", "in", "both"]


class PathNode(NamedTuple):
    """One node of a path."""

    type: str
    id: str


class Algorithms:
    """Algorithms over one snapshot; `edges` names the edge types to follow, by default all of them.

    Nodes are those of the types that these edges connect. Parallel edges count once.
    """

    def __init__(
        self, access: "GraphAccess", catalog: "Catalog", *, tables: "Callable[[], GraphAccess] | None" = None
    ) -> None:
        """Take how the snapshot is read, and how it is read where that needs more memory than images may take."""
        self._access = access
        self._catalog = catalog
        self._tables = tables

    def degree(self, edges: Sequence[str] = (), *, direction: DirectionName = "out") -> "pa.Table":
        """Count the neighbours of every node: columns `type`, `id` and `degree`."""
        graph = self._graph(edges)
        sources, targets = _ways(graph, direction)
        del targets
        return graph.table("degree", np.bincount(sources, minlength=graph.size).astype(np.int64))

    def pagerank(
        self, edges: Sequence[str] = (), *, damping: float = 0.85, tolerance: float = 1e-9, rounds_max: int = 200
    ) -> "pa.Table":
        """Rank nodes by how likely one arrives there: columns `type`, `id` and `rank`, which add up to 1.

        Who stands at a node without a way out goes anywhere. It ends when all ranks together change by less than
        `tolerance`, or after so many rounds.
        """
        if not 0 <= damping < 1:
            raise InvalidTarget(f"damping is a probability below 1, not {damping!r}.")
        graph = self._graph(edges)
        sources, targets = graph.pairs
        count = len(graph.nodes)
        ranks: NDArray[Any] = np.zeros(graph.size, np.float64)
        if not count:
            return graph.table("rank", ranks)
        ways = np.bincount(sources, minlength=graph.size)
        is_end = np.zeros(graph.size, np.bool_)
        is_end[graph.nodes] = ways[graph.nodes] == 0
        share = 1.0 / np.maximum(ways, 1)
        ranks[graph.nodes] = 1.0 / count
        for _ in range(rounds_max):
            arriving = np.bincount(targets, weights=(ranks * share)[sources], minlength=graph.size)
            everywhere = (damping * ranks[is_end].sum() + 1 - damping) / count
            following = damping * arriving
            following[graph.nodes] += everywhere
            change = float(np.abs(following - ranks).sum())
            ranks = following
            if change < tolerance:
                break
        return graph.table("rank", ranks)

    def components(self, edges: Sequence[str] = ()) -> "pa.Table":
        """Say which nodes hang together, whichever way edges point: columns `type`, `id` and `component`.

        Components are numbered from 0, the largest first.
        """
        graph = self._graph(edges)
        sources, targets = graph.pairs
        labels = _least_labels(graph.size, sources, targets)
        own = labels[graph.nodes]
        sizes = np.bincount(own, minlength=graph.size)
        roots = np.flatnonzero(sizes)
        order = np.lexsort((roots, -sizes[roots]))
        numbers = np.zeros(graph.size, np.int64)
        numbers[roots[order]] = np.arange(len(roots))
        return graph.table("component", numbers[labels])

    def shortest_path(
        self,
        source: tuple[str, str],
        target: tuple[str, str],
        edges: Sequence[str] = (),
        *,
        direction: DirectionName = "out",
        hops_max: int | None = None,
    ) -> list[PathNode] | None:
        """Return the nodes of a shortest path, both ends included, or None where none leads there.

        A node is `(type, id)`. Of several paths as short, it is the one whose nodes come first by type and number of
        the graph, so that asking twice gives the same.
        """
        graph = self._graph(edges)
        start, end = (self._number(graph, node) for node in (source, target))
        sources, targets = _ways(graph, direction)
        parents = _search(graph.size, sources, targets, start, end, hops_max)
        if parents is None:
            return None
        path = [end]
        while path[-1] != start:
            path.append(int(parents[path[-1]]))
        named = graph.named(np.array(path[::-1], np.int64))
        return [PathNode(*pair) for pair in zip(named["type"].to_pylist(), named["id"].to_pylist(), strict=True)]

    def _number(self, graph: WholeGraph, node: tuple[str, str]) -> int:
        if not isinstance(node, tuple) or len(node) != 2 or not all(isinstance(part, str) for part in node):
            raise InvalidTarget(f"A node is (type, id), as in ('Person', 'ada'), not {node!r}.")
        found = graph.number(*node)
        if found is None:
            raise EntityNotFound(f"There is no node {node[1]!r} of type {node[0]} here.", selector=f"{node[0]}.id")
        return found

    def _graph(self, names: Sequence[str]) -> WholeGraph:
        chosen = self._chosen([names] if isinstance(names, str) else names)
        touched = {name for edge in chosen for name in (edge.from_type, edge.to_type)}
        nodes: list[NodeType] = [
            entity for name, entity in sorted(self._catalog.node_by_name.items()) if name in touched or not names
        ]
        from omnigraph.query.image.shelf import DoesNotFit

        try:
            return WholeGraph(self._access, nodes, chosen).read()
        except DoesNotFit:
            if self._tables is None:
                raise
            self._access = self._tables()
            return WholeGraph(self._access, nodes, chosen)

    def _chosen(self, names: Sequence[str]) -> "list[EdgeType]":
        known = {edge.name: edge for edge in self._catalog.edge_by_folded_name.values()}
        for name in names:
            if name not in known:
                raise no_such_type(name, [edge.table_key for edge in known.values()])
        return [known[name] for name in sorted(set(names) or known)]


def _ways(graph: WholeGraph, direction: DirectionName) -> tuple[Numbers, Numbers]:
    """Return pairs in the order of where they start."""
    sources, targets = graph.pairs
    match direction:
        case "out":
            return sources, targets
        case "in":
            order = np.lexsort((sources, targets))
            return targets[order], sources[order]
        case "both":
            packed = np.concatenate([sources * graph.size + targets, targets * graph.size + sources])
            packed.sort()
            kept = np.ones(len(packed), np.bool_)
            kept[1:] = packed[1:] != packed[:-1]
            return packed[kept] // max(graph.size, 1), packed[kept] % max(graph.size, 1)
    raise InvalidTarget(f"direction is 'out', 'in' or 'both', not {direction!r}.")


def _least_labels(size: int, sources: Numbers, targets: Numbers) -> Numbers:
    """Label every node by the least node of its component: labels hook onto lesser ones, then chains are cut short."""
    labels = np.arange(size, dtype=np.int64)
    while True:
        ends = np.minimum(labels[sources], labels[targets])
        hooked = labels.copy()
        np.minimum.at(hooked, labels[sources], ends)
        np.minimum.at(hooked, labels[targets], ends)
        while True:
            shorter = hooked[hooked]
            if (shorter == hooked).all():
                break
            hooked = shorter
        if (hooked == labels).all():
            return labels
        labels = hooked


def _search(
    size: int, sources: Numbers, targets: Numbers, start: int, end: int, hops_max: int | None
) -> NDArray[np.int64] | None:
    """Go from a start outwards, hop by hop; return from where each node was reached, or None if the end was not."""
    offsets = np.searchsorted(sources, np.arange(size + 1))
    parents = np.full(size, -1, np.int64)
    parents[start] = start
    frontier, hops = np.array([start], np.int64), 0
    while len(frontier) and parents[end] < 0 and (hops_max is None or hops < hops_max):
        counts = offsets[frontier + 1] - offsets[frontier]
        begins = np.repeat(offsets[frontier] - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts)
        reached = targets[begins + np.arange(counts.sum())]
        origins = np.repeat(frontier, counts)
        is_new = parents[reached] < 0
        # The last to write wins, so that the least origin has to be it.
        parents[reached[is_new][::-1]] = origins[is_new][::-1]
        found = np.zeros(size, np.bool_)
        found[reached[is_new]] = True
        frontier, hops = np.flatnonzero(found), hops + 1
    return parents if parents[end] >= 0 else None
