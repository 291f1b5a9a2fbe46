"""Explore: find a node, look at its card, follow its edges, and see the same in the past."""

from nicegui import ui
from starlette.requests import Request

from omnigraph.console.explore.walking import Walk
from omnigraph.console.frame import framed
from omnigraph.manifest.commits import MAIN_BRANCH


@ui.page("/g/{graph_id}/explore")
async def explore_page(request: Request, graph_id: str, at: str = MAIN_BRANCH) -> None:
    """Show the page."""
    async with framed(request, "explore", graph_id, at) as view:
        walk = await Walk.begun(view, dict(request.query_params))
        walk.show()
