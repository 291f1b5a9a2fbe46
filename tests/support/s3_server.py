"""An S3 server for tests: moto, with the atomic writes of the real one.

moto looks at `If-Match` and `If-None-Match` first and writes afterwards, with other threads in between: of eight racing
creators two were seen to win. Here writes pass one at a time. Run as a script, it says on which port it listens; an
argument is how many seconds its clock is ahead of the time, or behind it.
"""

import datetime as dt
import io
import sys
from collections.abc import Callable, Iterable
from threading import Lock
from typing import Any

import moto.s3.models
from moto.core.utils import utcnow
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import run_simple

WsgiApp = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


class AtomicWrites:
    """A WSGI application that lets one writing request at a time into another one."""

    def __init__(self, app: WsgiApp) -> None:
        self._app = app
        self._writing = Lock()

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if environ["REQUEST_METHOD"] in {"GET", "HEAD"}:
            return self._app(environ, start_response)
        # The body is read outside the lock: a client that was paused while sending must not stop all others.
        length = int(environ.get("CONTENT_LENGTH") or 0)
        environ["wsgi.input"] = io.BytesIO(environ["wsgi.input"].read(length))
        with self._writing:
            return list(self._app(environ, start_response))


def shift_clock(seconds: int) -> None:
    """Let this server believe in another time: in what it dates objects with, and in the dates of its answers."""
    shift = dt.timedelta(seconds=seconds)
    moto.s3.models.utcnow = lambda: utcnow() + shift
    dated = MotoRequestHandler.date_time_string

    def date_time_string(self: Any, timestamp: float | None = None) -> str:
        now = dt.datetime.now(dt.UTC) + shift
        return dated(self, now.timestamp() if timestamp is None else timestamp)

    MotoRequestHandler.date_time_string = date_time_string


if __name__ == "__main__":
    if len(sys.argv) > 1:
        shift_clock(int(sys.argv[1]))
    app = AtomicWrites(DomainDispatcherApplication(create_backend_app))
    run_simple("127.0.0.1", 0, app, threaded=True, request_handler=MotoRequestHandler)
