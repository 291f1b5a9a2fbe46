"""How a snapshot is read: from its image in memory, by look-ups in its tables, or from whole tables."""

from typing import TYPE_CHECKING

from omnigraph.graphs.snapshot import pinned_state

if TYPE_CHECKING:
    from omnigraph.graphs.snapshot import Snapshot
    from omnigraph.query.access import GraphAccess
    from omnigraph.query.lookups.graph_lookups import GraphLookups
    from omnigraph.query.lookups.reading import Allowance
    from omnigraph.query.typed import CheckedRead


def open_image(snapshot: "Snapshot") -> "GraphAccess":
    """Return the image of a snapshot; what earlier ones have had built serves it."""
    from omnigraph.query.image.graph_image import GraphImage

    context, pinned = pinned_state(snapshot)
    return GraphImage(context, pinned, snapshot.catalog)


def open_tables(snapshot: "Snapshot") -> "GraphAccess":
    """Return the tables of a snapshot, read whole where something is asked of them."""
    from omnigraph.query.plain import PlainAccess

    return PlainAccess(snapshot)


def open_lookups(snapshot: "Snapshot", read: "CheckedRead", allowance: "Allowance | None" = None) -> "GraphLookups":
    """Return a snapshot of which one run of a read looks up what it reaches."""
    from omnigraph.query.lookups.graph_lookups import GraphLookups
    from omnigraph.query.plan.reading import names_read

    context, pinned = pinned_state(snapshot)
    return GraphLookups(context, pinned, snapshot.catalog, asked=names_read(read), allowance=allowance)
