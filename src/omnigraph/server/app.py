"""The application: every request goes through the same checks in the same order, and ends in one answer and one line.

Plain ASGI, because what every request pays for is here: a layer of middleware would cost more than a small query.
"""

import asyncio
import re
from typing import TYPE_CHECKING, Any

from starlette.types import Receive, Scope, Send

from omnigraph.base import ids
from omnigraph.base.clock import monotonic_seconds
from omnigraph.base.logs import logger_of
from omnigraph.base.traces import trace_parent
from omnigraph.cluster.resources import is_graph_id
from omnigraph.errors import BranchNotFound, Draining, GraphNotFound, InvalidName, OmniError
from omnigraph.server import logs
from omnigraph.server.calls import Call, ClientGone
from omnigraph.server.failures import failure_reply, translate
from omnigraph.server.lines import LineShape, Varies
from omnigraph.server.operation import HttpOperation
from omnigraph.server.paths import Router
from omnigraph.server.protocol import RequestResponseCycle, can_write_whole, write_whole
from omnigraph.server.replies import JSON_TYPE, Headers, Reply
from omnigraph.server.routes import ROUTES, at_root
from omnigraph.server.service import Service

if TYPE_CHECKING:
    from omnigraph.server.tracing import Tracer

_REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,128}")
_WHOLE_BYTES_MAX = 65_536
_BEGUN = "omnigraph.begun"
_CLIENT_GONE = 499
"""What the access line says of a request whose client did not wait for the answer."""
_log = logger_of(__name__)


class Application:
    """Answers requests about the graphs of one service."""

    def __init__(self, service: Service, tracer: "Tracer | None" = None) -> None:
        self.service = service
        self._tracer = tracer
        self._ids = ids.UlidLine()
        self._lines: dict[tuple[Any, ...], LineShape] = {}
        """The access lines there are: as many as routes, statuses, graphs, actors and failures go together."""
        rows = ROUTES if service.default_graph is None else (*ROUTES, *at_root(ROUTES))
        self._router: Router[HttpOperation] = Router(rows)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            raise RuntimeError(f"this server speaks HTTP, not {scope['type']}")
        started = monotonic_seconds()
        call = self._begun(scope, receive)
        logs.request_id.set(call.request_id)
        trace_parent.set(call.trace_parent)
        error_kind = None
        reply = None
        # Until the last byte of the answer is on its way: an end of the server waits for streams, too.
        self.service.running += 1
        try:
            try:
                reply = await self._answer(call)
            except (ClientGone, asyncio.CancelledError):
                return  # the second when the server ends, and has closed the connection
            except Exception as failure:  # noqa: BLE001 — the outermost boundary
                error = translate(failure)
                error_kind = error.kind
                reply = self._failed(call, failure, error)
            if call.route is not None and call.route.successor is not None:
                reply.headers = (*reply.headers, *_marks(call.route.successor))
            try:
                await self._send(call, reply, send)
            except (ClientGone, asyncio.CancelledError):
                reply.status = _CLIENT_GONE
        finally:
            self.service.running -= 1
            self._finish(call, reply, error_kind, monotonic_seconds() - started)

    def answer_at_once(self, cycle: RequestResponseCycle) -> bool:
        """Answer a request that is there as a whole, if that takes less than a task for it would.

        Returns False, having done nothing that anybody could see, where it does not.
        """
        scope: Any = cycle.scope
        matched = self._router.known(scope["method"], scope["raw_path"])
        if (
            matched is None
            or matched.route.at_once is None
            or self._tracer is not None
            or self.service.is_draining
            or not can_write_whole(cycle)
        ):
            return False
        started = monotonic_seconds()
        call = self._begun(scope, cycle.receive)
        error_kind = None
        try:
            self._check(call)
            call.count(len(cycle.body))
            reply = matched.route.at_once(call, call.members_of(cycle.body))
            if reply is None:
                call.bytes_in = 0
                scope[_BEGUN] = call
                return False
        except Exception as failure:  # noqa: BLE001 — the outermost boundary
            error = translate(failure)
            error_kind = error.kind
            reply = self._failed(call, failure, error)
        write_whole(cycle, reply, call.request_id)
        reply.sent_bytes = len(reply.body)
        self._finish(call, reply, error_kind, monotonic_seconds() - started)
        return True

    def close(self) -> None:
        """Send what is left to send of traces."""
        if self._tracer is not None:
            self._tracer.close()

    def _begun(self, scope: Scope, receive: Any) -> Call:
        """Return what a request is on its way, with an id; one that was not answered at once goes on as it was."""
        begun: Call | None = scope.pop(_BEGUN, None)
        if begun is not None:
            return begun
        call = Call(self.service, scope, receive)
        given = call.header(b"x-request-id")
        is_usable = given is not None and _REQUEST_ID.fullmatch(given)
        call.request_id = given.decode() if given is not None and is_usable else self._ids.next()
        return call

    async def _answer(self, call: Call) -> Reply:
        route = self._check(call)
        if self._tracer is None or route.is_public:
            return await route.handler(call)
        return await self._tracer.traced(call, route.handler)

    def _check(self, call: Call) -> HttpOperation:
        """Do the checks that come before any handler, in their order, and return the route."""
        service = self.service
        scope = call.scope
        if scope["http_version"] == "1.1":
            call.check_host()
        matched = self._router.match(scope["method"], scope["raw_path"])
        route = call.route = matched.route
        call.arguments = matched.arguments
        if route.is_public:
            return route
        if service.is_draining:
            raise Draining("The server is shutting down; ask another one, or later.")
        if not service.is_open:
            call.actor = service.tokens.actor_of(call.authorization)
        if route.is_about_graph:
            self._find_graph(call)
        if route.method != "GET":
            call.check_body_headers()
        return route

    def _find_graph(self, call: Call) -> None:
        graph_id = call.arguments.get("graph_id", self.service.default_graph)
        served = self.service.graphs.get(graph_id) if graph_id is not None else None
        if served is None:
            if graph_id is None or not is_graph_id(graph_id):
                raise InvalidName("The id of a graph is a letter and then letters, digits, `_` or `-`.", name=graph_id)
            raise GraphNotFound(f"graph '{graph_id}' not found", graph_id=graph_id)
        call.served = served

    async def _send(self, call: Call, reply: Reply, send: Send) -> None:
        cycle = getattr(send, "__self__", None)
        if isinstance(cycle, RequestResponseCycle) and cycle.disconnected:
            raise ClientGone
        if (
            type(reply) is Reply
            and not reply.headers
            and call.scope["method"] != "HEAD"
            and reply.media_type is JSON_TYPE
            and len(reply.body) <= _WHOLE_BYTES_MAX
            and isinstance(cycle, RequestResponseCycle)
            and can_write_whole(cycle)
        ):
            write_whole(cycle, reply, call.request_id)
            reply.sent_bytes = len(reply.body)
            return
        await reply.send(send, ((b"x-request-id", call.request_id.encode()),))

    def _failed(self, call: Call, failure: Exception, error: OmniError) -> Reply:
        if (error.http_status is None or error.http_status >= 500) and not isinstance(error, Draining):
            name = call.route.operation_id if call.route else "request"
            _log.error("%s failed", name, exc_info=failure, extra={"request_id": call.request_id})
        served = call.served
        if served is not None and _names_branches(error) and not served.gate.lets_list_branches(call.actor):
            error = BranchNotFound(f"Branch '{error.details['branch']}' was not found.", **error.details)
        return failure_reply(
            error,
            request_id=call.request_id,
            location=served.graph.uri if served else None,
            graph_id=served.graph_id if served else None,
            is_discreet=call.route is not None and call.route.is_discreet,
        )

    def _finish(self, call: Call, reply: Reply | None, error_kind: str | None, seconds: float) -> None:
        service = self.service
        route = call.route
        template = route.path if route is not None else "(none)"
        status = reply.status if reply is not None else _CLIENT_GONE
        sent = reply.sent_bytes if reply is not None else 0
        metrics = service.metrics
        method = call.scope["method"]
        metrics.answered(template, method if route is not None else "(none)", status, seconds)
        metrics.bytes_in += call.bytes_in
        metrics.bytes_out += sent
        parent = call.trace_parent
        is_traced = parent is not None
        graph_id = call.served.graph_id if call.served is not None else None
        same = (method, template, graph_id, status, call.actor, error_kind, is_traced)
        line = self._lines.get(same)
        if line is None:
            line = self._lines[same] = _access_line(*same)
        values = (call.request_id, round(seconds * 1_000, 3), call.bytes_in, sent)
        service.log.note_shaped(line, *(values if parent is None else (*values, parent)))


def _names_branches(error: OmniError) -> bool:
    """Whether a message says which branches there are: that of a graph does, the one of a handler does not."""
    return isinstance(error, BranchNotFound) and not isinstance(error.__cause__, BranchNotFound)


def _marks(successor: str) -> Headers:
    """Return the headers that an answer of a deprecated route has."""
    return ((b"deprecation", b"true"), (b"link", f'<{successor}>; rel="successor-version"'.encode()))


def _access_line(
    method: str,
    template: str,
    graph_id: str | None,
    status: int,
    actor: str | None,
    error_kind: str | None,
    is_traced: bool,
) -> LineShape:
    """Return what the access lines of such requests have in common."""
    facts = {
        "request_id": Varies.TEXT,
        "method": method,
        "route": template,
        "graph_id": graph_id,
        "status": status,
        "duration_ms": Varies.NUMBER,
        "bytes_in": Varies.NUMBER,
        "bytes_out": Varies.NUMBER,
        "actor_id": actor,
        "error_kind": error_kind,
    }
    return LineShape("request", facts | {"traceparent": Varies.TEXT} if is_traced else facts)
