"""The server itself: whether it is well, what it serves, and how it is used."""

import omnigraph
from omnigraph.graphs.authorizing import PolicyAction
from omnigraph.manifest.stamp import INTERNAL_SCHEMA_VERSION
from omnigraph.server.calls import Call
from omnigraph.server.metrics import exposition
from omnigraph.server.replies import Reply, document_reply


async def health(call: Call) -> Reply:
    """Say that the server runs."""
    document = {"status": "ok", "version": omnigraph.__version__, "internal_schema_version": INTERNAL_SCHEMA_VERSION}
    source = call.service.source_version
    return document_reply(document if source is None else document | {"source_version": source})


async def ready(call: Call) -> Reply:
    """Say whether the server takes requests."""
    service = call.service
    if service.is_draining:
        return document_reply({"status": "draining"}, status=503)
    return document_reply(
        {"status": "ready", "graphs_ready": len(service.graphs), "graphs_quarantined": service.quarantined}
    )


async def list_graphs(call: Call) -> Reply:
    """List the graphs that are ready, by id."""
    service = call.service
    service.server_gate.check(PolicyAction.GRAPH_LIST, actor=call.actor, request_id=call.request_id)
    return document_reply({"graphs": [{"graph_id": graph_id} for graph_id in sorted(service.graphs)]})


async def metrics(call: Call) -> Reply:
    """Spell the server's numbers for Prometheus."""
    content = exposition(call.service.metrics)
    return Reply(content, media_type=b"text/plain; version=0.0.4; charset=utf-8")


async def openapi(call: Call) -> Reply:
    """Describe the routes."""
    from omnigraph.server.openapi import openapi_document

    return document_reply(openapi_document(is_open=call.service.is_open))
