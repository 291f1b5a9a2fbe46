"""A connection on which a request asks for another protocol that this server does not speak, as HTTP/2 is.

The parser takes such a request to have no body, and what follows it to be of the other protocol. A server may go on as
if nothing had been asked for, and then the body belongs to the request: clients of HTTP/2 ask so with every request.
"""

from collections.abc import Iterable
from typing import Protocol

import httptools

_FRAMING = (b"content-length", b"transfer-encoding")


class Listener(Protocol):
    """What a parser tells of what it reads."""

    def on_message_begin(self) -> None:
        """Take note of the first byte of a request."""
        ...

    def on_url(self, url: bytes) -> None:
        """Take a piece of the address."""
        ...

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header."""
        ...

    def on_headers_complete(self) -> None:
        """Take note of the end of the headers."""
        ...

    def on_body(self, body: bytes) -> None:
        """Take a piece of the body."""
        ...

    def on_message_complete(self) -> None:
        """Take note of the end of the request."""
        ...


def parser_behind(listener: Listener, headers: Iterable[tuple[bytes, bytes]]) -> httptools.HttpRequestParser:
    """Return a parser that goes on behind these headers: what comes is the body, and then the next request."""
    heard = _Heard(listener)
    parser = httptools.HttpRequestParser(heard)
    parser.set_dangerous_leniencies(lenient_data_after_close=True)
    framing = b"".join(b"%b: %b\r\n" % (name, value) for name, value in headers if name in _FRAMING)
    parser.feed_data(b"POST / HTTP/1.1\r\n" + framing + b"\r\n")
    return parser


class _Heard:
    """Passes on what a parser tells, but for the first headers: they are known."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._is_known = True
        self.on_body = listener.on_body
        self.on_message_complete = listener.on_message_complete

    def on_message_begin(self) -> None:
        if not self._is_known:
            self._listener.on_message_begin()

    def on_url(self, url: bytes) -> None:
        if not self._is_known:
            self._listener.on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._is_known:
            self._listener.on_header(name, value)

    def on_headers_complete(self) -> None:
        if self._is_known:
            self._is_known = False
        else:
            self._listener.on_headers_complete()
