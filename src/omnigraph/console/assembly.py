"""The console as one application: pages, behind the gatekeeper."""

import asyncio
from contextlib import AsyncExitStack
from typing import Any, cast

from starlette.applications import Starlette
from starlette.types import Receive, Scope, Send

from omnigraph.console.gatekeeper import PREFIX, Gatekeeper
from omnigraph.console.visitors import Door


class ConsoleApp:
    """Answers everything below the console's prefix; one in a process, because pages are registered once."""

    def __init__(self, door: Door, *, hosts: frozenset[str] | None) -> None:
        from nicegui import app, ui

        from omnigraph.console.frame import show_failed_page
        from omnigraph.console.pages import explore, graphs, history, maintenance, overview, query

        del explore, graphs, history, maintenance, overview, query  # imported so that their pages are known
        self._outer = Starlette()
        ui.run_with(
            cast("Any", self._outer),
            mount_path=PREFIX,
            title="OmniGraph",
            dark=None,
            tailwind=False,
            show_welcome_message=False,
            reconnect_timeout=30,
        )
        app.on_page_exception(show_failed_page)
        self._gatekeeper = Gatekeeper(self._outer, door, hosts=hosts)
        self._stack = AsyncExitStack()
        self._started: asyncio.Future[Any] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; the first one starts what pages need."""
        if self._started is None:
            self._started = asyncio.ensure_future(
                self._stack.enter_async_context(self._outer.router.lifespan_context(self._outer))
            )
        await asyncio.shield(self._started)
        await self._gatekeeper(scope, receive, send)

    async def close(self) -> None:
        """End what pages need."""
        await self._stack.aclose()
