"""HTTP on a connection: uvicorn's protocol, which in addition does not wait forever and does not read without end.

A client that sends its headers or its body a byte at a time would hold a connection for as long as it likes. One sweep
over all connections each second ends those that are late, so that no request pays for a timer of its own.
"""

import asyncio
from typing import TYPE_CHECKING, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

if TYPE_CHECKING:
    from omnigraph.server.settings import Limits

_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


class BoundedProtocol(HttpToolsProtocol):
    """One connection; `limits` is set on the class that a server uses."""

    limits: "Limits"
    _header_bytes = 0
    _awaited_since: float | None = None
    """Since when the rest of a request has been awaited; None between requests and while one is answered."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as its base has it
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._awaited_since = self.loop.time()

    def data_received(self, data: bytes) -> None:
        """Take bytes; a request whose headers are endless ends here."""
        try:
            super().data_received(data)
        except _HeadersTooLarge:
            self.transport.write(_TOO_LARGE)
            self.transport.close()

    def on_message_begin(self) -> None:
        """Begin a request."""
        super().on_message_begin()
        self._header_bytes = 0
        self._awaited_since = self.loop.time()

    def on_url(self, url: bytes) -> None:
        """Take a part of the address."""
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header."""
        self._count(len(name) + len(value))
        super().on_header(name, value)

    def on_body(self, body: bytes) -> None:
        """Take a part of the body."""
        self._awaited_since = self.loop.time()
        super().on_body(body)

    def on_message_complete(self) -> None:
        """End a request."""
        self._awaited_since = None
        super().on_message_complete()

    def end_if_late(self, now: float) -> None:
        """Close the connection if the rest of a request is overdue."""
        since = self._awaited_since
        if since is None or now - since < self.limits.arrival_seconds:
            return
        # While the application does not read, nobody waits for the client.
        if not self.flow.read_paused and not self.transport.is_closing():
            self.transport.close()

    def _count(self, size: int) -> None:
        self._header_bytes += size
        if self._header_bytes > self.limits.header_bytes:
            raise _HeadersTooLarge


class _HeadersTooLarge(Exception):
    """Headers and address together are longer than allowed."""


def protocol_class(limits: "Limits") -> type[BoundedProtocol]:
    """Return the protocol with the limits of one server."""
    return cast("type[BoundedProtocol]", type("ServerProtocol", (BoundedProtocol,), {"limits": limits}))
