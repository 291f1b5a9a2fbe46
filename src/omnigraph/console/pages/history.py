"""History."""

from nicegui import ui
from starlette.requests import Request

from omnigraph.console.frame import framed
from omnigraph.manifest.commits import MAIN_BRANCH


@ui.page("/g/{graph_id}/history")
async def history_page(request: Request, graph_id: str, at: str = MAIN_BRANCH) -> None:
    """Show the page."""
    async with framed(request, "history", graph_id, at) as view:
        ui.label(view.source.uri)
