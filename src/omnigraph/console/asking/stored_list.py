"""The queries that are kept for a graph, to be opened as forms."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from nicegui import ui

from omnigraph.base.units import counted

if TYPE_CHECKING:
    from omnigraph.client.values import StoredQueryInfo
    from omnigraph.console.frame import View

_SHOWN_MAX = 200


def stored_list(view: "View", queries: "Sequence[StoredQueryInfo]", current: str | None) -> None:
    """List the stored queries; a click opens one."""
    with ui.element("aside").classes("og-card").props('aria-label="Stored queries"'):
        with ui.element("h2"):
            ui.label("Stored queries")
        box = ui.element("div").classes("og-stored")

        def show(wanted: str) -> None:
            box.clear()
            found = [query for query in queries if wanted.lower() in f"{query.name} {query.description or ''}".lower()]
            with box:
                for query in found[:_SHOWN_MAX]:
                    _entry(view, query, is_current=query.name == current)
                if len(found) > _SHOWN_MAX:
                    ui.label(f"{counted(len(found) - _SHOWN_MAX, 'more query')}: search for them.").classes("og-soft")
                if not found:
                    ui.label("None of them says this.").classes("og-soft og-small")

        if len(queries) > 10:
            ui.input("Search", on_change=lambda event: show(event.value or "")).props("dense outlined debounce=200")
            box.move(target_index=-1)
        show("")


def _entry(view: "View", query: "StoredQueryInfo", *, is_current: bool) -> None:
    with ui.link(target=view.address(stored=query.name)) as link:
        if is_current:
            link.props("aria-current=page")
        with ui.element("b"):
            ui.label(query.name)
        if query.is_mutation:
            ui.label("changes the graph").classes("og-warn og-small")
        if query.description:
            ui.label(query.description).classes("og-small og-soft")
