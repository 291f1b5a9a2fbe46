"""Running the server: binding, the address line, signals, and an end that loses nothing."""

import asyncio
import os
import socket
import sys
from collections.abc import Callable
from types import FrameType

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from omnigraph.base.clock import monotonic_seconds
from omnigraph.errors import BootRefused
from omnigraph.server import memory
from omnigraph.server.app import Application
from omnigraph.server.protocol import BoundedProtocol, protocol_class
from omnigraph.server.service import Service
from omnigraph.server.settings import Bind

INTERRUPTED = 130
_WRITES_SECONDS = 300.0
"""How much longer than asked for the end waits for writes that have begun."""
_PAUSE_SECONDS = 0.02
_SWEEP_SECONDS = 1.0
_BACKLOG = 2_048
_PAGES = "/ui"


class Running(uvicorn.Server):
    """uvicorn's server with an end of its own: see `shutdown`."""

    def __init__(self, config: uvicorn.Config, service: Service, *, shutdown_seconds: float) -> None:
        super().__init__(config)
        self._service = service
        self._shutdown_seconds = shutdown_seconds
        self._signals = 0

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to end at the first signal; end at once at the second."""
        del sig, frame
        self._signals += 1
        if self._signals > 1:
            self._service.log.stop()
            os._exit(INTERRUPTED)
        self._service.is_draining = True
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen, and to look after connections and memory."""
        await super().startup(sockets)
        self._beside = [asyncio.ensure_future(self._sweep()), asyncio.ensure_future(memory.keep_returning())]

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop listening, let requests end, close connections, and wait for writes that have begun.

        Connections without a request stay open until then, so that they can still be told that this is the end.
        """
        service = self._service
        service.is_draining = True
        for server in self.servers:
            server.close()
        for sock in sockets or ():
            sock.close()
        is_drained = await self._wait(lambda: not service.running, self._shutdown_seconds)
        if not is_drained:
            service.log.caution(
                "requests did not end in time", {"running": service.running, "seconds": self._shutdown_seconds}
            )
        if service.workers.writing:
            service.log.caution("waiting for writes that have begun", {"writes": service.workers.writing})
            await self._wait(lambda: not service.workers.writing, _WRITES_SECONDS)
        for task in self._beside:
            task.cancel()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        if is_drained:
            await self._wait(lambda: not self.server_state.connections, 1.0)
        for connection in list(self.server_state.connections):
            connection.transport.abort()
        service.workers.close()

    async def _wait(self, condition: Callable[[], bool], seconds: float) -> bool:
        deadline = monotonic_seconds() + seconds
        while not condition():
            if monotonic_seconds() >= deadline:
                return False
            await asyncio.sleep(_PAUSE_SECONDS)
        return True

    async def _sweep(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(_SWEEP_SECONDS)
            now = loop.time()
            for connection in list(self.server_state.connections):
                if isinstance(connection, BoundedProtocol):
                    connection.end_if_late(now)


def beside(application: ASGIApp, pages: ASGIApp) -> ASGIApp:
    """Return an application that hands what is below `/ui` to pages, and everything else on."""

    async def either(scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope.get("path", "")
        is_page = path == _PAGES or path.startswith(f"{_PAGES}/") or scope["type"] == "websocket"
        await (pages if is_page else application)(scope, receive, send)

    return either


def listen(bind: Bind) -> socket.socket:
    """Bind the address; raise `BootRefused` if somebody else has it, or nobody can."""
    try:
        family = socket.getaddrinfo(bind.host, bind.port, type=socket.SOCK_STREAM)[0][0]
        found = socket.socket(family, socket.SOCK_STREAM)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((bind.host, bind.port))
        found.listen(_BACKLOG)
    except OSError as error:
        raise BootRefused(
            f"The server cannot listen on {bind.spelled(bind.port)}: {error.strerror or error}."
        ) from error
    found.setblocking(False)
    return found


def run_service(
    application: Application,
    sock: socket.socket,
    bind: Bind,
    *,
    shutdown_seconds: float,
    pages: ASGIApp | None = None,
) -> None:
    """Serve until a signal comes; says where on stdout, in one line. `pages` answer below `/ui`."""
    service = application.service
    config = uvicorn.Config(
        application if pages is None else beside(application, pages),
        http=protocol_class(service.limits, application.answer_at_once),
        ws="none" if pages is None else "auto",
        loop="uvloop" if sys.platform != "win32" else "asyncio",
        lifespan="off",
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=int(service.limits.idle_seconds),
        backlog=_BACKLOG,
    )
    sys.stdout.write(f"OMNIGRAPH_LISTEN_ADDR={bind.spelled(sock.getsockname()[1])}\n")
    sys.stdout.flush()
    server = Running(config, service, shutdown_seconds=shutdown_seconds)
    server.run(sockets=[sock])
