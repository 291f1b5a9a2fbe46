"""`omnigraph mcp`."""

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from omnigraph import errors
from omnigraph.cli.command import command
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.params import branch_option, read_text_file
from omnigraph.cli.served import ServerTarget, connected_async, resolve_target

if TYPE_CHECKING:
    from omnigraph.mcp.sources import QuerySource

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

    if place is None:
        await serve_stdio(source)
    else:
        await serve_http(source, host=place[0], port=place[1])


def _source(invocation: Invocation, paths: tuple[str, ...], branch: str) -> "QuerySource":
    _require_package()
    target = resolve_target(invocation, query=paths)
    from omnigraph.mcp.sources import HeldQueries, ServedQueries

    if isinstance(target, ServerTarget):
        return ServedQueries(connected_async(invocation, target), branch=branch)
    import omnigraph

    actor = invocation.actor()
    texts = dict(target.query_texts) if not paths else _texts(paths)
    if not texts:
        raise errors.Usage(
            f"{target.uri} has no stored queries: name files with --query FILE, or address a graph of a cluster with "
            "--cluster <dir> --graph <id>.",
            flag="--query",
        )
    return HeldQueries(omnigraph.open(target.uri), texts, actor=actor, branch=branch)


def _texts(paths: tuple[str, ...]) -> dict[str, str]:
    """Return the file that declares each query, by the query's name."""
    from omnigraph.language.query import parse_queries

    found: dict[str, str] = {}
    for path in paths:
        text = read_text_file(path, what="query file")
        for query in parse_queries(text, source=path).queries:
            if query.name in found:
                raise errors.Usage(f"The query {query.name} is declared twice.", flag="--query")
            found[query.name] = text
    return found


def _place(bind: str) -> tuple[str, int]:
    host, _, port = bind.rpartition(":")
    if not host or not port.isdigit():
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
