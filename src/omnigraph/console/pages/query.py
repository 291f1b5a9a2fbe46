"""Query: ask in the query language or by the form of a stored query; see rows, pictures, charts and steps."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from nicegui import ui
from starlette.requests import Request

from omnigraph.console.asking.asked import QueryAddress, asked_of
from omnigraph.console.asking.desk import QueryDesk
from omnigraph.console.asking.forms import parameter_form
from omnigraph.console.asking.looking import look_at
from omnigraph.console.asking.question import StoredQuestion
from omnigraph.console.asking.stored_list import stored_list
from omnigraph.console.asking.style import QUERY_STYLE
from omnigraph.console.asking.writing import WritingDesk
from omnigraph.console.frame import View, framed
from omnigraph.console.states import empty
from omnigraph.errors import OmniError, PolicyDenied
from omnigraph.manifest.commits import MAIN_BRANCH

if TYPE_CHECKING:
    from omnigraph.catalog.model import Catalog
    from omnigraph.client.values import StoredQueryInfo


@ui.page("/g/{graph_id}/query")
async def query_page(request: Request, graph_id: str, at: str = MAIN_BRANCH) -> None:
    """Show the page."""
    asked = asked_of(request.query_params)
    async with framed(request, "query", graph_id, at) as view:
        ui.add_css(QUERY_STYLE)
        catalog, stored = await asyncio.gather(_catalog(view), _stored(view))
        with ui.element("div").classes("og-ask og-ask-beside" if stored else "og-ask"):
            with ui.element("div").classes("og-stack") as column:
                desk = QueryDesk(view, asked)
                with ui.element("section").classes("og-card og-stack").props('aria-label="Query"'):
                    if asked.stored is None:
                        writing = WritingDesk(desk, catalog)
                        ui.timer(0, writing.look_first, once=True)
                    else:
                        _stored_form(desk, asked, stored, catalog)
                desk.answers_in(column)
            if stored:
                stored_list(view, stored, asked.stored)


def _stored_form(
    desk: QueryDesk, asked: QueryAddress, stored: "Sequence[StoredQueryInfo]", catalog: "Catalog | None"
) -> None:
    view = desk.view
    query = next((each for each in stored if each.name == asked.stored), None)
    if query is None:
        empty(f"There is no stored query {asked.stored} here, or you may not run it.")
        ui.link("Write a query", view.address())
        return
    text = view.source.stored_text(query.name)
    looked = None if text is None else look_at(text, query.name, catalog)
    question = StoredQuestion(query=query, text=text, looked=looked)
    with ui.element("h1"):
        ui.label(query.name).classes("og-wrap")
    for said in (query.description, query.instruction):
        if said:
            ui.label(said).classes("og-soft og-wrap").style("white-space: pre-wrap")
    parameter_form(question.fields, asked.typed or {}, desk.type, desk.run)
    desk.question = question
    desk.actions(desk.run)
    with ui.element("div").classes("og-row og-small"):
        if text is not None:
            ui.link("Open it in the editor", view.address(q=text, name=query.name))
        ui.link("Write a query", view.address())

    async def begin() -> None:
        desk.refresh()
        if asked.was_run and not query.is_mutation:
            await desk.run()

    ui.timer(0, begin, once=True)


async def _catalog(view: View) -> "Catalog | None":
    try:
        return await view.source.catalog(view.at)
    except PolicyDenied:  # who may not read the schema may still ask
        return None


async def _stored(view: View) -> "Sequence[StoredQueryInfo]":
    try:
        return await view.source.stored_queries()
    except OmniError:  # a page without this list is still a page
        return ()
