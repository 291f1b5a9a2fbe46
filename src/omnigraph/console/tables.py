"""Tables of plain text, a page at a time."""

from collections.abc import Sequence

from nicegui import ui

from omnigraph.base.values import dataclass

ROWS_SHOWN = 50


@dataclass(frozen=True, slots=True)
class PageColumn:
    """One column: what it is called, how it is set, and whether a telephone has room for it."""

    name: str
    is_number: bool = False
    is_wide: bool = False

    @property
    def classes(self) -> str:
        """The classes of its cells."""
        return f"{'og-number' if self.is_number else 'og-wrap'}{' og-wide' if self.is_wide else ''}"


def paged_table(columns: Sequence[PageColumn], rows: Sequence[Sequence[str]], *, shown: int = ROWS_SHOWN) -> None:
    """Show rows of text, `shown` at a time, with a way to the others."""
    page = 0

    @ui.refreshable
    def body() -> None:
        with ui.element("div").classes("og-scroll"), ui.element("table").classes("og-table"):
            with ui.element("tr"):
                for column in columns:
                    with ui.element("th").classes(column.classes):
                        ui.label(column.name)
            for row in rows[page * shown : (page + 1) * shown]:
                with ui.element("tr"):
                    for column, text in zip(columns, row, strict=True):
                        with ui.element("td").classes(column.classes):
                            ui.label(text)
        if len(rows) > shown:
            with ui.element("div").classes("og-row"):
                ui.button("Earlier", on_click=lambda: turn(-1)).props("flat dense").set_enabled(page > 0)
                ui.label(f"{page * shown + 1}–{min(len(rows), (page + 1) * shown)} of {len(rows):,}").classes("og-soft")
                ui.button("Later", on_click=lambda: turn(1)).props("flat dense").set_enabled(
                    (page + 1) * shown < len(rows)
                )

    def turn(step: int) -> None:
        nonlocal page
        page += step
        body.refresh()

    body()
