"""How a query was answered: its steps, what was expected of each, what it left, and how long it took."""

from typing import TYPE_CHECKING

from nicegui import ui

from omnigraph.base.units import counted

if TYPE_CHECKING:
    from omnigraph.query.plan.explain import ExplainedStep, Explanation


def show_steps(explanation: "Explanation") -> None:
    """Show the steps as a table, inner ones indented."""
    longest = max((step.did.seconds for step in explanation.steps if step.did is not None), default=0.0)
    with ui.element("div").classes("og-scroll"), ui.element("table").classes("og-table"):
        with ui.element("thead"), ui.element("tr"):
            for title, is_number in (
                ("Step", False),
                ("Expected rows", True),
                ("Rows", True),
                ("ms", True),
                ("", False),
            ):
                with ui.element("th").classes("og-number" if is_number else ""):
                    ui.label(title)
        with ui.element("tbody"):
            for step in explanation.steps:
                _row(step, longest)
    took = "" if explanation.seconds is None else f" in {explanation.seconds * 1_000:,.1f} ms"
    ui.label(f"{counted(explanation.rows or 0, 'row')}{took}. Times of steps include the steps inside them.").classes(
        "og-small og-soft"
    )
    ui.label(f"Answered by: {explanation.way.name}, because {explanation.way.reason}.").classes("og-small og-soft")
    for read in explanation.reads:
        ui.label(f"Read from storage: {read}").classes("og-small og-soft og-wrap")


def _row(step: "ExplainedStep", longest: float) -> None:
    did = step.did
    expected = "" if step.estimated_rows is None else f"{step.estimated_rows:,.0f}"
    with ui.element("tr"):
        with ui.element("td"):
            ui.label(step.text).classes("og-step").style(f"padding-left: {step.depth * 18}px; min-width: 180px")
        for text in (
            expected,
            "" if did is None else f"{did.rows:,}",
            "" if did is None else f"{did.seconds * 1_000:,.3f}",
        ):
            with ui.element("td").classes("og-number"):
                ui.label(text)
        with ui.element("td").style("width: 22%; min-width: 60px; vertical-align: middle"):
            if did is not None and longest:
                share = max(did.seconds / longest * 100, 0.5)
                ui.element("div").classes("og-bar").style(f"width: {share:.1f}%").props("aria-hidden=true")
