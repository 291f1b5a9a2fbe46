"""One commit: what is known of it, the graph as it was then, and what it changed."""

from typing import TYPE_CHECKING

from nicegui import ui

from omnigraph.console.history.changes_part import change_list
from omnigraph.console.history.words import exactly, kind_of, short_id
from omnigraph.console.states import empty, fetched
from omnigraph.console.words import heading, since

if TYPE_CHECKING:
    from omnigraph.changes.paging import ChangePage
    from omnigraph.console.frame import View
    from omnigraph.manifest.commits import Commit

CHANGES_PER_PAGE = 50
_PLACES = (("overview", "Overview"), ("explore", "Explore"), ("query", "Query"))


def commit_part(view: "View", commit_id: str, changes_from: str) -> None:
    """Show a commit; `changes_from` is where the page of its changes begins."""
    ui.link("← All commits", view.address()).classes("og-small")
    with ui.element("section").classes("og-card"):
        fetched(lambda: view.source.commit(commit_id), lambda commit: _facts(view, commit))
    with ui.element("section").classes("og-card"):
        heading("What it changed")
        fetched(
            lambda: view.source.changes(commit_id, page_token=changes_from or None, limit=CHANGES_PER_PAGE),
            lambda page: _changes(view, commit_id, page, is_first=not changes_from),
        )


def _facts(view: "View", commit: "Commit") -> None:
    commit_id = commit.graph_commit_id
    heading(commit.message or kind_of(commit).capitalize(), level=1)
    with ui.element("div").classes("og-row og-small").style("margin: 6px 0 14px"):
        ui.label("See the graph at this commit:").classes("og-soft")
        for page, title in _PLACES:
            ui.link(title, view.address(page, at=commit_id))
    with ui.element("dl").classes("og-list"):
        with _fact("Commit"), ui.element("div").classes("og-row"):
            ui.label(commit_id).classes("og-mono")
            ui.button(icon="content_copy", on_click=lambda: _copy(commit_id)).props(
                'flat dense round size=sm aria-label="Copy the id"'
            )
        with _fact("Made"):
            ui.label(f"{since(commit.created_at_us)} · {exactly(commit.created_at_us)}")
        with _fact("By"):
            ui.label(commit.actor_id or "nobody named")
        with _fact("Kind"):
            ui.label(kind_of(commit))
        with _fact("Branch"):
            ui.label(f"{commit.graph_branch}, graph version {commit.graph_version}")
        _parent(view, "Parent", commit.parent_commit_id)
        _parent(view, "Merged", commit.merged_parent_commit_id)


def _fact(name: str) -> ui.element:
    with ui.element("dt"):
        ui.label(name)
    return ui.element("dd")


def _parent(view: "View", name: str, commit_id: str | None) -> None:
    if commit_id is not None:
        with _fact(name):
            link = ui.link(short_id(commit_id), view.address(commit=commit_id)).classes("og-mono")
            link.props["title"] = commit_id


def _copy(text: str) -> None:
    ui.clipboard.write(text)
    ui.notify("The id was copied.")


def _changes(view: "View", commit_id: str, page: "ChangePage", *, is_first: bool) -> None:
    if not page.changes:
        empty("No entity changed.", "Schema changes and maintenance leave the data as it is.")
        return
    change_list(page.changes)
    if is_first and page.next_page_token is None:
        return
    with ui.element("nav").classes("og-row").props('aria-label="Pages of changes"'):
        if not is_first:
            ui.link("First changes", view.address(commit=commit_id))
        if page.next_page_token is not None:
            ui.link("Next changes", view.address(commit=commit_id, changes=page.next_page_token))
