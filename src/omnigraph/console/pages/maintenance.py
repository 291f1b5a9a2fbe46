"""The maintenance of a graph: how it is doing, what would be done about it, and doing it."""

from typing import TYPE_CHECKING, Any

from nicegui import ui
from starlette.requests import Request

from omnigraph.console.frame import View, framed
from omnigraph.console.maintenance.drift import drift_card
from omnigraph.console.maintenance.health import show_runs, show_status, show_tables
from omnigraph.console.maintenance.runs import RunPanel, cleanup_card, optimize_card, verify_card
from omnigraph.console.states import empty, fetched
from omnigraph.documents import health_document
from omnigraph.manifest.commits import MAIN_BRANCH

if TYPE_CHECKING:
    from omnigraph.console.sources.upkeep import GraphUpkeep

_LOOK_SECONDS = 20.0
_STYLE = """
.og-finding { display: grid; grid-template-columns: 96px minmax(0, 1fr); gap: 4px 14px; padding: 12px 0;
  border-top: 1px solid var(--line); margin-top: 10px; }
.og-finding > .og-badge { justify-self: start; align-self: start; }
.og-actions { grid-template-columns: repeat(auto-fit, minmax(min(100%, 280px), 1fr)); }
.og-actions .og-stack { gap: 10px; }
.og-main > div:empty { display: none; }
@media (max-width: 760px) { .og-finding { grid-template-columns: minmax(0, 1fr); } }
"""


@ui.page("/g/{graph_id}/maintenance")
async def maintenance_page(request: Request, graph_id: str, at: str = MAIN_BRANCH) -> None:
    """Show the page."""
    async with framed(request, "maintenance", graph_id, at) as view:
        ui.add_css(_STYLE)
        upkeep = view.source.upkeep
        if upkeep is None:
            with ui.element("section").classes("og-card"):
                empty(
                    "Maintenance needs the storage of the graph.",
                    "A server does none. Run omnigraph ui, or omnigraph maintain, where the storage can be reached.",
                )
            return
        _page(view, upkeep)


def _page(view: View, upkeep: "GraphUpkeep") -> None:
    async def look() -> Any:
        return health_document(await upkeep.health(), uri=view.source.uri)

    def show(document: Any) -> None:
        with ui.element("section").classes("og-card"):
            show_status(document)
        rest.clear()
        with rest:
            with ui.element("section").classes("og-card"):
                show_tables(document)
            with ui.element("section").classes("og-card"):
                show_runs(document)

    is_allowed = not view.source.is_read_only
    top = ui.element("div").classes("w-full")
    with ui.element("div").classes("og-columns og-actions"):
        cards = [ui.element("section").classes("og-card og-stack") for _ in range(3)]
    if not is_allowed:
        ui.label("This console was opened with --read-only: it plans and verifies, and changes nothing.").classes(
            "og-soft"
        )
    panel = ui.element("div").classes("w-full")
    plan = ui.element("div").classes("w-full")
    with ui.element("section").classes("og-card"):
        drift_card(view, upkeep)
    rest = ui.element("div").classes("og-stack")
    with cards[0]:
        optimize_card(view, upkeep, plan, is_allowed=is_allowed)
    with cards[1]:
        cleanup_card(view, upkeep, plan, is_allowed=is_allowed)
    with cards[2]:
        verify_card(upkeep)
    with top:
        reload = fetched(look, show, lines=6, is_quiet_later=True)
    with panel:
        RunPanel(view, upkeep, reload)
    ui.timer(_LOOK_SECONDS, reload)
