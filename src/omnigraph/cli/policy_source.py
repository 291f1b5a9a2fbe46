"""Where the bundles that are looked at come from: one file, or what was applied to a cluster."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from omnigraph import documents, errors
from omnigraph.base.values import dataclass
from omnigraph.cli.control_scope import ClusterScope, resolve_cluster
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.params import read_text_file
from omnigraph.graphs.authorizing import PolicyAction

if TYPE_CHECKING:  # imported when a bundle is read
    from omnigraph.cluster.policies import AppliedPolicy
    from omnigraph.policy.actions import BundleKind
    from omnigraph.policy.engine import PolicyEngine

_DEFAULT_GRAPH = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundPolicy:
    """One bundle that can be read; `bound_to` is what it must be fit for, None for a file that nobody has bound."""

    name: str
    read: Callable[[], str]
    graph_id: str = _DEFAULT_GRAPH
    bound_to: "BundleKind | None" = None
    applies_to: tuple[str, ...] = ()

    def looked_at(self) -> documents.LookedAtBundle:
        """Read and check the bundle; what is wrong with it is part of the result."""
        try:
            from omnigraph.policy.engine import PolicyEngine
            from omnigraph.policy.reading import parse_bundle

            bundle = parse_bundle(self.read(), name=self.name, bound_to=self.bound_to)
            PolicyEngine(bundle, self.graph_id)
            return documents.LookedAtBundle(name=self.name, bundle=bundle, applies_to=self.applies_to)
        except (errors.PolicyInvalid, errors.PolicyUnavailable) as problem:
            return documents.LookedAtBundle(name=self.name, applies_to=self.applies_to, error=problem.message)

    def engine(self, action: PolicyAction) -> "PolicyEngine":
        """Make the bundle answer; an empty one answers questions of either kind, with no."""
        from omnigraph.policy.actions import ACTIONS
        from omnigraph.policy.engine import PolicyEngine
        from omnigraph.policy.reading import parse_bundle

        bundle = parse_bundle(self.read(), name=self.name, bound_to=self.bound_to)
        kind = ACTIONS[action].kind
        if kind is not bundle.kind and not bundle.fits_both_kinds:
            raise errors.Usage(
                f"No bundle for action {action}: '{bundle.name}' is a {bundle.kind} bundle, and {action} is asked of "
                f"{kind} bundles.",
                flag="--action",
            )
        return PolicyEngine(replace(bundle, kind=kind), self.graph_id)


class Policies(Protocol):
    """The bundles of one source."""

    def all(self) -> list[FoundPolicy]:
        """Return every bundle that is meant; there is at least one."""

    def asked_about(self, action: PolicyAction) -> FoundPolicy:
        """Return the bundle that judges an action."""


def policies_of(invocation: Invocation, path: str | None) -> Policies:
    """Find the source that the line names: `--policy`, or a cluster; both or neither are refused."""
    flags = invocation.flags
    if path is None:
        scope = resolve_cluster(invocation, otherwise=" To look at a file instead, give --policy FILE.")
        return _ClusterPolicies(invocation, scope)
    typed = {"--cluster": flags.cluster, "--profile": flags.profile, "--target": flags.target}
    if given := next((flag for flag, value in typed.items() if value is not None), None):
        raise errors.Usage(
            f"{given} names a cluster and --policy a file without one; give one of them.", flag="--policy"
        )
    return _FilePolicy(path, flags.graph or _DEFAULT_GRAPH)


class _FilePolicy:
    def __init__(self, path: str, graph_id: str) -> None:
        from omnigraph.policy.engine import bundle_name

        text = read_text_file(path, what="policy file")
        self._found = FoundPolicy(name=bundle_name(path), read=lambda: text, graph_id=graph_id)

    def all(self) -> list[FoundPolicy]:
        return [self._found]

    def asked_about(self, action: PolicyAction) -> FoundPolicy:
        del action  # there is no choice, and what does not fit is refused when it is asked
        return self._found


class _ClusterPolicies:
    """What was applied to a cluster; the ledger is read at once, each bundle when it is looked at."""

    def __init__(self, invocation: Invocation, scope: ClusterScope) -> None:
        from omnigraph.cluster.ledger import storage_root
        from omnigraph.cluster.policies import applied_ledger, applied_policies
        from omnigraph.cluster.site import ClusterSite

        self._scope = scope
        self._site: ClusterSite = ClusterSite.open(storage_root(scope.location, invocation.notices.event))
        self._policies = applied_policies(applied_ledger(self._site, scope.name))

    def all(self) -> list[FoundPolicy]:
        graph = self._scope.graph
        chosen = [policy for policy in self._policies if graph is None or graph in policy.applies_to]
        if not chosen:
            raise self._none(f"graph {graph}" if graph is not None else "anything")
        return [self._found(policy, graph or _DEFAULT_GRAPH) for policy in chosen]

    def asked_about(self, action: PolicyAction) -> FoundPolicy:
        from omnigraph.policy.actions import ACTIONS

        kind = ACTIONS[action].kind
        of_kind = [policy for policy in self._policies if policy.kind is kind]
        graph = (self._scope.graph or self._scope.default_graph) if kind.value == "graph" else None
        chosen = [policy for policy in of_kind if graph is None or graph in policy.applies_to]
        if not chosen:
            raise self._none(f"graph {graph}" if graph is not None else f"action {action}")
        if len(chosen) > 1:
            raise errors.Usage(
                f"cluster `{self._scope.name}` has {len(chosen)} bundles of graphs, {self._listed()}: choose one with "
                "--graph <id>.",
                flag="--graph",
            )
        return self._found(chosen[0], graph or chosen[0].applies_to[0])

    def _found(self, policy: "AppliedPolicy", graph_id: str) -> FoundPolicy:
        from omnigraph.cluster.policies import policy_text

        return FoundPolicy(
            name=policy.name,
            read=lambda: policy_text(self._site, policy),
            graph_id=graph_id,
            bound_to=policy.kind,
            applies_to=policy.applies_to,
        )

    def _none(self, what: str) -> errors.Usage:
        return errors.Usage(
            f"No bundle for {what} is applied in cluster `{self._scope.name}`; applied: {self._listed() or 'none'}."
        )

    def _listed(self) -> str:
        return ", ".join(f"{policy.name} ({', '.join(policy.applies_to)})" for policy in self._policies)
