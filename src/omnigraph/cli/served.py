"""Graphs wherever they are: opened in this process, or asked for over a server with the operator's token."""

import sys
from typing import TYPE_CHECKING, TypeAlias

from omnigraph import errors
from omnigraph.base.values import dataclass
from omnigraph.cli.bindings import Binding, ScopeKind, server_url
from omnigraph.cli.credentials import credentials_path, read_credentials, token_in
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.scope import StorageTarget, bound_scope, refuse_direct_flags, storage_of, without_secrets
from omnigraph.cli.tokens import token_for

if TYPE_CHECKING:  # both import what most commands do without
    from typing_extensions import TypeIs

    from omnigraph.client.remote import RemoteGraph
    from omnigraph.client.remote_async import AsyncRemoteGraph
    from omnigraph.graph import Graph

TIMEOUT_VARIABLE = "OMNIGRAPH_HTTP_TIMEOUT_SECS"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerTarget:
    """One graph of a server; without a graph, the server's own address."""

    url: str
    graph: str | None
    is_looked_up: bool
    """Whether a default or a profile named it, so that nobody typed it."""

    @property
    def uri(self) -> str:
        """The address of the graph, without secrets."""
        base = without_secrets(self.url)
        return base if self.graph is None else f"{base}/graphs/{self.graph}"

    @property
    def name(self) -> str:
        """What a person types to consent to losing data in it."""
        return self.graph or self.uri.rpartition("/")[2]

    @property
    def is_local(self) -> bool:
        """Never: whoever runs the server is somebody else."""
        return False

    @property
    def access(self) -> str:
        """How it is reached, as the echo spells it."""
        return "served"


AnyTarget: TypeAlias = StorageTarget | ServerTarget


def resolve_target(invocation: Invocation, **unserved: object) -> AnyTarget:
    """Find the graph this run is about; `unserved` are values of flags that do not go through a server."""
    binding, graph = bound_scope(invocation)
    if binding.kind is not ScopeKind.SERVER:
        return storage_of(invocation, binding, graph)
    refuse_unserved(invocation, unserved)
    return server_target(invocation, binding, graph)


def server_target(invocation: Invocation, binding: Binding, graph: str | None) -> ServerTarget:
    """Find the graph that a server scope means."""
    refuse_direct_flags(invocation)
    url = server_url(binding.value, invocation.config)
    target = ServerTarget(
        url=url, graph=graph or binding.default_graph, is_looked_up=binding.source not in {"--server", "--target"}
    )
    if target.graph is None:
        refuse_unpicked(invocation, target)
    return target


def resolve_server(invocation: Invocation) -> ServerTarget:
    """Find the server this run asks, and no graph of it."""
    binding, _ = bound_scope(invocation)
    refuse_direct_flags(invocation)
    return ServerTarget(url=server_url(binding.value, invocation.config), graph=None, is_looked_up=False)


def refuse_unserved(invocation: Invocation, flags: dict[str, object]) -> None:
    """Refuse flags that have a value and that no server takes; a trailing `_` of a name is not part of the flag."""
    for name, value in flags.items():
        if value:
            spelled = f"--{name.rstrip('_').replace('_', '-')}"
            raise errors.Usage(
                f"{spelled} does not go through a server. Leave it out, or run `{invocation.command.typed}` on the "
                "storage of the graph with --store <uri>.",
                flag=spelled,
            )


def connected(invocation: Invocation, target: ServerTarget) -> "RemoteGraph":
    """Return the graph behind the server; nothing is sent yet."""
    from omnigraph.client.remote import connect

    try:
        return connect(target.url, token=_token(invocation, target), graph=target.graph, timeout=_timeout(invocation))
    except errors.Usage as unfit:
        raise invocation.command.addressing_error(unfit.message, flag="--server") from unfit


def connected_async(invocation: Invocation, target: ServerTarget) -> "AsyncRemoteGraph":
    """Return the same graph for an event loop."""
    from omnigraph.client.remote_async import connect_async

    token, timeout = _token(invocation, target), _timeout(invocation)
    try:
        return connect_async(target.url, token=token, graph=target.graph, timeout=timeout)
    except errors.Usage as unfit:
        raise invocation.command.addressing_error(unfit.message, flag="--server") from unfit


def open_to_read(invocation: Invocation, **unserved: object) -> "Graph | RemoteGraph":
    """Find the graph and open it without writing anything, not even what recovery would."""
    target = resolve_target(invocation, **unserved)
    if isinstance(target, ServerTarget):
        return connected(invocation, target)
    import omnigraph

    return omnigraph.open(target.uri, read_only=True)


def is_remote(graph: "Graph | RemoteGraph") -> "TypeIs[RemoteGraph]":
    """Tell a graph behind a server from one that is opened here, without importing the client to look."""
    client = sys.modules.get("omnigraph.client.remote")
    return client is not None and isinstance(graph, client.RemoteGraph)


def _token(invocation: Invocation, target: ServerTarget) -> str | None:
    # Keyed by where the request goes: a name of the operator config stands for its URL.
    def stored(name: str) -> str | None:
        return token_in(read_credentials(credentials_path(invocation.environ)), name)

    address = target.url if target.graph is None else f"{target.url}/graphs/{target.graph}"
    return token_for(address, servers=invocation.config.servers, environ=invocation.environ, stored=stored)


def _timeout(invocation: Invocation) -> float:
    from omnigraph.client.transport import ANSWER_SECONDS

    given = invocation.environ.get(TIMEOUT_VARIABLE, "").strip()
    if not given:
        return ANSWER_SECONDS
    try:
        seconds = float(given)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise errors.Usage(f"${TIMEOUT_VARIABLE} is {given!r}; it is a number of seconds above 0.")
    return seconds


def refuse_unpicked(invocation: Invocation, target: ServerTarget) -> None:
    """Ask the server which graphs it has, and refuse to guess among them, also where there is one.

    A list shows what is ready, so a lone entry may not be the one that is meant. A server that does not tell is left to
    answer the request itself.
    """
    try:
        graphs = connected(invocation, target).graphs()
    except (errors.Addressing, errors.CredentialsPermissions):
        raise
    except errors.OmniError:
        return
    if graphs:
        ids = ", ".join(sorted(graph.graph_id for graph in graphs))
        count = f"{len(graphs)} graphs" if len(graphs) > 1 else "1 graph"
        raise invocation.command.addressing_error(
            f"{target.uri} has {count}, [{ids}]: choose one with --graph <id>, or put a default_graph beside the "
            "server into the operator config."
        )
