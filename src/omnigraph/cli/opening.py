"""Opening the graph that a run addresses; the first thing here that imports Lance."""

from typing import TYPE_CHECKING

from omnigraph.cli.invocation import Invocation
from omnigraph.cli.scope import resolve_storage

if TYPE_CHECKING:
    from omnigraph.graph import Graph


def open_to_read(invocation: Invocation) -> "Graph":
    """Find and open the graph without writing anything, not even what recovery would."""
    target = resolve_storage(invocation)
    import omnigraph

    return omnigraph.open(target.uri, read_only=True)
