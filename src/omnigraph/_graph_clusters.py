"""Opening graphs through the cluster that they belong to."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from omnigraph.base.events import Events, ignore_events

if TYPE_CHECKING:
    from omnigraph.graph import Graph


def open_cluster_graph(
    cluster: str,
    graph_id: str,
    *,
    read_only: bool = False,
    storage_options: Mapping[str, str] | None = None,
    events: Events = ignore_events,
) -> "Graph":
    """Open a graph that was applied in a cluster, a directory or storage root, with the policy that is bound to it.

    With a policy, whatever writes needs an `actor` to whom it allows that, also on this machine.
    """
    from omnigraph.cluster.direct import applied_graph
    from omnigraph.graph import open_graph

    uri, policy = applied_graph(cluster, graph_id, read_only=read_only, storage_options=storage_options, events=events)
    return open_graph(uri, read_only=read_only, policy=policy, storage_options=storage_options, events=events)
