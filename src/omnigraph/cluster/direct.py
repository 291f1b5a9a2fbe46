"""Reaching a graph by its storage when it may belong to a cluster: what is refused there, and what its writes may do.

The first test is one of text alone, so a graph that does not lie where clusters keep theirs costs nothing. Reading,
maintenance and recovery never come here: a broken catalog cannot stop a repair.
"""

from collections.abc import Mapping
from functools import cache, cached_property
from typing import TYPE_CHECKING

from omnigraph.base.cluster_shape import cluster_shape
from omnigraph.base.events import Events, Warned, ignore_events
from omnigraph.catalog.admitting import FindBlobBases, no_blob_bases
from omnigraph.catalog.blob_bases import BlobBases
from omnigraph.cluster.ledger import cluster_root_for_graph_uri
from omnigraph.errors import ClusterManaged, PolicyDenied
from omnigraph.graphs.authorizing import Authorizer, PolicyAction

if TYPE_CHECKING:  # imported when there is a cluster
    from omnigraph.cluster.policies import AppliedPolicy
    from omnigraph.cluster.site import ClusterSite
    from omnigraph.policy.engine import PolicyEngine

StorageOptions = Mapping[str, str] | None


def refuse_cluster_managed(uri: str, *, remedy: str) -> None:
    """Refuse what only the control plane of a cluster may do to its graphs."""
    root = cluster_root_for_graph_uri(uri)
    if root is not None:
        raise ClusterManaged(
            f"{uri} belongs to the cluster at {root}: {remedy} and run `omnigraph cluster apply`. Nothing was changed.",
            uri=uri,
            root=root,
        )


def policy_at(
    uri: str, *, storage_options: StorageOptions = None, events: Events = ignore_events
) -> "PolicyOfCluster | None":
    """Return who judges writes to a graph, by the address that its store has: None where no cluster could be.

    Nothing is read before somebody writes.
    """
    shape = cluster_shape(uri)
    return None if shape is None else PolicyOfCluster(uri, *shape, storage_options=storage_options, events=events)


def applied_graph(
    cluster: str, graph_id: str, *, read_only: bool, storage_options: StorageOptions, events: Events
) -> tuple[str, Authorizer | None]:
    """Find an applied graph of a cluster: its address, and the policy that is bound to it, which a reader needs not."""
    from omnigraph.cluster.ledger import AppliedGraphs, storage_root
    from omnigraph.cluster.policies import applied_ledger, engine_of, policy_bound_to
    from omnigraph.cluster.site import ClusterSite

    site = ClusterSite.open(storage_root(cluster, events), storage_options=storage_options)
    ledger = applied_ledger(site, cluster)
    uri = AppliedGraphs(cluster=cluster, root=site.root, graph_ids=ledger.graph_ids).storage_uri(graph_id)
    bound = None if read_only else policy_bound_to(ledger, graph_id)
    return uri, None if bound is None else engine_of(site, bound, graph_id)


def blob_bases_at(uri: str, *, storage_options: StorageOptions = None) -> FindBlobBases:
    """Return who knows to what the blobs of a graph may refer, by the address that its store has.

    Nothing is read before somebody writes to a graph that has blobs. Whoever has the storage itself may use every base.
    """
    shape = cluster_shape(uri)
    if shape is None:
        return no_blob_bases

    @cache
    def find() -> BlobBases | None:
        from omnigraph.cluster.blob_bases import bases_for
        from omnigraph.cluster.resources import BlobScope, graph_address
        from omnigraph.cluster.site import ClusterSite

        root, graph_id = shape
        stored = ClusterSite.open(root, storage_options=storage_options).read_ledger(is_strict=False)
        entry = None if stored is None else stored.ledger.resources.get(graph_address(graph_id))
        return None if entry is None else bases_for(entry.external_blob_policy, tuple(BlobScope))

    return find


class PolicyOfCluster:
    """Asks the bundle that a cluster has bound to a graph; looks for it once, at the first write.

    Storage can be opened by whoever has its credentials, under any name. So where nobody says who writes, shared
    storage is refused, and a graph on this machine is written to with a warning: a new cluster must be filled by
    somebody before anybody has a name.
    """

    def __init__(self, uri: str, root: str, graph_id: str, *, storage_options: StorageOptions, events: Events) -> None:
        self._uri = uri
        self._root = root
        self._graph_id = graph_id
        self._storage_options = storage_options
        self._events = events
        self._has_warned = False
        self._engine: PolicyEngine | None = None

    def authorize(
        self, action: PolicyAction, *, actor: str | None, branch: str | None = None, target_branch: str | None = None
    ) -> None:
        """Return if the write may go on; raise `PolicyDenied` or `PolicyUnavailable` otherwise."""
        bound = self._bound
        if bound is None:
            return
        if actor is not None and actor.strip():
            self._engine_of(bound).authorize(action, actor=actor, branch=branch, target_branch=target_branch)
        elif "://" in self._uri:
            raise PolicyDenied(
                f"policy denied action '{action}' on {self._uri}: no actor was named, and the storage is shared. Say "
                "who writes: --as <actor> or operator.actor on the command line, actor=… in Python."
            )
        else:
            self._warn(bound)

    def _warn(self, bound: "AppliedPolicy") -> None:
        if not self._has_warned:
            self._has_warned = True
            message = (
                f"the policy '{bound.name}' of {self._uri} was not asked, because nobody said who writes; pass --as "
                "<actor>, or set operator.actor"
            )
            self._events(Warned(message=message))

    @cached_property
    def _site(self) -> "ClusterSite":
        from omnigraph.cluster.site import ClusterSite

        return ClusterSite.open(self._root, storage_options=self._storage_options)

    @cached_property
    def _bound(self) -> "AppliedPolicy | None":
        """What the ledger binds to the graph; None without a ledger, because then there is no cluster."""
        stored = self._site.read_ledger(is_strict=False)
        if stored is None:
            return None
        from omnigraph.cluster.policies import policy_bound_to

        return policy_bound_to(stored.ledger, self._graph_id)

    def _engine_of(self, bound: "AppliedPolicy") -> "PolicyEngine":
        if self._engine is None:
            from omnigraph.cluster.policies import engine_of

            self._engine = engine_of(self._site, bound, self._graph_id)
        return self._engine
