"""One snapshot, of which only what a query reaches is read: keys, neighbours and properties, a few at a time.

It serves one run of one query. What a step needs is asked for in one look-up, whether or not there is an index: without
one, and for rows that are newer than it, Lance looks through the table.
"""

from collections.abc import Collection, Mapping

from omnigraph.catalog.model import Catalog, EdgeType, EntityType, NodeType, TableKey
from omnigraph.graphs.context import GraphContext
from omnigraph.manifest.snapshot import GraphSnapshot
from omnigraph.query.lookups.edges import EdgeLookups
from omnigraph.query.lookups.nodes import NodeLookups
from omnigraph.query.lookups.reading import Allowance, TableReads


class GraphLookups:
    """Raises `TooMuchToLookUp` when a query reaches more than its allowance."""

    def __init__(
        self,
        context: GraphContext,
        snapshot: GraphSnapshot,
        catalog: Catalog,
        *,
        asked: Mapping[TableKey, Collection[str]],
        allowance: Allowance | None = None,
    ) -> None:
        """Take the properties that the query asks for, by type."""
        self.allowance = allowance or Allowance()
        self._context = context
        self._snapshot = snapshot
        self._catalog = catalog
        self._asked = asked
        self._nodes: dict[TableKey, NodeLookups] = {}
        self._edges: dict[TableKey, EdgeLookups] = {}

    def nodes(self, entity: NodeType) -> NodeLookups:
        """Return the nodes of a type."""
        found = self._nodes.get(entity.table_key)
        if found is None:
            found = NodeLookups(entity, self._reads(entity), self._names(entity))
            self._nodes[entity.table_key] = found
        return found

    def edges(self, entity: EdgeType) -> EdgeLookups:
        """Return the edges of a type."""
        found = self._edges.get(entity.table_key)
        if found is None:
            ends = (self._catalog.node_by_name[name] for name in (entity.from_type, entity.to_type))
            from_nodes, to_nodes = map(self.nodes, ends)
            found = EdgeLookups(self._reads(entity), self._names(entity), from_nodes=from_nodes, to_nodes=to_nodes)
            self._edges[entity.table_key] = found
        return found

    def _reads(self, entity: EntityType) -> TableReads:
        return TableReads(self._context, self._snapshot.pins[entity.table_key], self.allowance)

    def _names(self, entity: EntityType) -> list[str]:
        return sorted(self._asked.get(entity.table_key, ()))
