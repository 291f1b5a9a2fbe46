"""Mutations on the Query page: when they are refused, the question before them, and what they did."""

from typing import TYPE_CHECKING

from nicegui import ui

from omnigraph.base.units import counted

if TYPE_CHECKING:
    from omnigraph.console.frame import View
    from omnigraph.query.mutate.run import MutationResult


def refusal(view: "View") -> str | None:
    """Return why no mutation can be run here, or None."""
    if view.source.is_read_only:
        return "This console was opened with --read-only: it changes nothing."
    if view.is_past:
        return "A commit never changes: choose a branch above to run a mutation."
    return None


async def confirmed(title: str, branch: str) -> bool:
    """Ask whether a mutation is to be run."""
    with ui.dialog() as dialog, ui.card().props('role=alertdialog aria-label="Run the mutation?"'):
        ui.label(f"Run {title} on the branch {branch}?").classes("og-wrap").style("font-weight: 600")
        ui.label("It changes the graph as one commit, which History shows afterwards.").classes("og-soft")
        with ui.element("div").classes("og-row"):
            ui.button("Change the graph", on_click=lambda: dialog.submit(True)).props("unelevated no-caps")
            ui.button("Cancel", on_click=lambda: dialog.submit(False)).props("flat no-caps autofocus")
    answer = bool(await dialog)
    dialog.delete()
    return answer


def show_change(view: "View", result: "MutationResult") -> None:
    """Say what a mutation did, and where to see it."""
    nodes, edges = counted(result.affected_nodes, "node"), counted(result.affected_edges, "edge")
    with ui.element("div").props("role=status").classes("og-stack"):
        if result.commit is None:
            ui.label("Nothing changed, so there is no new commit.").style("font-weight: 600")
            return
        ui.label(f"Changed {result.branch}: {nodes}, {edges}.").style("font-weight: 600")
        commit_id = result.commit.graph_commit_id
        with ui.element("div").classes("og-row"):
            ui.link("See the commit in History", view.address("history", commit=commit_id))
            ui.label(f"commit {commit_id}").classes("og-mono og-soft og-wrap")
