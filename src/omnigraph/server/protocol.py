"""HTTP on a connection: uvicorn's protocol, which in addition does not wait forever and does not read without end.

A client that sends its headers or its body a byte at a time, or takes nothing of its answer, would hold a connection
for as long as it likes. One sweep over all connections each second ends those that are late, so that no request pays
for a timer of its own.
"""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from httptools import HttpParserError, HttpParserUpgrade
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from omnigraph.base import ids
from omnigraph.base.logs import logger_of
from omnigraph.errors import BadRequest, OmniError, ResourceLimit
from omnigraph.server.continuing import parser_behind
from omnigraph.server.failures import failure_reply
from omnigraph.server.settings import LOAD_BODY_BYTES_MAX

if TYPE_CHECKING:
    from uvicorn._types import ASGI3Application

    from omnigraph.server.replies import Reply
    from omnigraph.server.settings import Limits

_JSON_HEAD = b"content-type: application/json\r\nx-request-id: %b\r\ncontent-length: %d\r\n"
_SLICE_BYTES = 16_384
_FAREWELL_SECONDS = 2.0
_log = logger_of(__name__)

__all__ = ["BoundedProtocol", "RequestResponseCycle", "can_write_whole", "protocol_class", "write_whole"]


class BoundedProtocol(HttpToolsProtocol):
    """One connection; `limits` and `answer_at_once` are set on the class that a server uses."""

    limits: "Limits"
    answer_at_once: "Callable[[RequestResponseCycle], bool]"
    _is_feeding = False
    _begun: RequestResponseCycle | None = None
    """The request that came with the bytes that are being taken."""
    _running: RequestResponseCycle | None = None
    """The request that is being answered; others may have come behind it."""
    _header_bytes = 0
    _headers_since: float | None = None
    """Since when the rest of some headers has been awaited; None while nothing of a request is there."""
    _received_at = 0.0
    _is_in_body = False
    """Whether what comes next belongs to the body of a request, be it answered already."""
    _unread_bytes = 0
    _unread_since: float | None = None
    """Since when the rest of a body has been coming whose request is answered."""
    _refused_at: float | None = None
    """Since when nothing that comes is read any more: an answer has said why."""
    _is_deaf = False
    """Whether nothing more is read, and the connection ends with the answer that is on its way."""
    _untaken_bytes = 0
    _untaken_since = 0.0
    """Since when the client has taken none of the bytes that wait for it."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as its base has it
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._received_at = self._headers_since = self.loop.time()

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell the request that is being answered that nobody waits for it, also if others came behind it."""
        running = self._running
        super().connection_lost(exc)
        if running is not None and not running.response_complete:
            running.disconnected = True
            running.message_event.set()

    def data_received(self, data: bytes) -> None:
        """Take bytes; a request whose headers are endless ends here."""
        if self._refused_at is not None or self._is_deaf:
            return
        self._received_at = self.loop.time()
        if len(data) <= _SLICE_BYTES:
            self._feed(data)
            return
        # In slices, so that it shows how many of the bytes are headers.
        rest = memoryview(data)
        while rest and self._refused_at is None and not self._is_deaf and not self.transport.is_closing():
            size = _SLICE_BYTES if self._is_idle else len(rest)
            self._feed(bytes(rest[:size]))
            rest = rest[size:]

    @property
    def _is_idle(self) -> bool:
        """Whether no request is being answered, so that what comes is the headers of the next."""
        return self.cycle is None or self.cycle.response_complete

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: "ASGI3Application") -> None:
        """Wait with a request until the bytes that came with it are taken: its body is mostly among them."""
        self._running = cycle
        if self._is_feeding and self._begun is None:
            self._begun = cycle
        else:
            super()._start_asgi_task(cycle, app)

    def _begin(self, cycle: RequestResponseCycle) -> None:
        """Answer a request at once if that can be, or start a task that does."""
        self._begun = None
        if cycle.more_body or not self.answer_at_once(cycle):
            super()._start_asgi_task(cycle, self.app)

    def on_headers_complete(self) -> None:
        """Begin with a request; what follows is its body."""
        super().on_headers_complete()
        self._is_in_body = True

    def on_message_complete(self) -> None:
        """Take note of the end of a request."""
        self._is_in_body = False
        super().on_message_complete()

    def _feed(self, data: bytes) -> None:
        self._is_feeding = True
        self._parse(data)
        self._is_feeding = False
        begun = self._begun
        if begun is not None:
            self._begin(begun)
        if begun is not None or not self._is_idle:
            self._header_bytes, self._headers_since = 0, None
            self._unread_bytes, self._unread_since = 0, None
        elif self._is_in_body:
            self._pass_over(len(data))
        else:
            self._count_headers(len(data))

    def _parse(self, data: bytes) -> None:
        """Let the parser read; another protocol that a request asks for is left alone, as HTTP has it."""
        self._unset_keepalive_if_required()
        try:
            while data:
                try:
                    self.parser.feed_data(data)
                except HttpParserUpgrade as upgrade:
                    if self._should_upgrade():
                        self.handle_websocket_upgrade()
                        return
                    data = data[upgrade.args[0] :]
                    self.cycle.more_body = self._is_in_body = True
                    self.parser = parser_behind(self, self.headers)
                else:
                    return
        except HttpParserError:
            self.send_400_response("")

    def _pass_over(self, size: int) -> None:
        """Let the rest of a body go by whose request was answered without it; the next request comes behind it.

        Whoever sends without end is not listened to for ever, and has had the answer.
        """
        self._unread_bytes += size
        if self._unread_since is None:
            self._unread_since = self._received_at
        if self._unread_bytes > LOAD_BODY_BYTES_MAX:
            self.transport.close()

    def _count_headers(self, size: int) -> None:
        if self._unread_since is not None:
            self._unread_bytes, self._unread_since = 0, None
            size = 0  # or next to none: most of it ended a body
        self._header_bytes += size
        if self._headers_since is None:
            self._headers_since = self._received_at
        if self._header_bytes > self.limits.header_bytes and not self.transport.is_closing():
            self._refuse(
                431,
                ResourceLimit(
                    f"The address and the headers are longer than {self.limits.header_bytes} bytes.",
                    resource="request_header_bytes",
                    limit=self.limits.header_bytes,
                    actual=self._header_bytes,
                ),
            )

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no request, in the form that all failures have.

        Never in the place of another answer: a request that runs may have written, and its client is to know.
        """
        del msg
        cycle = self.cycle
        if self._is_idle and self._is_in_body:
            self.transport.close()  # its request is answered
        elif self._is_idle or self._begun is not None or self._has_broken_body:
            self._refuse(400, BadRequest("This is no HTTP/1.1 request that can be read."))
        elif cycle.more_body and not cycle.response_started:
            self.transport.close()  # it stands behind others, whose answers come first
        else:
            cycle.keep_alive = False
            self._is_deaf = True

    @property
    def _has_broken_body(self) -> bool:
        """Whether what cannot be read belongs to the one request that is here, of which nothing was done yet."""
        cycle = self.cycle
        return cycle.more_body and not cycle.response_started and not self.pipeline

    def _refuse(self, status: int, error: OmniError) -> None:
        """Answer what never became a request, and close the connection when the client has had time to read why.

        Closing at once would reset a connection on which more is coming, and the answer would be lost with it.
        """
        request_id = ids.new_ulid()
        _log.warning("a connection brought no request: %s", error.message, extra={"request_id": request_id})
        reply = failure_reply(error, request_id=request_id, location=None, graph_id=None, is_discreet=False)
        head = _HEADS.of(self.server_state.default_headers, status) + _JSON_HEAD % (
            request_id.encode(),
            len(reply.body),
        )
        self.transport.write(b"".join((head, b"connection: close\r\n\r\n", reply.body)))
        self._refused_at = self.loop.time()
        self._begun = None
        if self._is_idle:
            self.transport.write_eof()
        else:
            # The request before it is still being answered; its answer has nowhere to go any more.
            self.transport.close()

    def end_if_late(self, now: float) -> None:
        """Close the connection if the rest of a request is overdue, or its refusal has been read."""
        self._end_if_stalled(now)
        if self._refused_at is not None:
            if now - self._refused_at > _FAREWELL_SECONDS:
                self.transport.close()
            return
        cycle = self.cycle
        since = self._headers_since if self._unread_since is None else self._unread_since
        if cycle is not None and not cycle.response_complete:
            # While the application does not read, nobody waits for the client.
            since = self._received_at if cycle.more_body and not self.flow.read_paused else None
        if since is not None and now - since > self.limits.arrival_seconds and not self.transport.is_closing():
            self.transport.close()

    def _end_if_stalled(self, now: float) -> None:
        """Break off if bytes have been waiting for the client for long, and it has taken none of them.

        An export would hold its slot, and any answer its memory, for a client that stopped to read.
        """
        waiting = self.transport.get_write_buffer_size()
        if not waiting or waiting != self._untaken_bytes:
            self._untaken_bytes, self._untaken_since = waiting, now
        elif now - self._untaken_since > self.limits.stalled_seconds:
            self.transport.abort()


class _Heads:
    """How answers of this second begin; uvicorn makes new headers of its own, with the date, every second."""

    def __init__(self) -> None:
        self._headers: list[tuple[bytes, bytes]] | None = None
        self._head_by_status: dict[int, bytes] = {}

    def of(self, headers: list[tuple[bytes, bytes]], status: int) -> bytes:
        """Return the first line and the headers that every answer has."""
        if headers is not self._headers:
            self._headers, self._head_by_status = headers, {}
        head = self._head_by_status.get(status)
        if head is None:
            head = self._head_by_status[status] = b"".join((STATUS_LINE[status], *map(_header_line, headers)))
        return head


_HEADS = _Heads()


def _header_line(header: tuple[bytes, bytes]) -> bytes:
    return b"%b: %b\r\n" % header


def can_write_whole(cycle: RequestResponseCycle) -> bool:
    """Whether an answer can be written in one piece now: nobody reads slowly or has gone."""
    return not (cycle.response_started or cycle.disconnected or cycle.flow.write_paused)


def write_whole(cycle: RequestResponseCycle, reply: "Reply", request_id: str) -> None:
    """Write a JSON answer in one piece, and do what uvicorn does when an answer is complete.

    By way of ASGI it is two messages and two writes, which for a small document is a fifth of all the work.
    """
    body = reply.body
    head = _HEADS.of(cycle.default_headers, reply.status) + _JSON_HEAD % (request_id.encode(), len(body))
    if reply.headers:
        head += b"".join(map(_header_line, reply.headers))
    end = b"\r\n" if cycle.keep_alive else b"connection: close\r\n\r\n"
    cycle.response_started = cycle.response_complete = True
    cycle.waiting_for_100_continue = False
    cycle.transport.write(b"".join((head, end, body)))
    cycle.message_event.set()
    if not cycle.keep_alive:
        cycle.transport.close()
    cycle.on_response()


def protocol_class(limits: "Limits", answer_at_once: "Callable[[RequestResponseCycle], bool]") -> type[BoundedProtocol]:
    """Return the protocol with the limits of one server, and with what answers requests that need no task."""
    own = {"limits": limits, "answer_at_once": staticmethod(answer_at_once)}
    return cast("type[BoundedProtocol]", type("ServerProtocol", (BoundedProtocol,), own))
