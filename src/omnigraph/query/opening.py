"""How a snapshot is read: from its image in memory, or where that would be too large, from its tables."""

from typing import TYPE_CHECKING

from omnigraph.graphs.snapshot import pinned_state

if TYPE_CHECKING:
    from omnigraph.graphs.snapshot import Snapshot
    from omnigraph.query.access import GraphAccess


def open_image(snapshot: "Snapshot") -> "GraphAccess":
    """Return the image of a snapshot; what earlier ones have had built serves it."""
    from omnigraph.query.image.graph_image import GraphImage

    context, pinned = pinned_state(snapshot)
    return GraphImage(context, pinned, snapshot.catalog)


def open_tables(snapshot: "Snapshot") -> "GraphAccess":
    """Return the tables of a snapshot, read whole where something is asked of them."""
    from omnigraph.query.plain import PlainAccess

    return PlainAccess(snapshot)
