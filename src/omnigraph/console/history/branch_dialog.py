"""A small dialog that makes a branch."""

from typing import TYPE_CHECKING

from nicegui import ui

from omnigraph.console.states import failure
from omnigraph.errors import OmniError
from omnigraph.manifest.commits import MAIN_BRANCH

if TYPE_CHECKING:
    from omnigraph.console.frame import View


def branch_button(view: "View") -> None:
    """Show the button that opens the dialog; where nothing can be changed, it says why it does nothing."""
    button = ui.button("New branch", icon="add", on_click=lambda: _ask(view)).props(
        "outline no-caps padding='3px 12px' aria-label='New branch'"
    )
    if view.source.is_read_only:
        button.props("disable")
        button.props["title"] = "This console was opened with --read-only."


def _ask(view: "View") -> None:
    with ui.dialog() as dialog, ui.card().style("width: min(420px, 92vw)"):
        ui.label("New branch").classes("text-h6")
        ui.label(
            "It starts with everything that the other one has; what is written to it stays on it until it is merged."
        ).classes("og-soft og-small")
        name = ui.input("Name").props('autofocus aria-label="Name of the new branch"').classes("w-full")
        origin = ui.input("From", value=view.at or MAIN_BRANCH).classes("w-full")
        origin.props('hint="A branch or the id of a commit" aria-label="From which branch or commit"')
        refused = ui.element("div").classes("w-full")

        async def create() -> None:
            refused.clear()
            try:
                await view.source.create_branch(name.value.strip(), origin.value.strip() or MAIN_BRANCH)
            except OmniError as error:
                with refused:
                    failure(error)
                return
            dialog.close()
            ui.navigate.to(view.address(at=name.value.strip()))

        name.on("keydown.enter", create)
        with ui.element("div").classes("og-row").style("margin-top: 8px"):
            ui.button("Create", on_click=create).props("no-caps")
            ui.button("Cancel", on_click=dialog.close).props("flat no-caps")
    dialog.open()
