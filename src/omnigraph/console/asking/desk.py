"""What happens on the Query page: asking, changing, and keeping button, command and address true to it."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from nicegui import ui

from omnigraph.base import clock
from omnigraph.console.asking.answer import ReadAnswer, show_answer
from omnigraph.console.asking.asked import QueryAddress
from omnigraph.console.asking.cells import ROWS_SENT_MAX
from omnigraph.console.asking.cli_line import cli_line
from omnigraph.console.asking.fields import given_texts, given_values
from omnigraph.console.asking.mutating import confirmed, refusal, show_change
from omnigraph.console.gatekeeper import PREFIX
from omnigraph.console.states import failure, fetched, waiting
from omnigraph.errors import OmniError

if TYPE_CHECKING:
    from omnigraph.console.asking.question import Runnable
    from omnigraph.console.frame import View
    from omnigraph.graphs.result import Result
    from omnigraph.query.mutate.run import MutationResult


class QueryDesk:
    """What the editor and the forms of stored queries share: running, answers, the command, the address."""

    def __init__(self, view: "View", asked: QueryAddress) -> None:
        self.view = view
        self.asked = asked
        self.question: Runnable | None = None
        self.is_running = False
        self._line = ""
        self._slot = ui.element("div").style("width: 100%; min-width: 0")
        self._button = ui.button("Run").props("unelevated no-caps")
        self._why_not = ui.label().classes("og-small og-warn").props("role=status")
        self._line_label = ui.label()

    def actions(self, run: Callable[[], object]) -> None:
        """Place the button that runs the query, why it cannot be run, and the same as a command."""
        with ui.element("div").classes("og-row") as row:
            self._button.move(row)
            self._button.on_click(run)
            ui.label("Ctrl + Enter").classes("og-small og-soft og-wide")
            self._why_not.move(row)
        with ui.element("div").classes("og-line").bind_visibility_from(self._line_label, "text", bool):
            with ui.element("code").props('aria-label="The same on the command line" tabindex=0') as code:
                self._line_label.move(code)
            ui.button(icon="content_copy", on_click=self._copy).props(
                'flat dense round size=sm aria-label="Copy the command"'
            )

    def answers_in(self, place: ui.element) -> None:
        """Choose where answers appear."""
        self._slot.move(place)

    def type(self, name: str, value: str) -> None:
        """Take what was typed into a field."""
        self.asked = replace(self.asked, typed={**(self.asked.typed or {}), name: value}, was_run=False)
        self.refresh()

    def refresh(self) -> None:
        """Bring button, command and address to what is on the page now."""
        question = self.question
        is_mutation = question is not None and question.is_mutation
        why_not = refusal(self.view) if is_mutation else None
        self._button.set_text("Run the mutation…" if is_mutation else "Run")
        self._button.set_enabled(why_not is None)
        self._why_not.set_text(why_not or "")
        self._line = "" if question is None else self._spelled(question)
        self._line_label.set_text(self._line)
        ui.navigate.history.replace(PREFIX + self.view.address(**self.asked.parts()))

    async def run(self) -> None:
        """Run the question; a mutation only after somebody said yes."""
        question = self.question
        if question is None or self.is_running:
            return
        try:
            values = given_values(question.fields, self.asked.typed or {})
        except OmniError as error:
            with self._emptied():
                failure(error)
            return
        if question.is_mutation:
            await self._change(question, values)
            return
        self.asked = replace(self.asked, was_run=True)
        self.refresh()
        with self._emptied():
            fetched(lambda: self._read(question, values), self._show)

    async def _read(self, question: "Runnable", values: dict[str, object]) -> ReadAnswer:
        at, source = self.view.at, self.view.source
        with self._running():
            began = clock.monotonic_seconds()
            result = cast("Result", await question.run(source, values, at=at))
            seconds = clock.monotonic_seconds() - began
            rows = await asyncio.to_thread(lambda: list(result.json_rows(limit=ROWS_SENT_MAX)))
        return ReadAnswer(
            result=result,
            rows=rows,
            seconds=seconds,
            at=at,
            is_dark=self.view.is_dark,
            read=question.read,
            explain=lambda: question.explain(source, values, at=at),
        )

    def _show(self, answer: ReadAnswer) -> None:
        show_answer(answer, self.asked.view, self._looked_at)

    def _looked_at(self, shape: str) -> None:
        self.asked = replace(self.asked, view=shape)
        self.refresh()

    async def _change(self, question: "Runnable", values: dict[str, object]) -> None:
        if refusal(self.view) is not None or not await confirmed(question.title, self.view.at):
            return
        with self._emptied() as box:
            waiting(1)
            try:
                with self._running():
                    result = await question.run(self.view.source, values, at=self.view.at)
            except Exception as error:  # noqa: BLE001 — the boundary of a part of a page
                box.clear()
                failure(error)
                return
            box.clear()
            show_change(self.view, cast("MutationResult", result))

    @contextmanager
    def _emptied(self) -> Iterator[ui.element]:
        self._slot.clear()
        with self._slot, ui.element("section").classes("og-card").props('aria-label="Answer"') as box:
            yield box

    @contextmanager
    def _running(self) -> Iterator[None]:
        self.is_running = True
        self._button.props(add="loading")
        try:
            yield
        finally:
            self.is_running = False
            self._button.props(remove="loading")

    def _spelled(self, question: "Runnable") -> str:
        return cli_line(
            self.view.source.cli_address,
            text=question.text,
            name=question.name,
            texts_by_parameter=given_texts(question.fields, self.asked.typed or {}),
            at=self.view.at,
            is_mutation=question.is_mutation,
        )

    def _copy(self) -> None:
        ui.clipboard.write(self._line)
        ui.notify("Copied", type="info", timeout=1_500)
