"""An answer in its shapes: table, graph, chart, and the steps that found it."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from nicegui import ui

from omnigraph.base.ids import is_ulid
from omnigraph.base.units import counted
from omnigraph.base.values import dataclass
from omnigraph.console.asking.asked import VIEWS
from omnigraph.console.asking.cells import grid_options
from omnigraph.console.asking.charts import chart_option, choose_chart
from omnigraph.console.asking.drawn_rows import drawn_option
from omnigraph.console.asking.pictures import found_graph
from omnigraph.console.asking.steps import show_steps
from omnigraph.console.explore.parts import sign_mark
from omnigraph.console.states import empty, fetched
from omnigraph.documents.answer_files import answer_file
from omnigraph.documents.answers import Answer
from omnigraph.drawing.signs import signs_of
from omnigraph.manifest.commits import MAIN_BRANCH

if TYPE_CHECKING:
    from omnigraph.graphs.result import Result
    from omnigraph.query.plan.explain import Explanation
    from omnigraph.query.typed import CheckedRead

_TITLES = {"table": "Table", "graph": "Graph", "chart": "Chart", "steps": "Steps"}
_FILES = {
    "csv": ("CSV", "text/csv"),
    "json": ("JSON", "application/json"),
    "parquet": ("Parquet", "application/vnd.apache.parquet"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadAnswer:
    """What a read found: all rows here, the first of them for the browser."""

    result: "Result"
    rows: list[tuple[Any, ...]]
    seconds: float
    at: str
    is_dark: bool
    read: "CheckedRead | None"
    explain: "Callable[[], Awaitable[Explanation | None]]"


def show_answer(answer: ReadAnswer, view: str, on_view: Callable[[str], Any]) -> None:
    """Show an answer; `on_view` hears which shape is looked at."""
    _summary(answer)
    if not len(answer.result):
        empty("No rows.", "Nothing in this state of the graph fits the query.")
        return
    with ui.tabs().props('dense no-caps align=left inline-label aria-label="How to show the answer"') as tabs:
        tab_by_name = {name: ui.tab(name, _TITLES[name]) for name in VIEWS}
    tabs.set_value(tab_by_name[view])
    box = ui.element("div").style("width: 100%; min-width: 0; padding-top: 10px")

    def show(chosen: str) -> None:
        box.clear()
        with box:
            {"table": _table, "graph": _graph, "chart": _chart, "steps": _steps}[chosen](answer)

    def changed(event: Any) -> None:
        on_view(event.value)
        show(event.value)

    tabs.on_value_change(changed)
    show(view)


def _summary(answer: ReadAnswer) -> None:
    result = answer.result
    with ui.element("div").classes("og-row").props("role=status"):
        ui.label(f"{counted(len(result), 'row')} in {_spelled(answer.seconds)}").style("font-weight: 600")
        ui.label(f"branch {result.branch}, commit …{result.commit_id[-6:]}").classes("og-small og-soft")
        ui.element("div").classes("og-spread")
        with ui.element("div").classes("og-row"):
            for form, (title, _) in _FILES.items() if len(result) else ():
                ui.button(title, icon="download", on_click=partial(_download, answer, form)).props(
                    f'flat dense size=sm aria-label="Download {title}"'
                )
    if len(result) > len(answer.rows):
        ui.label(f"The page shows the first {len(answer.rows):,} of {len(result):,}; a download has all rows.").classes(
            "og-small og-warn"
        )


def _spelled(seconds: float) -> str:
    return f"{seconds * 1_000:,.0f} ms" if seconds < 1 else f"{seconds:,.1f} s"


async def _download(answer: ReadAnswer, form: str) -> None:
    at = answer.at
    whole = Answer(
        result=answer.result, branch=MAIN_BRANCH if is_ulid(at) else at, snapshot=at if is_ulid(at) else None
    )
    content = await asyncio.to_thread(answer_file, whole, form)
    name = answer.result.query_name.strip("_") or "query"
    ui.download.content(content, f"{name}.{form}", _FILES[form][1])


def _table(answer: ReadAnswer) -> None:
    options = grid_options(answer.result.columns, answer.rows)
    height = "auto" if options["domLayout"] == "autoHeight" else "min(64vh, 560px)"
    ui.aggrid(options).classes("og-grid").style(f"height: {height}")


def _chart(answer: ReadAnswer) -> None:
    choice = choose_chart(answer.result.columns, answer.rows)
    if choice is None:
        empty("There is no number to draw.", "Return one, such as count($a) as n beside $a.rank.")
        return
    if len(answer.result) > choice.points_max:
        ui.label(f"Only the first {choice.points_max:,} are drawn.").classes("og-small og-soft")
    ui.echart(chart_option(choice, answer.result.columns, answer.rows), renderer="svg").classes("og-drawn")


def _graph(answer: ReadAnswer) -> None:
    found = found_graph(answer.read, answer.result.columns, answer.rows)
    if found is None:
        empty("The rows hold no whole nodes.", "Return variables instead of their properties, such as $a and $b.")
        return
    if found.left_out:
        ui.label(
            f"{counted(len(found.picture.nodes), 'node')} are drawn; {found.left_out:,} more are in the rows."
        ).classes("og-small og-soft")
    if answer.read is None:
        ui.label("Lines are drawn for queries of the editor only, whose patterns are known here.").classes(
            "og-small og-soft"
        )
    counts = found.picture.count_by_type()
    signs = signs_of(counts)
    with ui.element("div").classes("og-row og-small"):
        for name, count in counts.items():
            sign_mark(signs[name])
            ui.label(f"{name} {count:,}")

    async def drawn() -> dict[str, Any]:
        return await asyncio.to_thread(drawn_option, found, signs, is_dark=answer.is_dark)

    fetched(drawn, lambda option: ui.echart(option, renderer="svg").classes("og-drawn"))


def _steps(answer: ReadAnswer) -> None:
    def show(explanation: "Explanation | None") -> None:
        if explanation is None:
            empty("A server does not tell the steps of a query.", "Open the console on the storage itself to see them.")
            return
        show_steps(explanation)

    fetched(answer.explain, show)
