"""The only place that knows the protocol: tools are listed and called over stdio, or over HTTP."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import mcp.types as protocol
from mcp import MCPError
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

import omnigraph
from omnigraph.base.logs import logger_of
from omnigraph.base.values import Json
from omnigraph.errors import Internal, OmniError
from omnigraph.mcp.sources import QuerySource
from omnigraph.mcp.tools import QueryTool, shortened, tool_of

_INSTRUCTIONS: Final = (
    "Every tool is a stored query of one typed property graph. Reads answer with rows; a mutation is one atomic "
    "commit, and says how many nodes and edges it affected."
)
_SCHEMA: Final = protocol.Resource(
    uri="omnigraph://schema",
    name="schema",
    description="The types of the graph, with their properties and what connects them.",
    mime_type="text/plain",
)
_log = logger_of(__name__)


def server_of(source: QuerySource) -> Server[Any]:
    """Make the server of a source; tools are what the source lists when somebody asks."""

    async def list_tools(_: Any, __: Any) -> protocol.ListToolsResult:
        with _told():
            queries = await source.queries()
        return protocol.ListToolsResult(tools=[_tool(tool_of(query)) for query in queries])

    async def call_tool(_: Any, params: protocol.CallToolRequestParams) -> protocol.CallToolResult:
        return await _called(source, params.name, params.arguments or {})

    async def list_resources(_: Any, __: Any) -> protocol.ListResourcesResult:
        return protocol.ListResourcesResult(resources=[_SCHEMA])

    async def read_resource(_: Any, params: protocol.ReadResourceRequestParams) -> protocol.ReadResourceResult:
        if str(params.uri) != _SCHEMA.uri:
            raise MCPError(protocol.INVALID_PARAMS, f"There is no resource {params.uri}; there is {_SCHEMA.uri}.")
        with _told():
            text = await source.schema()
        contents = protocol.TextResourceContents(uri=_SCHEMA.uri, text=text, mime_type=_SCHEMA.mime_type)
        return protocol.ReadResourceResult(contents=[contents])

    return Server(
        "omnigraph",
        version=omnigraph.__version__,
        instructions=_INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_read_resource=read_resource,
    )


@contextmanager
def _told() -> Iterator[None]:
    """Say in the protocol's own way why something cannot be told."""
    try:
        yield
    except OmniError as error:
        raise MCPError(protocol.INTERNAL_ERROR, error.message, error.document()) from error


async def serve_stdio(source: QuerySource) -> None:
    """Talk on stdin and stdout until the client has gone."""
    server = server_of(source)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


async def serve_http(source: QuerySource, *, host: str, port: int) -> None:
    """Talk over HTTP, at `/mcp`, until the process is stopped; raises `BootRefused` for an address that is taken."""
    import uvicorn

    from omnigraph.server.running import listen
    from omnigraph.server.settings import Bind

    sock = listen(Bind(host=host, port=port))
    app = server_of(source).streamable_http_app(host=host)
    settings = uvicorn.Config(app, host=host, port=port, log_level="warning")
    await uvicorn.Server(settings).serve(sockets=[sock])


async def _called(source: QuerySource, name: str, arguments: dict[str, Any]) -> protocol.CallToolResult:
    try:
        query = next((found for found in await source.queries() if found.name == name), None)
        if query is None:
            return _result(
                {"error": f"There is no stored query {name}.", "kind": "stored_query_not_found"}, failed=True
            )
        return _result(shortened(await source.run(query, arguments)))
    except OmniError as error:
        return _result(error.document(), failed=True)
    except Exception:  # noqa: BLE001  # the outermost boundary: an agent is told, and the log has the rest
        _log.exception("a tool failed")
        return _result(
            Internal(f"The stored query {name} could not be run, which is a defect.").document(), failed=True
        )


def _tool(tool: QueryTool) -> protocol.Tool:
    return protocol.Tool(
        name=tool.name,
        description=tool.description,
        input_schema=dict(tool.input_schema),
        annotations=protocol.ToolAnnotations(
            read_only_hint=tool.is_read,
            destructive_hint=not tool.is_read,
            idempotent_hint=tool.is_read,
            open_world_hint=False,
        ),
    )


def _result(document: Json, *, failed: bool = False) -> protocol.CallToolResult:
    text = json.dumps(document, ensure_ascii=False)
    said = (
        document["error"] if failed and isinstance(document, dict) and isinstance(document.get("error"), str) else text
    )
    structured: Any = document
    return protocol.CallToolResult(
        content=[protocol.TextContent(type="text", text=said)], structured_content=structured, is_error=failed
    )
