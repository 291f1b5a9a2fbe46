"""The overview of a graph: its schema as a drawing, how much there is, what happened last, and how it is doing."""

from nicegui import ui
from starlette.requests import Request

from omnigraph.console.frame import framed
from omnigraph.console.sources.protocol import GraphState
from omnigraph.console.states import fetched
from omnigraph.manifest.commits import MAIN_BRANCH


@ui.page("/g/{graph_id}/overview")
async def overview_page(request: Request, graph_id: str, at: str = MAIN_BRANCH) -> None:
    """Show the page."""
    async with framed(request, "overview", graph_id, at) as view:
        with ui.element("div").classes("og-card"):
            fetched(lambda: view.source.state(view.at), _counts)


def _counts(state: GraphState) -> None:
    with ui.element("table").classes("og-table"):
        for count in state.counts:
            with ui.element("tr"):
                with ui.element("td"):
                    ui.label(count.type_name)
                with ui.element("td").classes("og-number"):
                    ui.label(f"{count.rows:,}")
