"""The console of a server: its pages ask the application in the same process, with the token of whoever looks.

So tokens, policies, limits and the access log are the server's own, and a page shows what a client would get.
"""

from starlette.types import ASGIApp

from omnigraph.client.remote_async import inside
from omnigraph.console.assembly import ConsoleApp
from omnigraph.console.sources.protocol import GraphSite
from omnigraph.console.sources.served import ServedSite
from omnigraph.errors import OmniError, Unauthorized, Usage
from omnigraph.server.app import Application


class TokenDoor:
    """Lets in whoever has a token that the server accepts; everybody, where the server is open."""

    def __init__(self, application: Application) -> None:
        self._application = application
        self.is_open = application.service.is_open
        self.asks_for = "" if self.is_open else "Your token for this server"

    async def admit(self, secret: str, origin: str) -> GraphSite | None:
        """Ask the server with the token; what it allows shows on the pages."""
        try:
            server = inside(self._application, token=None if self.is_open else secret)
        except Usage:
            return None  # blank, or nothing that a header carries: nobody's token
        site = ServedSite(server, title=origin, cli_server=origin, only=None, is_read_only=False, origin=origin)
        try:
            await site.graph_ids()
        except Unauthorized:
            await site.close()
            return None
        except OmniError:
            pass  # the token is known; what it may not do is said where it is tried
        return site


def console_of(application: Application) -> ASGIApp:
    """Return the pages of a server."""
    return ConsoleApp(TokenDoor(application), hosts=None)
