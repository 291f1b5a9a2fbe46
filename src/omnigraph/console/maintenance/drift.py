"""Tables whose newest version is not the one that the graph pins, with the rows that differ."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from nicegui import ui

from omnigraph.base.units import counted
from omnigraph.console.states import fetched
from omnigraph.console.tables import PageColumn, paged_table
from omnigraph.console.words import heading
from omnigraph.documents import repair_document

if TYPE_CHECKING:
    from omnigraph.console.frame import View
    from omnigraph.console.sources.upkeep import GraphUpkeep
    from omnigraph.maintenance.repair.run import RepairReport

_CALM = "no_drift"
_COLUMNS = (
    PageColumn("table"),
    PageColumn("branch", is_wide=True),
    PageColumn("pinned", is_number=True),
    PageColumn("newest", is_number=True),
    PageColumn("what it is"),
)


def drift_card(view: "View", upkeep: "GraphUpkeep") -> None:
    """Show drift, if there is any; healing it is for somebody who has looked, on the command line."""
    heading("Drift")
    fetched(upkeep.drift, lambda report: _shown(view, report), lines=1)


def _shown(view: "View", report: "RepairReport") -> None:
    document: Any = repair_document(report, uri=view.source.uri)
    found = [each for each in document["tables"] if each["classification"] != _CALM or each["error"]]
    if not found:
        ui.label("Every table is at the version that the graph names.").classes("og-good")
        return
    ui.label(f"{counted(len(found), 'table')} changed outside of the graph.").classes("og-bad")
    paged_table(
        _COLUMNS,
        [
            (
                each["table_key"],
                each["branch"] or "main",
                str(each["manifest_version"]),
                str(each["lance_head_version"]),
                each["error"] or each["classification"].replace("_", " "),
            )
            for each in found
        ],
    )
    for each in found:
        _rows(each)
    ui.label("After looking, heal it on the command line:").classes("og-soft")
    ui.label(f"omnigraph repair {view.source.cli_address}").classes("og-mono og-wrap")


def _rows(table: Mapping[str, Any]) -> None:
    diff, broken = table.get("diff"), table.get("broken_constraints")
    if not diff:
        return
    counts = ", ".join(f"{counted(diff[f'rows_{word}'], 'row')} {word}" for word in ("added", "changed", "removed"))
    with ui.expansion(f"Rows of {table['table_key']}").props("dense"):
        ui.label(f"{counts}.")
        for sample in diff["samples"]:
            ui.label(f"{sample['op']} {sample['id']}").classes("og-mono og-small og-wrap")
        if broken and broken["total"]:
            ui.label(f"{counted(broken['total'], 'declared rule')} would be broken:").classes("og-bad")
            for sample in broken["samples"]:
                ui.label(str(sample)).classes("og-mono og-small og-wrap")
