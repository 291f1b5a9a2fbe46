"""Running the console on this machine: binding, the address with its key, and an end at Ctrl-C."""

import socket

import uvicorn

from omnigraph.console.assembly import ConsoleApp
from omnigraph.console.gatekeeper import PREFIX
from omnigraph.console.sources.protocol import GraphSite
from omnigraph.console.visitors import OneTimeDoor
from omnigraph.errors import Usage

HOST = "127.0.0.1"
HOSTS = frozenset({HOST, "localhost", "[::1]"})


class LocalConsole:
    """A console for whoever started it."""

    def __init__(self, site: GraphSite, *, port: int) -> None:
        door = OneTimeDoor(site)
        self._app = ConsoleApp(door, hosts=HOSTS)
        self._socket = _listening(port)
        self.port: int = self._socket.getsockname()[1]
        self.address = f"http://{HOST}:{self.port}{PREFIX}/#token={door.secret}"
        """Opens the console once: the fragment holds the key, and never leaves the browser as part of an address."""

    def run(self) -> None:
        """Serve until somebody ends it."""
        config = uvicorn.Config(
            self._app,
            loop="auto",
            lifespan="off",
            access_log=False,
            log_config=None,
            log_level="warning",
            server_header=False,
            timeout_graceful_shutdown=2,
        )
        uvicorn.Server(config).run(sockets=[self._socket])


def _listening(port: int) -> socket.socket:
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((HOST, port))
        found.listen()  # from here on a browser that is faster than this program waits instead of failing
    except OSError as error:
        found.close()
        raise Usage(
            f"The console cannot listen on port {port}: {error.strerror or error}. Give another one with --port, or "
            "leave it out for any that is free.",
            flag="--port",
        ) from error
    return found
