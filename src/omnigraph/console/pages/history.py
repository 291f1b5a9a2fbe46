"""The history of a graph: commits drawn as a graph, one commit's changes, and branches compared and merged."""

from typing import TYPE_CHECKING

from nicegui import ui
from starlette.requests import Request

from omnigraph.base.units import counted
from omnigraph.console.frame import View, framed
from omnigraph.console.history.branch_dialog import branch_button
from omnigraph.console.history.commit_part import commit_part
from omnigraph.console.history.compare_part import compare_part
from omnigraph.console.history.drawing import draw
from omnigraph.console.history.gathering import history_page as page_of_history
from omnigraph.console.history.style import HISTORY_STYLE
from omnigraph.console.states import empty, fetched
from omnigraph.console.words import heading
from omnigraph.manifest.commits import MAIN_BRANCH

if TYPE_CHECKING:
    from omnigraph.console.history.gathering import HistoryPage

_COMPARES = "-"
"""What stands in an address for a branch that is not chosen yet."""


@ui.page("/g/{graph_id}/history")
async def history_page(
    request: Request,
    graph_id: str,
    at: str = MAIN_BRANCH,
    commit: str = "",
    changes: str = "",
    source: str = "",
    into: str = "",
    part: int = 1,
) -> None:
    """Show the page: a commit, two branches, or all commits."""
    async with framed(request, "history", graph_id, at) as view:
        ui.add_css(HISTORY_STYLE)
        if commit:
            commit_part(view, commit, changes)
        elif source or into:
            branches = await view.source.branches()
            compare_part(view, branches, "" if source == _COMPARES else source, into, part)
        else:
            _log(view, max(part, 1))


def _log(view: View, page: int) -> None:
    with ui.element("section").classes("og-card"):
        with ui.element("div").classes("og-row").style("margin-bottom: 12px"):
            heading("History", level=1)
            ui.element("div").classes("og-spread")
            branch_button(view)
            chosen = view.at if view.at != MAIN_BRANCH and not view.is_past else _COMPARES
            ui.button(
                "Compare and merge",
                icon="merge",
                on_click=lambda: ui.navigate.to(view.address(source=chosen, into=MAIN_BRANCH)),
            ).props("outline no-caps padding='3px 12px' aria-label='Compare and merge'")

        async def fetch() -> "HistoryPage":
            branches = await view.source.branches()
            first = view.at if view.at in branches else branches[0]
            return await page_of_history(
                view.source, [first, *(each for each in branches if each != first)], number=page
            )

        fetched(fetch, lambda found: _shown(view, found, page), lines=6)


def _shown(view: View, found: "HistoryPage", page: int) -> None:
    if not found.rows:
        empty("There are no commits here.", "" if page == 1 else "History ends before this page.")
    else:
        draw(found, view)
    if found.history.left_out:
        ui.label(
            f"Not drawn: {counted(found.history.left_out, 'branch')}; choose one above to see its commits."
        ).classes("og-soft og-small")
    if page == 1 and not found.has_older:
        return
    with ui.element("nav").classes("og-row").props('aria-label="Pages of history"').style("margin-top: 12px"):
        if page > 1:
            ui.link("Newer", view.address(part=page - 1 if page > 2 else None))
        if found.has_older:
            ui.link("Older", view.address(part=page + 1))
        ui.label(f"page {page}").classes("og-soft og-small")
