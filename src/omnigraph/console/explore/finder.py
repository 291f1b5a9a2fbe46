"""The search box and what it finds."""

from collections.abc import Awaitable, Callable
from functools import partial

from nicegui import ui

from omnigraph.catalog.model import Catalog
from omnigraph.console.explore.parts import sign_mark, text_button
from omnigraph.console.explore.searching import Hits, can_search_meaning
from omnigraph.console.explore.state import ANYTHING, MEANING, Searched
from omnigraph.console.states import empty
from omnigraph.drawing.picture import NodeKey
from omnigraph.drawing.signs import TypeSign

_EVERY_TYPE = ""


def finder(catalog: Catalog, searched: Searched, ask: Callable[[Searched], Awaitable[None]]) -> None:
    """Show the box; Enter or the button searches."""
    ways = {ANYTHING: "Key or words"}
    if can_search_meaning(catalog):
        ways[MEANING] = "Meaning"
    with ui.element("form").classes("og-finder").props("role=search onsubmit='return false'") as form:
        text = ui.input(placeholder="Find a node", value=searched.text)
        text.props('dense outlined clearable aria-label="Find a node" data-focus')
        types = {_EVERY_TYPE: "All types", **{each.name: each.name for each in catalog.nodes}}
        kind = ui.select(types, value=searched.type_name if searched.type_name in types else _EVERY_TYPE)
        kind.props('dense outlined options-dense aria-label="Type"')
        by = ui.select(ways, value=searched.by if searched.by in ways else ANYTHING)
        by.props('dense outlined options-dense aria-label="Search by"')
        button = ui.button("Search").props("unelevated type=submit")

    async def search() -> None:
        await ask(Searched(text=(text.value or "").strip(), by=by.value, type_name=kind.value))

    form.on("submit", search)
    del button


def show_hits(
    hits: Hits,
    *,
    searched: Searched,
    signs: dict[str, TypeSign],
    pick: Callable[[NodeKey], Awaitable[None]],
    more: Callable[[], Awaitable[None]],
) -> None:
    """List what was found; a click brings a node into the picture."""
    if not hits.hits:
        empty("Nothing found", "Keys are found by their beginning, other texts by whole words.")
        return
    with ui.element("div").classes("og-hits").props('role=list aria-label="Results"'):
        for hit in hits.hits:
            with ui.element("div").classes("og-hit").props("role=listitem"):
                sign_mark(signs.get(hit.key.type_name))
                text_button(hit.label, partial(pick, hit.key))
                about = hit.key.type_name if hit.label == hit.key.id else f"{hit.key.type_name} {hit.key.id}"
                ui.label(about).classes("og-soft og-small og-wrap")
                if hit.snippet:
                    ui.label(hit.snippet).classes("og-soft og-small og-wrap og-wide")
        if hits.has_more:
            ui.button("More results", on_click=more).props("flat dense")
    del searched
