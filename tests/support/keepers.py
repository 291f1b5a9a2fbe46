"""A cluster with one graph and its policies, as an apply would leave it."""

from collections.abc import Mapping

from omnigraph.cluster.catalog import publish_blob
from omnigraph.cluster.resources import file_digest, graph_address, policy_address
from omnigraph.cluster.site import ClusterSite
from omnigraph.cluster.state import AppliedResource, Ledger
from support.program import POLICY

SERVER_POLICY = """\
version: 1
groups: { keepers: [act-ines] }
rules: [{ id: lists, allow: { actors: { group: keepers }, actions: [graph_list] } }]
"""
KEEPERS = {"keepers": (POLICY, ("graph.artworks",))}
"""By name: the text of a policy, and what it is bound to."""


def apply_policies(
    root: str, policies: Mapping[str, tuple[str, tuple[str, ...]]] = KEEPERS, graphs: tuple[str, ...] = ("artworks",)
) -> ClusterSite:
    """Write ledger and catalog of a cluster; its graphs are made by whoever needs one."""
    site = ClusterSite.open(root)
    resources = {graph_address(graph): AppliedResource(digest="0" * 64) for graph in graphs}
    for name, (text, applies_to) in policies.items():
        digest = file_digest(text.encode())
        publish_blob(site, policy_address(name), digest, text.encode())
        resources[policy_address(name)] = AppliedResource(digest=digest, applies_to=applies_to)
    site.write_ledger(Ledger(resources=resources), over=site.read_ledger())
    return site
