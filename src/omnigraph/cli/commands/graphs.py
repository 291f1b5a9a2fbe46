"""`omnigraph graphs`."""

from typing import TYPE_CHECKING

from omnigraph.base.values import Json
from omnigraph.cli.command import command
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.params import json_option
from omnigraph.cli.served import connected, resolve_server

if TYPE_CHECKING:
    from omnigraph.client.values import ListedGraph


@command("graphs list", examples=("omnigraph graphs list --server http://127.0.0.1:8080",))
@json_option
def graphs_list(invocation: Invocation) -> None:
    """List the graphs of a server that are ready, and that the token may see."""
    graphs = connected(invocation, resolve_server(invocation)).graphs()
    invocation.output.show(
        sorted(graphs, key=lambda graph: graph.graph_id),
        document=_document,
        text=lambda found: [f"{graph.graph_id}\t{graph.uri or ''}".rstrip() for graph in found],
    )


def _document(graphs: "list[ListedGraph]") -> Json:
    return {
        "graphs": [
            {"graph_id": graph.graph_id, **({} if graph.uri is None else {"uri": graph.uri})} for graph in graphs
        ]
    }
