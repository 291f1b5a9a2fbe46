"""The overview of a graph: its schema as a drawing, how much there is, what happened last, and how it is doing."""

import asyncio
from typing import TYPE_CHECKING

from nicegui import ui
from starlette.requests import Request

from omnigraph.base.units import counted, spell_bytes
from omnigraph.base.values import dataclass
from omnigraph.console.frame import View, framed
from omnigraph.console.schema_drawing import schema_diagram
from omnigraph.console.sources.protocol import GraphState, TypeCount
from omnigraph.console.states import empty, fetched
from omnigraph.console.words import STATUS_TONES, STATUS_WORDS, heading, moment, since, summary
from omnigraph.manifest.commits import MAIN_BRANCH

if TYPE_CHECKING:
    from omnigraph.catalog.model import Catalog
    from omnigraph.manifest.commits import Commit

_COMMITS_SHOWN = 8
_TYPES_SHOWN = 30
_STYLE = """
.og-overview { align-items: start; grid-template-columns: minmax(0, 3fr) minmax(0, 2fr); }
@media (max-width: 900px) { .og-overview { grid-template-columns: minmax(0, 1fr); } }
.og-schema svg { max-height: 560px; width: 100%; }
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    state: GraphState
    catalog: "Catalog"
    commits: "list[Commit]"


@ui.page("/g/{graph_id}/overview")
async def overview_page(request: Request, graph_id: str, at: str = MAIN_BRANCH) -> None:
    """Show the page."""
    async with framed(request, "overview", graph_id, at) as view:
        ui.add_css(_STYLE)
        fetched(lambda: _look(view), lambda found: _show(view, found), lines=6)


async def _look(view: View) -> _Found:
    state, catalog = await asyncio.gather(view.source.state(view.at), view.source.catalog(view.at))
    commits = await view.source.commits(state.branch, limit=_COMMITS_SHOWN)
    return _Found(state=state, catalog=catalog, commits=commits)


def _show(view: View, found: _Found) -> None:
    with ui.element("div").classes("og-main").style("padding: 0; max-width: none"):
        with ui.element("section").classes("og-card"):
            _head(view, found)
        with ui.element("div").classes("og-columns og-overview"):
            with ui.element("section").classes("og-card"):
                heading("Schema")
                _schema(view, found)
            with ui.element("div").classes("og-stack"):
                with ui.element("section").classes("og-card"):
                    heading("Types")
                    _types(view, found.state.counts)
                with ui.element("section").classes("og-card"):
                    heading("Latest commits")
                    _commits(view, found.commits)


def _head(view: View, found: _Found) -> None:
    nodes, edges = (sum(each.rows for each in found.state.counts if each.kind == kind) for kind in ("node", "edge"))
    newest = found.commits[0].created_at_us if found.commits else None
    with ui.element("div").classes("og-figures"):
        _figure("nodes", f"{nodes:,}")
        _figure("edges", f"{edges:,}")
        _figure("types", str(len(found.catalog.nodes) + len(found.catalog.edges)))
        _figure("last commit", "never" if newest is None else since(newest))
        size = _figure("size", "…")
    ui.label(view.source.uri).classes("og-soft og-small og-mono og-wrap").style("margin-top: 10px")
    upkeep = view.source.upkeep
    if upkeep is None:
        size.text = "–"
        ui.label("Health is for whoever has the storage: omnigraph health.").classes("og-soft og-small")
        return

    async def look() -> tuple[str, int, int]:
        report = await upkeep.health()
        tables = report.health.tables
        total = sum(fragment.bytes for each in tables if each.facts for fragment in each.facts.layout.fragments)
        return report.status.value, sum(each.needs_something for each in report.findings), total

    def show(told: tuple[str, int, int]) -> None:
        status, urgent, total = told
        size.text = spell_bytes(total)
        with ui.element("div").classes("og-row").style("margin-top: 8px"):
            ui.label(STATUS_WORDS[status]).classes(f"og-badge {STATUS_TONES[status]}")
            ui.link(
                f"{counted(urgent, 'finding')} to look at" if urgent else "Nothing to do.",
                view.address("maintenance", at=MAIN_BRANCH),
            ).classes("og-small")

    fetched(look, show, lines=1)


def _figure(name: str, text: str) -> ui.label:
    with ui.element("div").classes("og-figure"):
        value = ui.label(text).style("font-size: 19px; font-weight: 650; font-variant-numeric: tabular-nums")
        ui.label(name).classes("og-soft og-small")
    return value


def _schema(view: View, found: _Found) -> None:
    if not found.catalog.nodes:
        empty("This graph has no types yet.", "Give it a schema with omnigraph schema apply.")
        return
    counts = {f"{each.kind}:{each.type_name}": each.rows for each in found.state.counts}
    with ui.element("div").classes("og-scroll"):
        ui.mermaid(
            schema_diagram(found.catalog, counts),
            config={"theme": "dark" if view.is_dark else "neutral", "er": {"useMaxWidth": True}},
        ).classes("og-schema")


def _types(view: View, counts: tuple[TypeCount, ...]) -> None:
    ordered = sorted(counts, key=lambda each: (each.kind != "node", -each.rows, each.type_name))
    with ui.element("table").classes("og-table"):
        for each in ordered[:_TYPES_SHOWN]:
            with ui.element("tr"):
                with ui.element("td").classes("og-wrap"):
                    if each.kind == "node":
                        ui.link(each.type_name, view.address("explore", type=each.type_name))
                    else:
                        ui.label(each.type_name)
                with ui.element("td").classes("og-soft og-small"):
                    ui.label(each.kind)
                with ui.element("td").classes("og-number"):
                    ui.label(f"{each.rows:,}")
    if len(ordered) > _TYPES_SHOWN:
        ui.label(f"and {counted(len(ordered) - _TYPES_SHOWN, 'type')} more in the drawing").classes("og-soft og-small")


def _commits(view: View, commits: "list[Commit]") -> None:
    with ui.element("table").classes("og-table"):
        for commit in commits:
            with ui.element("tr"):
                with ui.element("td").classes("og-wrap"):
                    ui.link(summary(commit), view.address("history", commit=commit.graph_commit_id))
                with ui.element("td").classes("og-wide og-small og-soft"):
                    ui.label(commit.kind.value.replace("_", " "))
                with ui.element("td").classes("og-wide og-small og-soft og-wrap"):
                    ui.label(commit.actor_id or "")
                with ui.element("td").classes("og-number"):
                    moment(commit.created_at_us)
    ui.link("All commits", view.address("history")).classes("og-small")
