"""How a graph is doing: what to do first, then every table, then what earlier runs gained."""

from collections.abc import Mapping, Sequence
from typing import Any

from nicegui import ui

from omnigraph.base.units import counted, spell_bytes
from omnigraph.console.tables import PageColumn, paged_table
from omnigraph.console.words import STATUS_TONES, STATUS_WORDS, heading

_TONES = {"critical": "og-bad", "error": "og-bad", "action": "og-bad", "warning": "og-warn", "attention": "og-warn"}
_MEMBERS_MAX = 50
_TABLE_COLUMNS = (
    PageColumn("table"),
    PageColumn("branch", is_wide=True),
    PageColumn("rows", is_number=True),
    PageColumn("size", is_number=True),
    PageColumn("files", is_number=True),
    PageColumn("indexed", is_number=True),
    PageColumn("versions", is_number=True, is_wide=True),
    PageColumn("reclaimable", is_number=True, is_wide=True),
    PageColumn("drift", is_wide=True),
)
_RUNS_SHOWN = 20


def show_status(document: Mapping[str, Any]) -> None:
    """Show one line about the graph, and what to do."""
    status = document["status"]
    tables = document["tables"]
    with ui.element("div").classes("og-row"):
        ui.label(STATUS_WORDS[status]).classes(f"og-badge {STATUS_TONES[status]}").style("font-size: 15px")
        ui.label(
            f"{counted(len(tables), 'table')}, {spell_bytes(sum(each['bytes'] for each in tables))}, "
            f"{spell_bytes(document['reclaimable_bytes'])} reclaimable"
        ).classes("og-soft")
    if not document["findings"]:
        ui.label("Nothing to do.").classes("og-soft")
    for finding in document["findings"]:
        _finding(finding)


def _finding(finding: Mapping[str, Any]) -> None:
    with ui.element("div").classes("og-finding"):
        tone = _TONES.get(finding["severity"], "og-soft")
        ui.label(finding["severity"]).classes(f"og-badge {tone}")
        with ui.element("div").style("min-width: 0"):
            ui.label(finding["message"]).classes("og-wrap").style("white-space: pre-wrap")
            if finding["fix"]:
                ui.label(finding["fix"]).classes("og-mono og-soft og-wrap")
            members: Sequence[Mapping[str, Any]] = finding.get("each", ())
            if members:
                with ui.expansion(f"Each of {len(members)}").props("dense"):
                    for member in members[:_MEMBERS_MAX]:
                        ui.label(member["message"]).classes("og-small og-wrap")


def show_tables(document: Mapping[str, Any]) -> None:
    """Show every table, those that need most first as health has them."""
    heading("Tables")
    paged_table(
        _TABLE_COLUMNS,
        [
            (
                each["table_key"],
                each["branch"] or "main",
                "?" if each["rows"] is None else f"{each['rows']:,}",
                spell_bytes(each["bytes"]),
                f"{each['fragments']:,}",
                "–" if each["coverage"] is None else f"{each['coverage']:.0%}",
                f"{each['versions']:,}",
                spell_bytes(each["reclaimable_bytes"]),
                each["drift"].replace("_", " "),
            )
            for each in document["tables"]
        ],
    )


def show_runs(document: Mapping[str, Any]) -> None:
    """Show earlier runs, newest first."""
    heading("Earlier runs")
    runs = document["runs"]
    if not runs:
        ui.label("Nobody has maintained this graph yet.").classes("og-soft")
        return
    with ui.timeline(side="right").props("dense").style("padding-left: 4px"):
        for each in runs[:_RUNS_SHOWN]:
            took = "" if each["duration_ms"] is None else f", {each['duration_ms'] / 1_000:.1f} s"
            where = f" of {each['branch']}" if each["branch"] else ""
            ui.timeline_entry(
                gained(each),
                title=f"{each['verb']}{where}",
                subtitle=each["at"].replace("T", " ").partition(".")[0].removesuffix("Z") + took,
                icon="error" if each["failed"] else "done",
                color="negative" if each["failed"] else "primary",
            )
    if len(runs) > _RUNS_SHOWN:
        ui.label(f"and {counted(len(runs) - _RUNS_SHOWN, 'run')} before them").classes("og-soft og-small")


def gained(run: Mapping[str, Any]) -> str:
    """Say in a few words what a run did."""
    if run["failed"]:
        first = run["failed"][0]
        return f"failed: {first['error'] or first['table_key'] or 'see the journal'}"
    found = run["gained"]
    parts = [
        f"files {found['fragments_removed']} → {found['fragments_added']}" if found["fragments_removed"] else "",
        f"{counted(found['indexes_built'], 'index')} built" if found["indexes_built"] else "",
        f"{counted(found['indexes_updated'], 'index')} updated" if found["indexes_updated"] else "",
        f"{counted(found['versions_removed'], 'version')} removed" if found["versions_removed"] else "",
        f"{spell_bytes(found['bytes_removed'])} freed" if found["bytes_removed"] else "",
        f"{counted(found['tables_repaired'], 'table')} repaired" if found["tables_repaired"] else "",
    ]
    return ", ".join(filter(None, parts)) or "nothing to do"
