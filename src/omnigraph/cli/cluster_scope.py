"""From a binding to many graphs: a cluster as a whole, some of its graphs, or one graph by its storage."""

from omnigraph.base.values import dataclass
from omnigraph.cli.bindings import ScopeKind, find_binding
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.scope import StorageTarget, resolve_storage, storage_at


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterTarget:
    """A cluster, as a directory or a storage root, and the graphs that were named; none means all of them."""

    cluster: str
    graph_ids: tuple[str, ...]


def resolve_graphs(invocation: Invocation) -> ClusterTarget | StorageTarget:
    """Find what this run is about, or refuse with exit code 2; reads no storage yet."""
    binding = find_binding(invocation)
    if binding is None or binding.kind is not ScopeKind.CLUSTER:
        return resolve_storage(invocation)
    flags = invocation.flags
    named = flags.graphs
    if flags.cluster_graph is not None:
        invocation.notices.warn("--cluster-graph is deprecated; use --graph")
        named = (*named, flags.cluster_graph)
    cluster = invocation.config.clusters.get(binding.value, binding.value)
    storage_at(invocation.command, cluster)  # refuses the URL of a server
    return ClusterTarget(cluster=cluster, graph_ids=named)
