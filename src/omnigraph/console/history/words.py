"""What several parts of the History page say in the same way."""

from typing import TYPE_CHECKING

from nicegui import ui

from omnigraph.base import clock

if TYPE_CHECKING:
    from omnigraph.console.history.showing import ShownValue
    from omnigraph.manifest.commits import Commit

KIND_WORDS = {
    "genesis": "first commit",
    "mutation": "mutation",
    "load": "load",
    "embed": "embed",
    "schema_apply": "schema change",
    "branch_merge": "merge",
    "maintenance": "maintenance",
    "repair": "repair",
    "rollback": "rollback",
}


def exactly(moment_us: int) -> str:
    """Say when a moment was."""
    return f"{clock.iso_from_us(moment_us)} UTC"


def short_id(commit_id: str) -> str:
    """Return the end of an id, which is what differs between commits of one hour."""
    return f"…{commit_id[-8:]}"


def kind_of(commit: "Commit") -> str:
    """Say what made a commit."""
    return KIND_WORDS.get(commit.kind, commit.kind.replace("_", " "))


def value_text(value: "ShownValue", *, is_old: bool = False) -> None:
    """Show a value; a long one by its beginning, the rest on demand."""
    if value.text is None:
        ui.label("none").classes("og-absent")
        return
    tone = "og-value og-value-old" if is_old else "og-value"
    if not value.is_long:
        ui.label(value.text).classes(tone)
        return
    with ui.element("details").classes("og-fold"):
        with ui.element("summary"):
            ui.label(value.beginning)
        ui.label(value.whole).classes("og-value")
