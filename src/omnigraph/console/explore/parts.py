"""Small parts that several places of the page have."""

from collections.abc import Callable

from nicegui import ui

from omnigraph.drawing.signs import TypeSign


def sign_mark(sign: TypeSign | None) -> None:
    """Draw the sign of a type; beside a name, which is what people hear."""
    with ui.element("svg").classes("og-sign").props('viewBox="-1.3 -1.3 2.6 2.6" aria-hidden=true'):
        if sign is not None:
            ui.element("path").props(f'd="{sign.path()}" fill="{sign.colour}"')


def text_button(text: str, on_click: Callable[[], object]) -> ui.element:
    """Show a button that looks like its text."""
    with ui.element("button").classes("og-plain").props("type=button") as button:
        ui.label(text)
    return button.on("click", on_click)
