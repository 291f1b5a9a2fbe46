"""`omnigraph queries list` and `omnigraph queries validate`."""

from omnigraph import documents, errors
from omnigraph.base.units import counted
from omnigraph.cli import cluster_view
from omnigraph.cli.command import command
from omnigraph.cli.control_scope import resolve_cluster
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.params import json_option


@command("queries list", examples=("omnigraph queries list --cluster museum",))
@json_option
def queries_list(invocation: Invocation) -> None:
    """List the stored queries that a cluster has applied.

    With --graph, those of one graph. No graph is opened.
    """
    scope = resolve_cluster(invocation)
    from omnigraph.cluster.stored_queries import list_queries

    queries, unreadable = list_queries(
        scope.location, graph_id=scope.graph or scope.default_graph, environ=invocation.environ
    )
    for name, problem in unreadable:
        invocation.notices.warn(f"the stored query {name} is not listed: {problem}")
    invocation.output.show(queries, document=documents.stored_queries_document, text=cluster_view.queries_text)


@command("queries validate", examples=("omnigraph queries validate --cluster museum --graph artworks",))
@json_option
def queries_validate(invocation: Invocation) -> None:
    """Check the stored queries of a cluster against the schema that each graph has now.

    No data is read. Ends with 1 when a query does not fit, cannot be read, or has no graph any more.
    """
    scope = resolve_cluster(invocation)
    from omnigraph.cluster.stored_queries import check_stored_queries

    checked = check_stored_queries(
        scope.location, graph_id=scope.graph or scope.default_graph, environ=invocation.environ
    )
    invocation.output.show(checked, document=documents.checked_queries_document, text=cluster_view.checked_queries_text)
    if not checked.ok:
        broken = [name for name, _ in checked.breakages]
        raise errors.QueriesInvalid(f"{counted(len(broken), 'broken stored query')}: {', '.join(broken)}.")
