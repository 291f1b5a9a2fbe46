"""Small things that several pages say: moments, commits, signs of health."""

from typing import TYPE_CHECKING

from nicegui import ui

from omnigraph.base import clock
from omnigraph.base.units import counted, shorten

if TYPE_CHECKING:
    from omnigraph.manifest.commits import Commit

STATUS_WORDS = {"healthy": "Healthy", "attention": "Needs attention", "action": "Needs action"}
STATUS_TONES = {"healthy": "og-good", "attention": "og-warn", "action": "og-bad"}
_STEPS = ((86_400 * 365, "year"), (86_400 * 30, "month"), (86_400, "day"), (3_600, "h"), (60, "min"))

_NOT_COUNTED = {"h", "min"}


def heading(text: str, level: int = 2) -> None:
    """Show a heading, as text."""
    with ui.element(f"h{level}"):
        ui.label(text)


def since(moment_us: int) -> str:
    """Say how long ago a moment was."""
    seconds = max(0, (clock.now_us() - moment_us) // 1_000_000)
    for length, noun in _STEPS:
        if seconds >= length:
            number = seconds // length
            return f"{number} {noun} ago" if noun in _NOT_COUNTED else f"{counted(number, noun)} ago"
    return "just now"


def moment(moment_us: int) -> ui.label:
    """Show how long ago a moment was, and exactly when for who points at it."""
    label = ui.label(since(moment_us)).classes("og-soft og-small")
    with label:
        ui.tooltip(f"{clock.iso_from_us(moment_us)} UTC")
    return label


def summary(commit: "Commit") -> str:
    """Return what a commit says about itself, or what kind it is."""
    message = commit.metadata.get("message")
    return shorten(str(message)) if message else commit.kind.value.replace("_", " ")
