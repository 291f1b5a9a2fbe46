"""Plans before something runs, progress while it runs, and what came of it."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from nicegui import ui

from omnigraph.base.units import counted, spell_bytes
from omnigraph.console.states import failure, fetched
from omnigraph.console.tables import PageColumn, paged_table
from omnigraph.console.words import heading
from omnigraph.documents import cleanup_document, optimize_document, verify_document

if TYPE_CHECKING:
    from omnigraph.console.frame import View
    from omnigraph.console.sources.upkeep import GraphUpkeep, UpkeepRun
    from omnigraph.maintenance.cleanup.report import CleanupReport
    from omnigraph.maintenance.optimize.report import OptimizeResult
    from omnigraph.maintenance.verify.report import VerifyReport

_LOOK_SECONDS = 0.3
_OPTIMIZE_COLUMNS = (
    PageColumn("table"),
    PageColumn("files", is_number=True),
    PageColumn("rewritten", is_number=True, is_wide=True),
    PageColumn("indexes"),
    PageColumn("note", is_wide=True),
)
_CLEANUP_COLUMNS = (
    PageColumn("table"),
    PageColumn("branch", is_wide=True),
    PageColumn("versions", is_number=True),
    PageColumn("bytes", is_number=True),
    PageColumn("note", is_wide=True),
)


class RunPanel:
    """The run under way, or the last one, kept up to date."""

    def __init__(self, view: "View", upkeep: "GraphUpkeep", on_end: Callable[[], Awaitable[None]]) -> None:
        self._view = view
        self._upkeep = upkeep
        self._on_end = on_end
        self._box = ui.element("div").classes("w-full").props("aria-live=polite")
        self._shown: tuple[int, bool] | None = None
        self._says: ui.label | None = None
        self._has_looked = False
        ui.timer(_LOOK_SECONDS, self._look)

    async def _look(self) -> None:
        run = self._upkeep.run
        is_first, self._has_looked = not self._has_looked, True
        if run is None:
            return
        state = (id(run), run.is_over)
        if not run.is_over and self._shown == state and self._says is not None:
            self._says.text = run.says
            return
        if self._shown == state:
            return
        self._shown = state
        self._box.clear()
        with self._box, ui.element("section").classes("og-card"):
            if run.is_over:
                self._ended(run)
            else:
                heading(f"{run.verb.capitalize()} is running")
                ui.linear_progress().props("indeterminate instant-feedback").classes("w-full")
                self._says = ui.label(run.says).classes("og-mono og-wrap")
        if run.is_over and not is_first:  # a run may be over before anybody saw it under way
            await self._on_end()

    def _ended(self, run: "UpkeepRun") -> None:
        if run.error is not None:
            heading(f"{run.verb.capitalize()} failed")
            failure(run.error)
            return
        heading(f"{run.verb.capitalize()} has ended")
        match run.verb:
            case "optimize":
                _optimized(self._view, run.result)
            case "cleanup":
                _cleaned(run.result)
            case _:
                _verified(run.result)
        for warning in run.warnings:
            ui.label(warning).classes("og-warn og-wrap")


def optimize_card(view: "View", upkeep: "GraphUpkeep", place: ui.element, *, is_allowed: bool) -> None:
    """Offer to show in a place what optimizing would do, and to do it."""
    branch = "main" if view.is_past else view.at
    heading("Optimize")
    ui.label(
        f"Merges small files and brings the indexes of {branch} up to date. No row changes; writers go on meanwhile."
    ).classes("og-soft")

    def plan() -> None:
        place.clear()
        with place, ui.element("section").classes("og-card"):
            heading("What optimize would do")
            fetched(lambda: upkeep.optimize_plan(branch), lambda result: _optimized(view, result))

    with ui.element("div").classes("og-row"):
        ui.button("Show the plan", on_click=plan).props("outline")
        _starter("Optimize now", lambda: upkeep.start_optimize(branch), is_allowed=is_allowed)


def cleanup_card(view: "View", upkeep: "GraphUpkeep", place: ui.element, *, is_allowed: bool) -> None:
    """Offer to show in a place what a cleanup would remove, and to remove it after a question."""
    heading("Clean up")
    ui.label(
        "Removes old versions of tables that no branch, reader or interrupted write needs. The past before them "
        "can no longer be read."
    ).classes("og-soft")
    keep = ui.number("Versions to keep", value=10, min=1, precision=0).props("dense outlined").style("width: 170px")

    def kept() -> int:
        return max(1, int(keep.value or 1))

    def plan() -> None:
        place.clear()
        with place, ui.element("section").classes("og-card"):
            heading("What cleanup would remove")
            fetched(lambda: upkeep.cleanup_plan(keep=kept()), _cleaned)

    async def ask() -> None:
        with ui.dialog() as dialog, ui.card():
            ui.label(f"Remove old versions of {view.source.graph_id}?").classes("text-h6")
            ui.label(f"The newest {kept()} of each table stay. What goes cannot be brought back.")
            with ui.element("div").classes("og-row"):
                ui.button("Remove", on_click=lambda: dialog.submit(True)).props("color=negative")
                ui.button("Cancel", on_click=lambda: dialog.submit(False)).props("flat")
        if await dialog:
            _begin(lambda: upkeep.start_cleanup(keep=kept()))

    with ui.element("div").classes("og-row"):
        ui.button("Show what would go", on_click=plan).props("outline")
        button = ui.button("Clean up now", on_click=ask)
        button.set_enabled(is_allowed)


def verify_card(upkeep: "GraphUpkeep") -> None:
    """Offer to check everything."""
    heading("Verify")
    ui.label("Checks that every file that history names is there and whole. Changes nothing.").classes("og-soft")
    is_deep = ui.checkbox("Read all data and compare checksums")
    _starter("Verify now", lambda: upkeep.start_verify(is_deep=bool(is_deep.value)), is_allowed=True)


def _starter(title: str, begin: Callable[[], object], *, is_allowed: bool) -> None:
    ui.button(title, on_click=lambda: _begin(begin)).set_enabled(is_allowed)


def _begin(begin: Callable[[], object]) -> None:
    from omnigraph.errors import OmniError

    try:
        begin()
    except OmniError as error:
        ui.notify(error.message, type="negative", multi_line=True)


def _optimized(view: "View", result: "OptimizeResult") -> None:
    document: Any = optimize_document(result)
    rows = [
        (
            each["table_key"],
            f"{each['fragments_removed']} → {each['fragments_added']}" if each["fragments_removed"] else "–",
            spell_bytes(each["bytes_read"]),
            ", ".join([*each["indexes_built"], *each["indexes_updated"]]) or "–",
            each["error"] or each["skipped"] or "",
        )
        for each in document["tables"]
        if each["fragments_removed"] or each["indexes_built"] or each["indexes_updated"] or each["error"]
    ]
    if not rows:
        ui.label("Nothing to do: files are large enough and indexes know every row.").classes("og-good")
        return
    words = "would be" if document["dry_run"] else "were"
    ui.label(f"{counted(len(rows), 'table')} {words} rewritten or indexed.")
    paged_table(_OPTIMIZE_COLUMNS, rows)
    if document["commit"]:
        ui.link("See the commit", view.address("history", at=document["branch"], commit=document["commit"]))


def _cleaned(report: "CleanupReport") -> None:
    document: Any = cleanup_document(report, uri="")
    rows = [
        (
            each["table_key"],
            each["branch"] or "main",
            f"{each['old_versions_removed']:,}",
            spell_bytes(each["bytes_removed"]),
            each["error"] or "",
        )
        for each in document["tables"]
        if each["bytes_removed"] or each["old_versions_removed"] or each["error"]
    ]
    if not rows:
        ui.label("Nothing to remove.").classes("og-good")
        return
    total = sum(each["bytes_removed"] for each in document["tables"])
    versions = sum(each["old_versions_removed"] for each in document["tables"])
    words = "were removed" if document["executed"] else "would go"
    ui.label(f"{counted(versions, 'version')} with {spell_bytes(total)} {words}.")
    readable = ", ".join(f"{branch} from version {first}" for branch, first in document["readable_from"].items())
    ui.label(f"Readable afterwards: {readable}.").classes("og-soft og-small og-wrap")
    paged_table(_CLEANUP_COLUMNS, rows)


def _verified(report: "VerifyReport") -> None:
    document: Any = verify_document(report)
    looked = (
        f"{counted(document['graph_versions'], 'graph version')}, {counted(document['files'], 'file')}, "
        f"{spell_bytes(document['bytes'])} in {document['duration_ms'] / 1_000:.1f} s"
    )
    if document["clean"]:
        ui.label(f"Everything is there: {looked}.").classes("og-good og-wrap")
        return
    ui.label(f"{counted(len(document['problems']), 'problem')}: {looked}.").classes("og-bad og-wrap")
    paged_table(
        (PageColumn("problem"), PageColumn("what")),
        [
            (each["kind"], ", ".join(f"{k}: {v}" for k, v in each.items() if k != "kind" and v))
            for each in document["problems"]
        ],
    )
