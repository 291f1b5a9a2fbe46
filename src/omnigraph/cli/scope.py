"""From a binding to the storage of one graph, and the consent to change it for good.

Up to there nothing opens a graph; only a cluster binding reads storage, and there only the ledger.
"""

import sys
from typing import Protocol

from omnigraph import errors
from omnigraph.base.values import dataclass
from omnigraph.cli.bindings import Binding, ScopeKind, find_binding, server_url
from omnigraph.cli.flags import RunningCommand
from omnigraph.cli.invocation import Invocation
from omnigraph.verbs.table import CLASS_PHRASES, AddressFlag, CommandClass


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageTarget:
    """One graph's storage; `name` is what a person types to consent to losing data in it."""

    uri: str
    name: str
    is_looked_up: bool = False
    """Whether the address was found in a cluster's ledger, so that nobody typed or configured it."""

    @property
    def is_local(self) -> bool:
        """Whether the storage is on this machine."""
        return "://" not in self.uri or self.uri.startswith("file://")

    @property
    def access(self) -> str:
        """How the storage is reached, as the echo spells it."""
        return "direct, local" if self.is_local else "direct, remote"


class RunTarget(Protocol):
    """What a run is about, as far as echoes and consent are concerned."""

    @property
    def uri(self) -> str:
        """Its address, as people are shown it."""

    @property
    def name(self) -> str:
        """What a person types to consent to losing data in it."""

    @property
    def access(self) -> str:
        """How it is reached, as the echo spells it."""

    @property
    def is_local(self) -> bool:
        """Whether it is on this machine."""

    @property
    def is_looked_up(self) -> bool:
        """Whether nobody typed the address."""


def resolve_storage(invocation: Invocation, *, otherwise: str = "") -> StorageTarget:
    """Find the storage this run works on, or refuse with exit code 2; `otherwise` says what would do without one."""
    binding, graph = bound_scope(invocation, otherwise=otherwise)
    if binding.kind is ScopeKind.SERVER:
        refuse_direct_flags(invocation)
        url = without_secrets(server_url(binding.value, invocation.config))
        raise invocation.command.addressing_error(
            f"`{invocation.command.typed}` does not go through a server, and {binding.source} is one ({url}). "
            "Address the storage of the graph with --store <uri>."
        )
    return storage_of(invocation, binding, graph)


def bound_scope(invocation: Invocation, *, otherwise: str = "") -> tuple[Binding, str | None]:
    """Find what this run addresses and the graph that the line picks in it, both still names."""
    command = invocation.command
    # A broken operator config stops the run even when the line has an address: it also holds actor and engine.
    config = invocation.config
    graph = selected_graph(invocation)
    binding = find_binding(invocation)
    if binding is None and command.verb.command_class is CommandClass.SERVED:
        raise command.addressing_error(
            f"`{command.typed}` needs a server scope: give --server <name|url> or --profile <name>, or put a default "
            f"into '{config.path}'."
        )
    if binding is None:
        scoped = "--server <name|url>"
        if AddressFlag.SERVER not in command.verb.accepts:
            scoped = "--cluster <dir> --graph <id>" if AddressFlag.CLUSTER in command.verb.accepts else ""
        others = " or ".join(filter(None, (scoped, "--profile <name>")))
        raise command.addressing_error(
            f"`{command.typed}`: no graph addressed. Give its address as the last argument or with --store <uri>, "
            f"give {others}, or put a default into '{config.path}'.{otherwise}"
        )
    _refuse_unfit(command, binding)
    if invocation.flags.cluster_graph and binding.kind is not ScopeKind.CLUSTER:
        raise command.addressing_error("--cluster-graph needs a cluster scope.", flag="--cluster-graph")
    return binding, graph


def storage_of(invocation: Invocation, binding: Binding, graph: str | None) -> StorageTarget:
    """Find the storage behind an address that is no server."""
    if binding.kind is ScopeKind.STORE:
        return _single_graph(invocation.command, binding, graph)
    return _graph_in_cluster(invocation, binding, graph or binding.default_graph)


def echo_target(invocation: Invocation, target: RunTarget, *, destroys: bool = False) -> None:
    """Say on stderr which graph a run is about, before its first effect, where that tells something.

    It does before data goes away, and where the address was looked up; elsewhere the user has just typed it.
    """
    line = f"omnigraph {invocation.command.typed} → {target.uri} ({target.access})"
    if destroys or target.is_looked_up:
        invocation.notices.echo(line)
    else:
        invocation.notices.detail(line)


def storage_at(command: RunningCommand, uri: str) -> StorageTarget:
    """Take a URI as one graph's storage; a server's URL is refused without asking it."""
    _refuse_server_url(command, uri)
    last_segment = uri.rstrip("/").rpartition("/")[2]
    return StorageTarget(uri=uri, name=last_segment.removesuffix(".omni") or last_segment)


def is_server_url(location: str) -> bool:
    """Whether a location is that of a server, where storage is meant."""
    return location.lower().startswith(("http://", "https://"))


def _refuse_server_url(command: RunningCommand, url: str) -> None:
    if not is_server_url(url):
        return
    if command.verb.command_class is not CommandClass.DIRECT:
        raise command.addressing_error(
            "an http(s):// URL given as a graph URI does not reach a server; "
            "address the remote graph with --server <url>."
        )
    raise command.addressing_error(
        f"`{command.typed}` is a {CLASS_PHRASES[CommandClass.DIRECT]} command: it needs direct storage access and "
        f"cannot work through the remote server {without_secrets(url)}. Name the graph by its file:// or s3:// URI."
    )


def without_secrets(url: str) -> str:
    """Spell a URL without what may be a secret: user, password, query and fragment."""
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()


def selected_graph(invocation: Invocation) -> str | None:
    """Return the graph that the line picks in its scope, under the older spelling too."""
    flags = invocation.flags
    if flags.cluster_graph is None:
        return flags.graph
    invocation.notices.warn("--cluster-graph is deprecated; use --graph")
    if flags.graph is not None:
        raise errors.Usage("--graph and --cluster-graph mean the same; give --graph alone.", flag="--cluster-graph")
    return flags.cluster_graph


def _refuse_unfit(command: RunningCommand, binding: Binding) -> None:
    """Refuse a binding of a kind that the command's class cannot work with."""
    match command.verb.command_class, binding.kind:
        case CommandClass.DIRECT, ScopeKind.SERVER:
            clustered = ", or --cluster <dir> --graph <id>" if AddressFlag.CLUSTER in command.verb.accepts else ""
            message = (
                f"`{command.typed}` needs direct storage access; the scope from {binding.source} is a server. "
                f"Use --store <uri>{clustered}."
            )
        case CommandClass.DIRECT, ScopeKind.CLUSTER if AddressFlag.CLUSTER not in command.verb.accepts:
            message = f"`{command.typed}` does not work on a cluster scope ({binding.source}). Use --store <uri>."
        case CommandClass.ANY, ScopeKind.CLUSTER if AddressFlag.CLUSTER not in command.verb.accepts:
            message = (
                f"`{command.typed}` got a cluster scope from {binding.source}, which is not valid for graph data "
                "commands. Use --server <name|url> --graph <id>, or --store <uri>."
            )
        case CommandClass.SERVED, ScopeKind.CLUSTER:
            message = (
                f"`{command.typed}` requires a server; {binding.source} gives a cluster scope, which "
                "`omnigraph cluster status` shows."
            )
        case CommandClass.SERVED, ScopeKind.STORE:
            message = f"`{command.typed}` requires a server; {binding.source} gives a store scope."
        case CommandClass.CONTROL, ScopeKind.SERVER | ScopeKind.STORE:
            message = f"`{command.typed}` needs a cluster; use --cluster <dir|uri>."
        case _:
            return
    raise command.addressing_error(message)


def _single_graph(command: RunningCommand, binding: Binding, graph: str | None) -> StorageTarget:
    if graph is not None:
        raise command.addressing_error(
            f"--graph does not apply: {binding.source} is already a single graph.", flag="--graph"
        )
    return storage_at(command, binding.value)


def _graph_in_cluster(invocation: Invocation, binding: Binding, graph: str | None) -> StorageTarget:
    from omnigraph.cluster.ledger import read_applied_graphs

    root = invocation.config.clusters.get(binding.value, binding.value)
    _refuse_server_url(invocation.command, root)
    applied = read_applied_graphs(root, events=invocation.notices.event)
    if graph is None:
        graph = _only_graph(invocation.command, binding, applied.graph_ids)
    return StorageTarget(uri=applied.storage_uri(graph), name=graph, is_looked_up=True)


def _only_graph(command: RunningCommand, binding: Binding, graph_ids: tuple[str, ...]) -> str:
    if not graph_ids:
        raise errors.GraphNotApplied(
            f"cluster `{binding.value}` has no applied graphs; declare one in cluster.yaml and run "
            "`omnigraph cluster apply`.",
            applied=[],
        )
    if len(graph_ids) > 1:
        raise command.addressing_error(
            f"`{binding.value}` holds {len(graph_ids)} graphs, [{', '.join(graph_ids)}]: choose one with --graph <id>"
        )
    return graph_ids[0]


def refuse_direct_flags(invocation: Invocation) -> None:
    """Refuse what only somebody with the storage can decide: the actor, and where work runs."""
    flags = invocation.flags
    if flags.actor is not None:
        raise invocation.command.addressing_error(
            "--as does not apply to a served graph: the server takes the actor from the bearer token. "
            "To write as somebody else, address the storage with --store <uri>.",
            flag="--as",
        )
    if engine_flags := flags.engine_flags():
        raise errors.Usage(
            f"{engine_flags[0]} does not apply to a served graph: the server decides where its work runs.",
            flag=engine_flags[0],
        )


def require_consent(invocation: Invocation, target: RunTarget) -> None:
    """Let the run go on only with `--yes`, or after a person at a terminal typed the graph's name.

    A local target needs no consent. Nothing has been opened when this refuses.
    """
    if target.is_local or invocation.flags.yes:
        return
    command = invocation.command.typed
    if invocation.wants_json or not sys.stdin.isatty():
        raise errors.NotConfirmed(
            f"{target.uri} is not local: refusing destructive `{command}` without consent (--yes)",
            command=command,
            target=target.uri,
        )
    sys.stderr.write(
        f"omnigraph {command} removes data of {target.uri}, which is not local.\n"
        f"Type the graph's name, {target.name}, to go on: "
    )
    sys.stderr.flush()
    if sys.stdin.readline().strip() != target.name:
        raise errors.NotConfirmed(
            f"`{command}` on {target.uri} was not confirmed; nothing was done.", command=command, target=target.uri
        )
