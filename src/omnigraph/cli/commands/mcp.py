"""`omnigraph mcp`."""

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from omnigraph import errors
from omnigraph.cli.bindings import Binding, ScopeKind
from omnigraph.cli.command import command
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.params import branch_option, read_text_file
from omnigraph.cli.scope import bound_scope, storage_of
from omnigraph.cli.served import connected_async, refuse_unserved, server_target

if TYPE_CHECKING:
    from omnigraph.mcp.sources import QuerySource

_PORT_MAX = 65_535
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


@command(
    "mcp",
    examples=("omnigraph mcp art.omni --query art.gq < /dev/null",),
)
@click.option("--query", "paths", metavar="FILE", multiple=True, help="A file with queries, over storage; repeatable.")
@branch_option
@click.option("--http", "bind", metavar="HOST:PORT", help="Talk over HTTP at /mcp on this machine instead of stdio.")
def mcp(invocation: Invocation, *, paths: tuple[str, ...], branch: str, bind: str | None) -> None:
    """Offer stored queries to agents as tools of the Model Context Protocol.

    With --server the queries are those that the server keeps for the graph, and the server decides who may run them, by
    the token. With --cluster they are those that were applied to the graph, over its storage; with --store they are in
    files. Mutations are made by the actor of --as.
    """
    place = None if bind is None else _place(bind)
    source = _source(invocation, paths, branch)
    with suppress(KeyboardInterrupt):
        asyncio.run(_serve(source, place))


async def _serve(source: "QuerySource", place: tuple[str, int] | None) -> None:
    from omnigraph.mcp.serving import serve_http, serve_stdio

    # Who starts the program sees a wrong address or token at once, and not as an agent without tools.
    await source.queries()
    if place is None:
        await serve_stdio(source)
    else:
        await serve_http(source, host=place[0], port=place[1])


def _source(invocation: Invocation, paths: tuple[str, ...], branch: str) -> "QuerySource":
    _require_package()
    binding, graph_id = bound_scope(invocation)
    from omnigraph.mcp.sources import HeldQueries, ServedQueries

    if binding.kind is ScopeKind.SERVER:
        refuse_unserved(invocation, {"query": paths})
        served = server_target(invocation, binding, graph_id)
        return ServedQueries(connected_async(invocation, served), branch=branch)
    import omnigraph

    target = storage_of(invocation, binding, graph_id)
    actor = invocation.actor()
    texts = _texts(paths) if paths else _applied(invocation, binding, target.name)
    if not texts:
        raise errors.Usage(
            f"{target.uri} has no stored queries: name files with --query FILE, or address a graph of a cluster with "
            "--cluster <dir> --graph <id>.",
            flag="--query",
        )
    return HeldQueries(omnigraph.open(target.uri), texts, actor=actor, branch=branch)


def _applied(invocation: Invocation, binding: Binding, graph_id: str) -> dict[str, str]:
    """Return the texts of the queries that were applied to a graph of a cluster, by name; storage alone has none."""
    if binding.kind is not ScopeKind.CLUSTER:
        return {}
    from omnigraph.cluster.serving import read_serving_snapshot

    location = invocation.config.clusters.get(binding.value, binding.value)
    snapshot = read_serving_snapshot(location, environ=invocation.environ, events=invocation.notices.event)
    return next((dict(graph.query_texts) for graph in snapshot.graphs if graph.graph_id == graph_id), {})


def _texts(paths: tuple[str, ...]) -> dict[str, str]:
    """Return the file that declares each query, by the query's name."""
    from omnigraph.language.query import parse_queries

    found: dict[str, str] = {}
    for path in paths:
        text = read_text_file(path, what="query file")
        for query in parse_queries(text, source=path).queries:
            name = query.name.text
            if name in found:
                raise errors.Usage(f"The query {name} is declared twice.", flag="--query")
            found[name] = text
    return found


def _place(bind: str) -> tuple[str, int]:
    host, _, port = bind.rpartition(":")
    if not host or not (port.isascii() and port.isdigit() and int(port) <= _PORT_MAX):
        raise errors.Usage(f"--http takes HOST:PORT, such as 127.0.0.1:8765, not `{bind}`.", flag="--http")
    if host.strip("[]") not in _LOOPBACK:
        raise errors.Usage(
            "--http listens on this machine only, such as 127.0.0.1:8765: whoever reaches it acts in your name.",
            flag="--http",
        )
    return host.strip("[]"), int(port)


def _require_package() -> None:
    from importlib.util import find_spec

    if find_spec("mcp") is None:
        raise errors.MissingPackage(
            "The package mcp is not installed; get it with pip install 'omnigraph[mcp]'.", package="mcp", extra="mcp"
        )
