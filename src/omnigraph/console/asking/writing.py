"""The editor of the Query page with everything around it: looking at what is typed, names, fields."""

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from nicegui import ui

from omnigraph.console.asking.editor import QueryEditor
from omnigraph.console.asking.forms import parameter_form
from omnigraph.console.asking.looking import LookedAt, look_at
from omnigraph.console.asking.question import TypedQuestion
from omnigraph.query.offers import Vocabulary

if TYPE_CHECKING:
    from omnigraph.catalog.model import Catalog
    from omnigraph.console.asking.desk import QueryDesk

_PAUSE_SECONDS = 0.3
"""How long nobody types before a text is looked at."""


class WritingDesk:
    """Somebody writes a query."""

    def __init__(self, desk: "QueryDesk", catalog: "Catalog | None") -> None:
        self._desk = desk
        self._catalog = catalog
        self._looked = LookedAt()
        self._turn = 0
        text = desk.asked.text or _first_text(catalog)
        desk.asked = replace(desk.asked, text=text)
        self._editor = QueryEditor(text, on_change=self._changed, on_run=self.run)
        if catalog is not None:
            self._editor.vocabulary = Vocabulary.of(catalog, ())
        self._problems = ui.element("div").props("role=status aria-live=polite")
        self._choice = ui.element("div")
        self._fields = ui.element("div").style("width: 100%")
        desk.actions(self.run)

    async def run(self) -> None:
        """Look at the text as it is now, and run it if nothing is wrong with it."""
        if self._desk.is_running:
            return
        self._turn += 1
        await self._look()
        if not self._looked.problems:
            await self._desk.run()

    async def look_first(self) -> None:
        """Look at the text that the page was opened with; run it again if it had been run and only reads."""
        had_run = self._desk.asked.was_run
        await self._look()
        if had_run and not self._looked.is_mutation and not self._looked.problems:
            await self._desk.run()

    async def _changed(self, text: str) -> None:
        desk = self._desk
        desk.asked = replace(desk.asked, text=text, was_run=False)
        self._turn += 1
        mine = self._turn
        await asyncio.sleep(_PAUSE_SECONDS)
        if mine == self._turn and not desk.is_running:
            await self._look()

    async def _look(self) -> None:
        desk = self._desk
        text = self._editor.text
        before = self._looked
        looked = await asyncio.to_thread(look_at, text, desk.asked.name, self._catalog)
        if text != self._editor.text:
            return  # somebody typed meanwhile, and it will be looked at again
        self._looked = looked
        is_runnable = looked.chosen is not None and not looked.problems
        desk.asked = replace(desk.asked, text=text, name=looked.chosen if len(looked.names) > 1 else None)
        desk.question = TypedQuestion(text=text, looked=looked) if is_runnable else None
        self._editor.underline(looked.problems)
        self._show_problems()
        if looked.names != before.names or looked.chosen != before.chosen:
            self._show_choice()
        if looked.fields != before.fields and not looked.problems:
            self._show_fields()
        desk.refresh()

    def _show_problems(self) -> None:
        self._problems.clear()
        with self._problems:
            for problem in self._looked.problems:
                ui.label(str(problem)).classes("og-problem")

    def _show_choice(self) -> None:
        self._choice.clear()
        if len(self._looked.names) > 1:
            with self._choice:
                ui.select(
                    list(dict.fromkeys(self._looked.names)),
                    value=self._looked.chosen,
                    label="Query",
                    on_change=lambda event: self._choose(event.value),
                ).props("dense outlined options-dense").style("min-width: 220px")

    async def _choose(self, name: str) -> None:
        self._desk.asked = replace(self._desk.asked, name=name, was_run=False)
        await self._look()

    def _show_fields(self) -> None:
        self._fields.clear()
        with self._fields:
            parameter_form(self._looked.fields, self._desk.asked.typed or {}, self._desk.type, self.run)


def _first_text(catalog: "Catalog | None") -> str:
    """Return something to start from: the first nodes of the first type."""
    if catalog is None or not catalog.nodes:
        return ""
    return f"match {{ $x: {catalog.nodes[0].name} }}\nreturn {{ $x }}\nlimit 20"
