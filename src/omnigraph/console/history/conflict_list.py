"""Conflicts side by side, each with the writes that settle it."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from nicegui import ui

from omnigraph.console.history.conflicts import Conflict, Remedy, advice, remedies
from omnigraph.console.history.merging import MergeView, settle
from omnigraph.console.history.words import value_text
from omnigraph.console.states import failure
from omnigraph.errors import OmniError

if TYPE_CHECKING:
    from omnigraph.console.frame import View
    from omnigraph.console.history.conflicts import ConflictRow

Settled = Callable[[MergeView], Awaitable[None]]
CONFLICTS_PER_PAGE = 20


def conflict_list(view: "View", merge: MergeView, *, page: int, settled: Settled) -> None:
    """Show a page of conflicts."""
    pages = max(1, -(-len(merge.conflicts) // CONFLICTS_PER_PAGE))
    number = min(max(page, 1), pages)
    start = (number - 1) * CONFLICTS_PER_PAGE
    for conflict in merge.conflicts[start : start + CONFLICTS_PER_PAGE]:
        _conflict(view, merge, conflict, settled)
    if pages == 1:
        return
    with ui.element("nav").classes("og-row").props('aria-label="Pages of conflicts"').style("margin-top: 12px"):
        for label, other in (("Conflicts before", number - 1), ("More conflicts", number + 1)):
            if 1 <= other <= pages:
                ui.link(label, view.address(source=merge.source, into=merge.into, part=other))
        ui.label(f"page {number} of {pages}").classes("og-soft og-small")


def _conflict(view: "View", merge: MergeView, conflict: Conflict, settled: Settled) -> None:
    with ui.element("article").classes("og-conflict"):
        ui.label(conflict.message).classes("og-wrap").style("font-weight: 600")
        if conflict.has_values:
            _sides(merge, conflict)
        said = advice(conflict, source=merge.source, into=merge.into)
        if said:
            ui.label(said).classes("og-soft og-wrap")
        choices = remedies(conflict, source=merge.source, into=merge.into)
        if choices:
            with ui.element("div").classes("og-row").style("margin-top: 8px"):
                for remedy in choices:
                    _choice(view, merge, conflict, remedy, settled)


def _sides(merge: MergeView, conflict: Conflict) -> None:
    titles = ("", "when they parted", merge.into, merge.source)
    with ui.element("table").classes("og-sides"):
        with ui.element("thead"), ui.element("tr"):
            for title in titles:
                with ui.element("th"):
                    ui.label(title)
        with ui.element("tbody"):
            if conflict.into is None or conflict.source is None:
                _presence(conflict, titles)
            for row in conflict.rows:
                _row(conflict, row, titles)


def _presence(conflict: Conflict, titles: tuple[str, ...]) -> None:
    """Say on which side the entity is not there at all."""
    with ui.element("tr").classes("og-open"):
        with ui.element("td"):
            ui.label(conflict.type_name).classes("og-soft")
        for title, record in zip(titles[1:], (conflict.base, conflict.into, conflict.source), strict=True):
            with _cell(title):
                ui.label("there" if record is not None else "not there").classes("" if record else "og-absent")


def _row(conflict: Conflict, row: "ConflictRow", titles: tuple[str, ...]) -> None:
    with ui.element("tr").classes("og-open" if row.is_open else ""):
        with ui.element("td"):
            ui.label(row.name).classes("og-soft")
        sides = ((row.base, conflict.base), (row.into, conflict.into), (row.source, conflict.source))
        for title, (value, record) in zip(titles[1:], sides, strict=True):
            with _cell(title):
                if record is not None:
                    value_text(value)


def _cell(title: str) -> ui.element:
    cell = ui.element("td")
    cell.props["data-side"] = title
    return cell


def _choice(view: "View", merge: MergeView, conflict: Conflict, remedy: Remedy, settled: Settled) -> None:
    button = ui.button(remedy.label, on_click=lambda: _ask(view, merge, conflict, remedy, settled))
    button.props("outline no-caps padding='3px 12px'").classes("og-wrap")
    button.props["title"] = remedy.says
    if view.source.is_read_only:
        button.props("disable")


def _ask(view: "View", merge: MergeView, conflict: Conflict, remedy: Remedy, settled: Settled) -> None:
    with ui.dialog() as dialog, ui.card().style("width: min(440px, 92vw)"):
        ui.label(f"{remedy.label}?").classes("text-h6 og-wrap")
        ui.label(f"{remedy.says} It becomes a commit there; the merge itself comes after that.").classes("og-wrap")
        refused = ui.element("div").classes("w-full")

        async def confirmed() -> None:
            refused.clear()
            try:
                await settle(view.source, merge, conflict, remedy)
            except OmniError as error:
                with refused:
                    failure(error)
                return
            dialog.close()
            left = [each for each in merge.conflicts if each.about != conflict.about]
            gone = len(merge.conflicts) - len(left)
            await settled(replace(merge, conflicts=left, total=merge.total - gone))

        with ui.element("div").classes("og-row").style("margin-top: 8px"):
            ui.button("Write it", on_click=confirmed).props("no-caps")
            ui.button("Cancel", on_click=dialog.close).props("flat no-caps")
    dialog.open()
