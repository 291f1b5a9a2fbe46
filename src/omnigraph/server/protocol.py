"""HTTP on a connection: uvicorn's protocol, which in addition does not wait forever and does not read without end.

A client that sends its headers or its body a byte at a time would hold a connection for as long as it likes. One sweep
over all connections each second ends those that are late, so that no request pays for a timer of its own.
"""

import asyncio
from typing import TYPE_CHECKING, cast

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from omnigraph.base import ids
from omnigraph.errors import BadRequest, OmniError, ResourceLimit
from omnigraph.server.failures import failure_reply

if TYPE_CHECKING:
    from omnigraph.server.settings import Limits

_JSON_HEAD = b"content-type: application/json\r\nx-request-id: %b\r\ncontent-length: %d\r\n"
_SLICE_BYTES = 16_384


__all__ = ["BoundedProtocol", "RequestResponseCycle", "protocol_class", "write_whole"]


class BoundedProtocol(HttpToolsProtocol):
    """One connection; `limits` is set on the class that a server uses."""

    limits: "Limits"
    _header_bytes = 0
    _headers_since: float | None = None
    """Since when the rest of some headers has been awaited; None while nothing of a request is there."""
    _received_at = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as its base has it
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._received_at = self._headers_since = self.loop.time()

    def data_received(self, data: bytes) -> None:
        """Take bytes; a request whose headers are endless ends here."""
        self._received_at = self.loop.time()
        if len(data) <= _SLICE_BYTES:
            self._feed(data)
            return
        # In slices, so that it shows how many of the bytes are headers.
        rest = memoryview(data)
        while rest and not self.transport.is_closing():
            size = _SLICE_BYTES if self._is_idle else len(rest)
            self._feed(bytes(rest[:size]))
            rest = rest[size:]

    @property
    def _is_idle(self) -> bool:
        """Whether no request is being answered, so that what comes is the headers of the next."""
        return self.cycle is None or self.cycle.response_complete

    def _feed(self, data: bytes) -> None:
        super().data_received(data)
        if not self._is_idle:
            self._header_bytes, self._headers_since = 0, None
            return
        self._header_bytes += len(data)
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
        """Refuse what is no request, in the form that all failures have."""
        del msg
        self._refuse(400, BadRequest("This is no HTTP/1.1 request that can be read."))

    def _unsupported_upgrade_warning(self) -> None:
        """Say nothing: the request is answered as if no other protocol had been asked for, as HTTP has it."""

    def _refuse(self, status: int, error: OmniError) -> None:
        """Answer what never became a request, and close the connection."""
        request_id = ids.new_ulid()
        reply = failure_reply(error, request_id=request_id, location=None, graph_id=None, is_discreet=False)
        content = [STATUS_LINE[status]]
        for name, value in self.server_state.default_headers:
            content += (name, b": ", value, b"\r\n")
        head = _JSON_HEAD % (request_id.encode(), len(reply.body))
        self.transport.write(b"".join((*content, head, b"connection: close\r\n\r\n", reply.body)))
        self.transport.close()

    def end_if_late(self, now: float) -> None:
        """Close the connection if the rest of a request is overdue."""
        cycle = self.cycle
        since = self._headers_since
        if cycle is not None and not cycle.response_complete:
            # While the application does not read, nobody waits for the client.
            since = self._received_at if cycle.more_body and not self.flow.read_paused else None
        if since is not None and now - since > self.limits.arrival_seconds and not self.transport.is_closing():
            self.transport.close()


def write_whole(cycle: RequestResponseCycle, status: int, request_id: str, body: bytes) -> bool:
    """Write a JSON answer in one piece, and do what uvicorn does when an answer is complete.

    By way of ASGI it is two messages and two writes, which for a small document is a fifth of all the work. Returns
    False, having done nothing, where that way has to be taken: somebody reads slowly, or has gone.
    """
    if cycle.response_started or cycle.disconnected or cycle.flow.write_paused:
        return False
    content = [STATUS_LINE[status]]
    for name, value in cycle.default_headers:
        content += (name, b": ", value, b"\r\n")
    end = b"\r\n" if cycle.keep_alive else b"connection: close\r\n\r\n"
    content += (_JSON_HEAD % (request_id.encode(), len(body)), end, body)
    cycle.response_started = cycle.response_complete = True
    cycle.waiting_for_100_continue = False
    cycle.transport.write(b"".join(content))
    cycle.message_event.set()
    if not cycle.keep_alive:
        cycle.transport.close()
    cycle.on_response()
    return True


def protocol_class(limits: "Limits") -> type[BoundedProtocol]:
    """Return the protocol with the limits of one server."""
    return cast("type[BoundedProtocol]", type("ServerProtocol", (BoundedProtocol,), {"limits": limits}))
