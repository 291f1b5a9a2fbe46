"""The first page: the only graph, or a list of all of them."""

from nicegui import ui
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from omnigraph.console.addresses import page_address
from omnigraph.console.frame import site_of, styled
from omnigraph.console.gatekeeper import PREFIX
from omnigraph.console.states import empty, failure
from omnigraph.errors import OmniError, PolicyDenied


@ui.page("/", title="OmniGraph")
async def graphs_page(request: Request) -> Response | None:
    """List the graphs that a person may see, or go to the only one."""
    site = site_of(request)
    found: list[str] | OmniError
    try:
        found = await site.graph_ids()
    except OmniError as error:
        found = error
    if isinstance(found, list) and len(found) == 1:
        return RedirectResponse(f"{PREFIX}{page_address(found[0], 'overview')}", status_code=303)
    styled(request)
    with ui.element("main").classes("og-main").props("id=main"), ui.element("div").classes("og-card"):
        ui.label(site.title).classes("og-wrap og-soft")
        match found:
            case PolicyDenied():
                _ask_for_one()
            case OmniError():
                failure(found)
            case []:
                empty("There is no graph yet.", "Declare one in cluster.yaml and run `omnigraph cluster apply`.")
            case _:
                for graph_id in found:
                    ui.link(graph_id, page_address(graph_id, "overview")).style("display: block; padding: 6px 0")
    return None


def _ask_for_one() -> None:
    ui.label("You may not list the graphs of this server, but you may open one whose name you know.")
    name = ui.input("Name of the graph").props("data-focus")
    ui.button("Open", on_click=lambda: ui.navigate.to(page_address(name.value, "overview") if name.value else "/"))
