"""The policies that were applied to a cluster: which is bound to what, and their text as the catalog keeps it.

What counts is the applied copy: a file beside `cluster.yaml` says nothing until it is applied.
"""

from collections.abc import Mapping

from omnigraph.base.values import dataclass
from omnigraph.cluster.catalog import BlobState, read_blob
from omnigraph.cluster.resources import CLUSTER_SCOPE, ResourceKind, graph_address, name_of
from omnigraph.cluster.site import ClusterSite
from omnigraph.cluster.state import Ledger
from omnigraph.errors import ClusterStateMissing, PolicyUnavailable
from omnigraph.policy.actions import BundleKind
from omnigraph.policy.engine import PolicyEngine

_RESTORE = "Run `omnigraph cluster refresh` and then `omnigraph cluster apply`, which puts it back."
_PROBLEMS: Mapping[BlobState, str] = {
    BlobState.MISSING: "is missing",
    BlobState.ALTERED: "was altered: it does not have the digest that the ledger has for it",
    BlobState.UNREADABLE: "cannot be read",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedPolicy:
    """One bundle of the ledger."""

    address: str
    digest: str | None
    """None if its text was lost."""
    applies_to: tuple[str, ...]
    """Ids of graphs, sorted, or `cluster`, as `cluster.yaml` spells them; nothing if the ledger does not say."""

    @property
    def name(self) -> str:
        """What the bundle is called."""
        return name_of(self.address)

    @property
    def kind(self) -> BundleKind:
        """Whether it judges a server or graphs, by what it is bound to."""
        return BundleKind.SERVER if self.applies_to == (CLUSTER_SCOPE,) else BundleKind.GRAPH


def applied_ledger(site: ClusterSite, cluster: str) -> Ledger:
    """Read the ledger of a cluster, which people call `cluster`; what a newer version wrote into it is left out."""
    stored = site.read_ledger(is_strict=False)
    if stored is None:
        raise ClusterStateMissing(
            f"cluster `{cluster}` has no applied state: {site.state_path} does not exist. "
            "Run `omnigraph cluster import`, then `omnigraph cluster apply`.",
            cluster=cluster,
        )
    return stored.ledger


def applied_policies(ledger: Ledger) -> tuple[AppliedPolicy, ...]:
    """List the policies of a ledger by name."""
    return tuple(_applied(ledger, address) for address in ledger.addresses(ResourceKind.POLICY))


def policy_bound_to(ledger: Ledger, graph_id: str) -> AppliedPolicy | None:
    """Return the policy of a graph, None if it has none; two of them are refused, because either might be meant.

    Where none is bound to it, one that the ledger does not bind to anything may be the one: nothing falls open.
    """
    policies = applied_policies(ledger)
    bound = [policy for policy in policies if graph_id in policy.applies_to]
    bound = bound or [policy for policy in policies if not policy.applies_to][:1]
    if len(bound) > 1:
        names = " and ".join(policy.name for policy in bound)
        raise PolicyUnavailable(
            f"The ledger binds the policies {names} to the graph {graph_id}, which can have one. Merge them in "
            "cluster.yaml and run `omnigraph cluster apply`."
        )
    return bound[0] if bound else None


def policy_text(site: ClusterSite, policy: AppliedPolicy) -> str:
    """Read the applied text of a policy; raise `PolicyUnavailable` if it is not what was applied."""
    if not policy.applies_to:
        raise PolicyUnavailable(
            f"The ledger does not say what the policy '{policy.name}' is bound to. "
            "Run `omnigraph cluster apply`, which binds it again."
        )
    if policy.digest is None:
        raise PolicyUnavailable(f"The text of the applied policy '{policy.name}' was lost. {_RESTORE}")
    blob = read_blob(site, policy.address, policy.digest)
    if blob.content is None:
        reason = f": {blob.reason}" if blob.reason else "."
        raise PolicyUnavailable(
            f"The text of the applied policy '{policy.name}' {_PROBLEMS[blob.state]} ({site.shown(blob.path)}){reason} "
            f"{_RESTORE}"
        )
    try:
        return blob.content.decode()
    except UnicodeDecodeError as error:
        raise PolicyUnavailable(
            f"The text of the applied policy '{policy.name}' is not UTF-8 text. {_RESTORE}"
        ) from error


def engine_of(site: ClusterSite, policy: AppliedPolicy, graph_id: str) -> PolicyEngine:
    """Load the policy of a graph; raise `PolicyUnavailable` or `PolicyInvalid` if it cannot judge."""
    return PolicyEngine.from_source(policy_text(site, policy), graph_id, name=policy.name)


def _applied(ledger: Ledger, address: str) -> AppliedPolicy:
    entry = ledger.resources[address]
    bound = (scope.removeprefix(graph_address("")) for scope in entry.applies_to or ())
    return AppliedPolicy(address=address, digest=entry.digest, applies_to=tuple(bound))
