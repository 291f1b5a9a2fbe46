"""Which cluster a control command is about: `--cluster`, or a profile that is bound to one."""

from omnigraph import errors
from omnigraph.base.values import dataclass
from omnigraph.cli.bindings import (
    PROFILE_VARIABLE,
    Binding,
    ScopeKind,
    defined_profile,
    explicit_binding,
    profile_binding,
)
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.scope import is_server_url, selected_graph, without_secrets


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterScope:
    """A cluster as it was called, and what stands behind the name; `graph` is the one that was picked on the line."""

    name: str
    location: str
    """A directory, or the root of its storage."""
    graph: str | None
    default_graph: str | None
    """What the profile would pick."""


def resolve_cluster(invocation: Invocation, *, otherwise: str = "") -> ClusterScope:
    """Find the cluster, or refuse with exit code 2; `otherwise` says what would do without one."""
    config = invocation.config
    graph = selected_graph(invocation)
    binding = explicit_binding(invocation)
    profile = invocation.flags.profile or invocation.environ.get(PROFILE_VARIABLE)
    if binding is not None and invocation.flags.profile:
        invocation.notices.warn(f"--profile '{profile}' ignored because {binding.source} was given")
    if binding is None and profile:
        binding = profile_binding(defined_profile(profile, config), config=config)
    if binding is None or binding.kind is not ScopeKind.CLUSTER:
        raise needs_cluster(invocation, binding, otherwise)
    location = config.clusters.get(binding.value, binding.value)
    if is_server_url(location):
        raise invocation.command.addressing_error(
            f"`{invocation.command.typed}` works on the storage of a cluster, and {without_secrets(location)} is a "
            "server. Give --cluster a directory or the file:// or s3:// root of its storage."
        )
    return ClusterScope(name=binding.value, location=location, graph=graph, default_graph=binding.default_graph)


def needs_cluster(invocation: Invocation, binding: Binding | None, otherwise: str) -> errors.Addressing:
    """Build the refusal of a line without a cluster."""
    found = f", and {binding.source} gives a {binding.kind} scope" if binding is not None else ""
    return invocation.command.addressing_error(
        f"`{invocation.command.typed}` needs a cluster{found}; use --cluster <dir|uri>.{otherwise}"
    )
