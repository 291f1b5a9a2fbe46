"""Opening graphs through the cluster that they belong to."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from omnigraph.base.cluster_shape import cluster_shape
from omnigraph.base.events import Events, ignore_events

if TYPE_CHECKING:
    from omnigraph.catalog.admitting import FindBlobBases
    from omnigraph.graph import Graph
    from omnigraph.graphs.authorizing import Authorizer
    from omnigraph.graphs.context import GraphContext


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


def bound_to_cluster(
    context: "GraphContext", *, is_judged: bool, options: Mapping[str, str] | None, events: Events
) -> "GraphContext":
    """Bind a graph to what was applied to the cluster that it may belong to: a policy, and the bases of its blobs.

    One that is judged already keeps its judge. A graph that does not lie where clusters keep theirs costs nothing.
    """
    uri = context.store.uri
    if cluster_shape(uri) is None:
        return context
    from omnigraph.cluster.direct import blob_bases_at, policy_at

    policy = None if is_judged else policy_at(uri, storage_options=options, events=events)
    bases = blob_bases_at(uri, storage_options=options)
    return replace(context, authorizer=policy or context.authorizer, find_blob_bases=bases)


def open_served_graph(
    uri: str,
    *,
    policy: "Authorizer",
    embed_environ: Mapping[str, str] | None,
    find_blob_bases: "FindBlobBases",
) -> "Graph":
    """Open a graph for a server, which says itself who may write and to what blobs may refer."""
    from omnigraph.engine.local import LocalEngine
    from omnigraph.graph import open_context
    from omnigraph.graphs.context import GraphContext
    from omnigraph.storage.store import GraphStore

    context = GraphContext.over(GraphStore.open(uri), LocalEngine(), policy, embed_environ, find_blob_bases)
    return open_context(context, read_only=False, recover=True, events=ignore_events)
