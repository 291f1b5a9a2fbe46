"""An HTTP proxy in front of an S3 server that breaks chosen requests on purpose.

A test adds rules; each one fires for the next requests that match it and then steps aside, and everything else is
forwarded untouched. What clients asked is recorded, so that a test can also state what was *not* sent.
"""

import http.client
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import assert_never
from urllib.parse import urlsplit

_CONDITIONS = ("if-match", "if-none-match")
_HOP_BY_HOP = ("connection", "keep-alive", "transfer-encoding")


@dataclass(frozen=True, slots=True)
class LoseRequest:
    """Close the connection before the store hears of the request."""


@dataclass(frozen=True, slots=True)
class LoseAnswer:
    """Let the store act, then close the connection instead of answering."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer in the store's place; the store hears nothing."""

    status: int
    code: str = "InjectedFault"


@dataclass(frozen=True, slots=True)
class Delay:
    """Wait before forwarding."""

    seconds: float


@dataclass(frozen=True, slots=True)
class IgnoreConditions:
    """Forward without `If-Match` and `If-None-Match`, like a store that does not know them."""


Action = LoseRequest | LoseAnswer | Answer | Delay | IgnoreConditions


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A request as the client sent it; header names are lower case."""

    method: str
    path: str
    headers: dict[str, str]

    @property
    def is_conditional(self) -> bool:
        return any(name in self.headers for name in _CONDITIONS)


@dataclass(slots=True, kw_only=True)
class Rule:
    """Break the next `times` matching requests after letting `skip` of them pass."""

    action: Action
    method: str | None = None
    path_contains: str = ""
    only_conditional: bool = False
    skip: int = 0
    times: int = 1

    def matches(self, request: Seen) -> bool:
        return (
            self.method in {None, request.method}
            and self.path_contains in request.path
            and (request.is_conditional or not self.only_conditional)
        )


@dataclass(slots=True)
class FaultyS3:
    """The proxy's controls: `url` to talk to, `rules` to break things, `seen` to look at afterwards."""

    url: str
    upstream: str
    rules: list[Rule] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def break_next(self, action: Action, **match: object) -> None:
        """Add a rule; the keywords are those of `Rule`."""
        with self._lock:
            self.rules.append(Rule(action=action, **match))

    def requests(self, *, method: str | None = None, path_contains: str = "") -> list[Seen]:
        """Return the recorded requests that match, oldest first."""
        with self._lock:
            return [seen for seen in self.seen if method in {None, seen.method} and path_contains in seen.path]

    def take_action(self, request: Seen) -> Action | None:
        """Record `request` and use up one firing of the first rule that wants it."""
        with self._lock:
            self.seen.append(request)
            for rule in self.rules:
                if rule.times == 0 or not rule.matches(request):
                    continue
                if rule.skip > 0:
                    rule.skip -= 1
                    continue
                rule.times -= 1
                return rule.action
        return None


@contextmanager
def faulty_s3(upstream: str) -> Iterator[FaultyS3]:
    """Run a proxy to the S3 server at `upstream` (`http://host:port`) on a free port."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    server.controls = FaultyS3(url=f"http://127.0.0.1:{server.server_port}", upstream=upstream)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server.controls
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Two small writes per answer and Nagle's algorithm would cost 40 ms per request.
    disable_nagle_algorithm = True

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        action = self.server.controls.take_action(Seen(method=self.command, path=self.path, headers=headers))
        match action:
            case None:
                self._forward(headers, body)
            case LoseRequest():
                self._hang_up()
            case LoseAnswer():
                self._ask_upstream(headers, body)
                self._hang_up()
            case Answer(status=status, code=code):
                self._answer(
                    status, {"content-type": "application/xml"}, f"<Error><Code>{code}</Code></Error>".encode()
                )
            case Delay(seconds=seconds):
                time.sleep(seconds)
                self._forward(headers, body)
            case IgnoreConditions():
                self._forward({name: value for name, value in headers.items() if name not in _CONDITIONS}, body)
            case _:
                assert_never(action)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _serve  # noqa: N815 - names that http.server looks for

    def _forward(self, headers: dict[str, str], body: bytes) -> None:
        self._answer(*self._ask_upstream(headers, body))

    def _ask_upstream(self, headers: dict[str, str], body: bytes) -> tuple[int, dict[str, str], bytes]:
        connection = http.client.HTTPConnection(urlsplit(self.server.controls.upstream).netloc, timeout=60)
        try:
            connection.request(self.command, self.path, body=body or None, headers=headers)
            response = connection.getresponse()
            return response.status, dict(response.getheaders()), response.read()
        finally:
            connection.close()

    def _answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response_only(status)
        for name, value in headers.items():
            if name.lower() not in {*_HOP_BY_HOP, "content-length"}:
                self.send_header(name, value)
        is_head = self.command == "HEAD"
        self.send_header("Content-Length", headers.get("Content-Length", "0") if is_head else str(len(body)))
        self.end_headers()
        if not is_head:
            self.wfile.write(body)

    def _hang_up(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, *args: object) -> None:
        """Stay quiet; tests read `seen`."""
