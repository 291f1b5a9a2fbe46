"""Fields for the parameters of a query."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nicegui import ui

from omnigraph.console.asking.fields import FormField


def parameter_form(
    fields: Sequence[FormField], typed: Mapping[str, str], on_type: Callable[[str, str], Any], on_run: Callable[[], Any]
) -> None:
    """Show a field per parameter; Enter in one of them runs the query."""
    if not fields:
        return
    with ui.element("div").classes("og-fields").props('role=group aria-label="Parameters"'):
        for field in fields:
            _field(field, typed.get(field.name, ""), on_type, on_run)


def _field(field: FormField, value: str, on_type: Callable[[str, str], Any], on_run: Callable[[], Any]) -> None:
    label = f"${field.name}: {field.type_text}"
    if field.is_yes_or_no:
        options = {"true": "true", "false": "false", **({"": "not given"} if field.is_nullable else {})}
        known = value if value in options else None
        ui.select(
            options,
            label=label,
            value=known,
            on_change=lambda event: on_type(field.name, event.value or ""),
        ).props("dense outlined options-dense")
        return
    box = ui.input(
        label,
        value=value,
        placeholder=field.example or None,
        on_change=lambda event: on_type(field.name, event.value or ""),
    ).props("dense outlined")
    box.on("keydown.enter", lambda _: on_run())
