"""`omnigraph serve`, which is also called `omnigraph-server`."""

from collections.abc import Callable
from typing import Any

import click

from omnigraph import errors
from omnigraph.cli.command import command
from omnigraph.cli.commands.ui import require_console
from omnigraph.cli.invocation import Invocation

INSTALL_SERVER = "pip install 'omnigraph[server]'"
_FORMATS = ("text", "json")
_LEVELS = ("debug", "info", "warning", "error")


@command("serve", examples=("omnigraph serve --cluster museum --bind 127.0.0.1:8080",))
@click.option("--bind", metavar="HOST:PORT", help="Where to listen; default 127.0.0.1:8080. Port 0 takes any.")
@click.option("--unauthenticated", is_flag=True, help="Serve openly, without tokens: for local development.")
@click.option("--require-all-graphs", is_flag=True, help="Do not start unless every graph of the cluster is ready.")
@click.option("--default-graph", metavar="ID", help="Also serve the routes of this graph at the root.")
@click.option(
    "--shutdown-timeout",
    type=click.FloatRange(min=0),
    metavar="SECS",
    help="How long requests may take to end; default 30.",
)
@click.option("--ui", is_flag=True, help="Offer the console at /ui, to whoever has a token.")
@click.option("--log-format", type=click.Choice(_FORMATS), help="Default text.")
@click.option("--log-level", type=click.Choice(_LEVELS), help="Default info.")
def serve(
    invocation: Invocation,
    *,
    bind: str | None,
    unauthenticated: bool,
    require_all_graphs: bool,
    default_graph: str | None,
    shutdown_timeout: float | None,
    ui: bool,
    log_format: str | None,
    log_level: str | None,
) -> None:
    """Serve the applied graphs of a cluster over HTTP.

    Every flag has a variable: $OMNIGRAPH_CLUSTER, $OMNIGRAPH_BIND, $OMNIGRAPH_UNAUTHENTICATED,
    $OMNIGRAPH_REQUIRE_ALL_GRAPHS, $OMNIGRAPH_DEFAULT_GRAPH, $OMNIGRAPH_SHUTDOWN_TIMEOUT_SECS, $OMNIGRAPH_UI,
    $OMNIGRAPH_LOG_FORMAT and $OMNIGRAPH_LOG_LEVEL. Tokens come from the environment only. One line on
    stdout says where it listens.
    """
    from omnigraph.server.memory import choose_allocator
    from omnigraph.server.settings import DEFAULT_BIND, Bind, ServeRequest, is_true

    environ = invocation.environ

    def said(given: str | None, text: str) -> str | None:
        return given if given is not None else text.strip() or None

    cluster = said(invocation.flags.cluster, environ.get("OMNIGRAPH_CLUSTER", ""))
    if cluster is None:
        raise errors.Usage("A server needs a cluster: --cluster DIR|URI, or $OMNIGRAPH_CLUSTER.", flag="--cluster")
    request = ServeRequest(
        cluster=cluster,
        bind=Bind.parse(said(bind, environ.get("OMNIGRAPH_BIND", "")) or DEFAULT_BIND),
        unauthenticated=unauthenticated or is_true(environ.get("OMNIGRAPH_UNAUTHENTICATED", "")),
        require_all_graphs=require_all_graphs or is_true(environ.get("OMNIGRAPH_REQUIRE_ALL_GRAPHS", "")),
        default_graph=said(default_graph, environ.get("OMNIGRAPH_DEFAULT_GRAPH", "")),
        shutdown_timeout=_seconds(shutdown_timeout, environ.get("OMNIGRAPH_SHUTDOWN_TIMEOUT_SECS", "")),
        log_format=_word(
            said(log_format, environ.get("OMNIGRAPH_LOG_FORMAT", "")), _FORMATS, "text", "OMNIGRAPH_LOG_FORMAT"
        ),
        log_level=_word(
            said(log_level, environ.get("OMNIGRAPH_LOG_LEVEL", "")), _LEVELS, "info", "OMNIGRAPH_LOG_LEVEL"
        ),
        ui=ui or is_true(environ.get("OMNIGRAPH_UI", "")),
    )
    choose_allocator()
    try:
        from omnigraph.server.boot import serve as run_server
    except ModuleNotFoundError as missing:
        if (missing.name or "").startswith("omnigraph"):
            raise
        raise errors.MissingPackage(
            f"The server needs packages that are not installed: {INSTALL_SERVER}.",
            package=missing.name,
            extra="server",
        ) from missing
    run_server(request, environ, _console() if request.ui else None)


def _console() -> "Callable[[Any], Any]":
    """Return what makes the console of a server."""
    require_console()
    from omnigraph.console.beside_server import console_of

    return console_of


def _seconds(given: float | None, text: str) -> float:
    if given is not None:
        return given
    try:
        return float(text) if text.strip() else 30.0
    except ValueError:
        raise errors.Usage(
            f"OMNIGRAPH_SHUTDOWN_TIMEOUT_SECS is a number of seconds, not {text!r}.",
            flag="OMNIGRAPH_SHUTDOWN_TIMEOUT_SECS",
        ) from None


def _word(given: str | None, known: tuple[str, ...], default: str, variable: str) -> str:
    word = (given or default).lower()
    if word not in known:
        raise errors.Usage(f"{variable} is one of {', '.join(known)}, not {given!r}.", flag=variable)
    return word
