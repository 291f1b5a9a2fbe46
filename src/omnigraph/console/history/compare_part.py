"""Two branches compared: how far apart they are, what a merge would bring, and the merge itself."""

from typing import TYPE_CHECKING

from nicegui import ui

from omnigraph.base.units import counted
from omnigraph.console.history.changes_part import change_counts, change_list
from omnigraph.console.history.gathering import Distance, distance
from omnigraph.console.history.merge_part import merge_part
from omnigraph.console.states import empty, fetched
from omnigraph.console.words import heading

if TYPE_CHECKING:
    from omnigraph.console.frame import View
    from omnigraph.console.sources.protocol import BranchComparison

CHANGES_COMPARED = 200


def compare_part(view: "View", branches: list[str], source: str, into: str, page: int) -> None:
    """Show what one branch has that the other does not, and the merge."""
    ui.link("← All commits", view.address()).classes("og-small")
    with ui.element("section").classes("og-card"):
        heading("Compare and merge", level=1)
        _choice(view, branches, source, into)
        if not source or not into:
            empty("Choose two branches.", "You see what the first has that the second does not, and can merge it.")
            return
        if source == into:
            empty("These are the same branch.", "Choose another one on either side.")
            return
        fetched(lambda: distance(view.source, source, into), lambda found: _apart(found, source, into), lines=1)
    merge_part(view, source, into, page)
    with ui.element("section").classes("og-card"):
        heading(f"What {source} would bring to {into}")
        fetched(lambda: view.source.compare(source, into, limit=CHANGES_COMPARED), _comparison)


def _choice(view: "View", branches: list[str], source: str, into: str) -> None:
    def go(new_source: str, new_into: str) -> None:
        ui.navigate.to(view.address(source=new_source, into=new_into))

    sources, targets = ([*branches, name] if name and name not in branches else branches for name in (source, into))
    with ui.element("div").classes("og-pick").style("margin-top: 10px"):
        ui.select(sources, value=source or None, label="Merge", on_change=lambda event: go(event.value, into)).props(
            'dense outlined options-dense aria-label="Branch to merge"'
        )
        ui.select(targets, value=into or None, label="into", on_change=lambda event: go(source, event.value)).props(
            'dense outlined options-dense aria-label="Branch to merge into"'
        )
        ui.button(icon="swap_horiz", on_click=lambda: go(into, source)).props(
            'flat round aria-label="Swap the two branches"'
        )


def _apart(found: Distance, source: str, into: str) -> None:
    about = "" if found.is_exact else "at least "
    ahead, behind = counted(found.ahead, "commit"), counted(found.behind, "commit")
    ui.label(f"{source} is {about}{ahead} ahead of {into} and {about}{behind} behind it.").classes("og-soft").style(
        "margin-top: 10px"
    )


def _comparison(found: "BranchComparison") -> None:
    if not found.inserted + found.updated + found.deleted:
        empty("There is nothing to bring.")
        return
    change_counts(found.inserted, found.updated, found.deleted)
    change_list(found.changes)
    if not found.is_whole:
        ui.label(f"These are the first {len(found.changes):,} changes.").classes("og-soft og-small")
