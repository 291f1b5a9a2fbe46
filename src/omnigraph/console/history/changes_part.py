"""A list of changed entities."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from nicegui import ui

from omnigraph.console.history.showing import ShownChange, ShownProperty, shown_change
from omnigraph.console.history.words import value_text

if TYPE_CHECKING:
    from omnigraph.changes.entities import EntityChange


def change_list(changes: "Iterable[EntityChange]") -> None:
    """Show changes, one below the other."""
    with ui.element("div").props('role=list aria-label="Changes"'):
        for change in changes:
            _change(shown_change(change))


def change_counts(inserted: int, updated: int, deleted: int) -> None:
    """Say how much was added, changed and deleted, with signs for who sees no colours."""
    with ui.element("div").classes("og-counts"):
        ui.label(f"+ {inserted:,} added").classes("og-came")
        ui.label(f"~ {updated:,} changed").classes("og-became")
        ui.label(f"− {deleted:,} deleted").classes("og-went")


def _change(change: ShownChange) -> None:
    with ui.element("div").classes("og-change").props("role=listitem"):
        with ui.element("div").classes(f"og-change-word {change.tone}"):
            ui.label(change.sign).props("aria-hidden=true")
            ui.label(change.word)
        with ui.element("div").classes("og-change-name"):
            ui.label(change.type_name).classes("og-soft")
            if change.ends is None:
                ui.label(change.entity_id).style("font-weight: 600")
            else:
                ui.label(f"{change.ends[0]} → {change.ends[1]}").style("font-weight: 600")
                ui.label(change.entity_id).classes("og-mono og-soft")
        if change.properties:
            with ui.element("div").classes("og-properties"):
                for each in change.properties:
                    _property(each)


def _property(shown: ShownProperty) -> None:
    ui.label(shown.name).classes("og-soft og-wrap")
    with ui.element("div").classes("og-values"):
        if shown.before is not None:
            value_text(shown.before, is_old=shown.after is not None)
        if shown.before is not None and shown.after is not None:
            ui.label("→").props('aria-label="became"').classes("og-soft")
        if shown.after is not None:
            value_text(shown.after)
