"""The merge of one branch into another: what it would do, its conflicts side by side, and carrying it out."""

from typing import TYPE_CHECKING

from nicegui import ui

from omnigraph.base.units import counted
from omnigraph.console.history.conflict_list import conflict_list
from omnigraph.console.history.merging import MergeView, merged, previewed
from omnigraph.console.states import failure, fetched, waiting
from omnigraph.console.words import heading
from omnigraph.errors import OmniError

if TYPE_CHECKING:
    from omnigraph.console.frame import View

READ_ONLY = "This console was opened with --read-only: it shows merges and makes none."
_OUTCOMES = {
    "fast_forward": "{into} has not moved since the two branches parted, so all of it can be taken as it is.",
    "merged": "Both branches have moved, and nothing that one of them did stands against the other.",
    "already_up_to_date": "{into} has everything that {source} has: there is nothing to merge.",
}


class MergePart:
    """The section of the page; it shows one view of the merge after the other."""

    def __init__(self, view: "View", source: str, into: str, page: int) -> None:
        self._view = view
        self._source = source
        self._into = into
        self._page = page
        with ui.element("section").classes("og-card"):
            heading(f"Merge {source} into {into}")
            self._reload = fetched(lambda: previewed(view.source, source, into), self._show, lines=2)

    def _show(self, found: MergeView) -> None:
        self._is_foretold = found.result is not None or found.total > 0
        """Whether conflicts are known before the merge; servers tell them with it, and take no message."""
        self._box = ui.element("div").classes("w-full")
        self._fill(found)

    def _fill(self, found: MergeView) -> None:
        self._box.clear()
        with self._box:
            if found.is_done:
                self._done(found)
            elif found.conflicts or found.total:
                self._conflicts(found)
            else:
                self._ready(found)

    def _ready(self, found: MergeView) -> None:
        names = {"source": self._source, "into": self._into}
        if found.result is None:
            ui.label(
                "This graph is behind a server, which finds conflicts when it merges. If there are any, it changes "
                "nothing, and they are listed here."
            ).classes("og-note")
        else:
            text = _OUTCOMES.get(found.outcome or "", "There are no conflicts.")
            ui.label(text.format(**names)).classes("og-wrap")
        if found.outcome == "already_up_to_date":
            return
        self._counts(found)
        self._form()

    def _counts(self, found: MergeView) -> None:
        tables = getattr(found.result, "tables", ())
        if not tables:
            return
        with ui.element("div").classes("og-scroll"), ui.element("table").classes("og-table"):
            with ui.element("thead"), ui.element("tr"):
                for title in ("type", "added", "changed", "deleted"):
                    with ui.element("th").classes("" if title == "type" else "og-number"):
                        ui.label(title)
            with ui.element("tbody"):
                for table in tables:
                    with ui.element("tr"):
                        with ui.element("td"):
                            ui.label(table.table_key.partition(":")[2]).classes("og-wrap")
                        for number in (table.inserted, table.updated, table.deleted):
                            with ui.element("td").classes("og-number"):
                                ui.label(f"{number:,}")

    def _form(self) -> None:
        if self._view.source.is_read_only:
            ui.label(READ_ONLY).classes("og-note")
        with ui.element("div").classes("og-row").style("margin-top: 12px"):
            if self._is_foretold and not self._view.source.is_read_only:
                message = ui.input("Message of the merge").props("dense outlined maxlength=200")
                message.style("flex: 1 1 220px")
            else:
                message = None
            button = ui.button(
                f"Merge into {self._into}", on_click=lambda: self._ask(message.value if message else "")
            ).props("no-caps")
            if self._view.source.is_read_only:
                button.props("disable")
        self._refused = ui.element("div").classes("w-full")

    def _ask(self, message: str) -> None:
        with ui.dialog() as dialog, ui.card().style("width: min(420px, 92vw)"):
            ui.label(f"Merge {self._source} into {self._into}?").classes("text-h6 og-wrap")
            ui.label(f"It becomes one commit on {self._into}. {self._source} stays as it is.").classes("og-wrap")

            async def confirmed() -> None:
                dialog.close()
                await self._merge(message)

            with ui.element("div").classes("og-row").style("margin-top: 8px"):
                ui.button("Merge", on_click=confirmed).props("no-caps")
                ui.button("Cancel", on_click=dialog.close).props("flat no-caps")
        dialog.open()

    async def _merge(self, message: str) -> None:
        self._refused.clear()
        with self._refused:
            waiting(1)
        try:
            found = await merged(self._view.source, self._source, self._into, message=message.strip() or None)
        except OmniError as error:
            self._refused.clear()
            with self._refused:
                failure(error)
            return
        self._fill(found)

    def _done(self, found: MergeView) -> None:
        assert found.result is not None
        assert found.result.commit is not None
        with ui.element("div").props("role=status").classes("og-row"):
            ui.label(f"✓ {self._source} was merged into {self._into}.").classes("og-good")
            ui.link("See the commit", self._view.address(commit=found.result.commit.graph_commit_id))

    def _conflicts(self, found: MergeView) -> None:
        if found.conflicts:
            ui.label(
                f"{counted(found.total, 'conflict')} {'stands' if found.total == 1 else 'stand'} against it, and "
                "nothing is written until a person has decided. Choose a side for each, or change either branch, and "
                "merge then."
            ).classes("og-wrap")
        if self._view.source.is_read_only:
            ui.label(READ_ONLY).classes("og-note")
        conflict_list(self._view, found, page=self._page, settled=self._settled)

    async def _settled(self, found: MergeView) -> None:
        """Look again after a conflict was settled; where nobody tells before merging, show those that are left."""
        if self._is_foretold or not found.conflicts:
            await self._reload()
        else:
            self._fill(found)


def merge_part(view: "View", source: str, into: str, page: int) -> None:
    """Show the section."""
    MergePart(view, source, into, page)
