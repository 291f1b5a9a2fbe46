"""`omnigraph ui`."""

import shlex
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from omnigraph import errors
from omnigraph.cli.bindings import Binding, ScopeKind
from omnigraph.cli.command import command
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.scope import bound_scope, storage_at, storage_of
from omnigraph.cli.served import connected_async, server_target

if TYPE_CHECKING:
    from omnigraph.console.sources.direct import DirectGraph
    from omnigraph.console.sources.protocol import GraphSite


@command("ui", examples=("omnigraph ui art.omni --no-browser --port 8090",))
@click.option("--port", type=click.IntRange(0, 65_535), default=0, help="Where to listen; without it, any free port.")
@click.option("--no-browser", is_flag=True, help="Print the address and leave the browser alone.")
@click.option("--read-only", is_flag=True, help="Show everything, change nothing.")
def ui(invocation: Invocation, *, port: int, no_browser: bool, read_only: bool) -> None:
    """Open the console in a browser: look around, ask, compare, merge, maintain.

    It listens on this machine only. The address that it prints opens it once, in one browser, which then keeps the way
    in until the program ends. With --server the server decides by your token what you see; changes to storage are made
    by the actor of --as.
    """
    require_console()
    binding, graph_id = bound_scope(invocation)
    site = _site(invocation, binding, graph_id, is_read_only=read_only)
    from omnigraph.console.running import LocalConsole

    console = LocalConsole(site, port=port)
    sys.stdout.write(f"{console.address}\n")
    sys.stdout.flush()
    invocation.notices.echo("The console runs until you press Ctrl-C. The address opens it once.")
    if not no_browser:
        import webbrowser

        webbrowser.open(console.address)
    with suppress(KeyboardInterrupt):
        console.run()


def _site(invocation: Invocation, binding: Binding, graph_id: str | None, *, is_read_only: bool) -> "GraphSite":
    if binding.kind is ScopeKind.SERVER:
        from omnigraph.console.sources.served import ServedSite

        target = server_target(invocation, binding, None)
        return ServedSite(
            connected_async(invocation, target),
            title=target.uri,
            cli_server=binding.value,
            only=graph_id,
            is_read_only=is_read_only,
        )
    from omnigraph.console.sources.direct import DirectSite

    if binding.kind is ScopeKind.CLUSTER:
        return _cluster_site(invocation, binding, graph_id, is_read_only=is_read_only)
    target_storage = storage_of(invocation, binding, graph_id)
    opener = _opener(
        invocation,
        target_storage.uri,
        target_storage.name,
        shlex.quote(target_storage.uri),
        {},
        is_read_only=is_read_only,
    )
    opener()  # a wrong address is told here, and not in the browser
    return DirectSite(target_storage.uri, {target_storage.name: opener})


def _cluster_site(invocation: Invocation, binding: Binding, graph_id: str | None, *, is_read_only: bool) -> "GraphSite":
    from omnigraph.cluster.serving import read_serving_snapshot
    from omnigraph.console.sources.direct import DirectSite

    location = invocation.config.clusters.get(binding.value, binding.value)
    storage_at(invocation.command, location)  # refuses the URL of a server
    applied = read_serving_snapshot(location, environ=invocation.environ, events=invocation.notices.event)
    openers = {
        graph.graph_id: _opener(
            invocation,
            graph.uri,
            graph.graph_id,
            f"--cluster {shlex.quote(binding.value)} --graph {shlex.quote(graph.graph_id)}",
            graph.query_texts,
            is_read_only=is_read_only,
        )
        for graph in applied.graphs
        if graph_id in {None, graph.graph_id}
    }
    if not openers:
        raise errors.GraphNotFound(f"Graph {graph_id} is not one that the cluster {location} has applied.")
    return DirectSite(location, openers)


def _opener(
    invocation: Invocation,
    uri: str,
    graph_id: str,
    cli_address: str,
    query_texts: Mapping[str, str],
    *,
    is_read_only: bool,
) -> "Callable[[], DirectGraph]":
    import omnigraph
    from omnigraph.console.sources.direct import DirectGraph

    def opened() -> DirectGraph:
        graph = omnigraph.open(uri, read_only=is_read_only, embed_environ=invocation.environ)
        return DirectGraph(
            graph,
            graph_id=graph_id,
            cli_address=cli_address,
            actor=invocation.actor(),
            is_read_only=is_read_only,
            query_texts=query_texts,
        )

    return opened


def require_console() -> None:
    """Refuse to go on without the library of the pages."""
    from importlib.util import find_spec

    if find_spec("nicegui") is None:
        raise errors.MissingPackage(
            "The package nicegui is not installed; get it with pip install 'omnigraph[ui]'.",
            package="nicegui",
            extra="ui",
        )
