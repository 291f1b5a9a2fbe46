"""The image of one snapshot: what was built for others is shared, what is missing is built when it is asked for."""

from threading import Lock

from omnigraph.catalog.model import Catalog, EdgeType, NodeType, TableKey
from omnigraph.graphs.context import GraphContext
from omnigraph.manifest.snapshot import GraphSnapshot
from omnigraph.query.image.entities import EdgeImage, NodeImage
from omnigraph.query.image.images import Images, images_of


class GraphImage:
    """One snapshot in memory; several threads may share it. Raises `DoesNotFit` for what is larger than allowed."""

    def __init__(
        self, context: GraphContext, snapshot: GraphSnapshot, catalog: Catalog, images: Images | None = None
    ) -> None:
        self._context = context
        self._snapshot = snapshot
        self._catalog = catalog
        self._images = images or images_of(context)
        self._nodes: dict[str, NodeImage] = {}
        self._edges: dict[str, EdgeImage] = {}
        self._lock = Lock()

    def nodes(self, entity: NodeType) -> NodeImage:
        """Return the nodes of a type."""
        found = self._nodes.get(entity.name)
        if found is not None:
            return found
        pin = self._snapshot.pins[entity.table_key]
        state = self._images.nodes(self._context, pin)
        new = NodeImage(self._images, self._context, state, entity)
        with self._lock:
            return self._nodes.setdefault(entity.name, new)

    def edges(self, entity: EdgeType) -> EdgeImage:
        """Return the edges of a type."""
        found = self._edges.get(entity.name)
        if found is not None:
            return found
        types = self._catalog.type_by_table_key
        ends = [self.nodes(_node_type(types[TableKey(f"node:{name}")])) for name in (entity.from_type, entity.to_type)]
        pin = self._snapshot.pins[entity.table_key]
        state = self._images.edges(self._context, pin, ends[0].state, ends[1].state)
        new = EdgeImage(self._images, self._context, state, entity, from_nodes=ends[0], to_nodes=ends[1])
        with self._lock:
            return self._edges.setdefault(entity.name, new)


def _node_type(entity: object) -> NodeType:
    assert isinstance(entity, NodeType)
    return entity
