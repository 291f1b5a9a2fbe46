"""The frame of every page: where one is, how to go elsewhere, keys, and what happens when a page fails."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from nicegui import ui
from nicegui.events import KeyEventArguments
from starlette.requests import Request

from omnigraph.base.ids import is_ulid
from omnigraph.base.values import dataclass
from omnigraph.console.addresses import PAGES, page_address
from omnigraph.console.gatekeeper import VISITOR
from omnigraph.console.sources.protocol import GraphSite, GraphSource
from omnigraph.console.states import failure
from omnigraph.console.theme import STYLE
from omnigraph.errors import OmniError, PolicyDenied
from omnigraph.manifest.commits import MAIN_BRANCH

DARK_COOKIE = "omnigraph_dark"
_KEYS = (
    ("Alt + 1 … 5", "open a page"),
    ("Alt + K", "go to the page's field"),
    ("Ctrl + Enter", "run the query"),
    ("Alt + /", "show these keys"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What a page is about."""

    site: GraphSite
    source: GraphSource
    page: str
    at: str
    """A branch, or the id of a commit."""
    is_dark: bool

    @property
    def is_past(self) -> bool:
        """Whether a commit is looked at, and not the newest state of a branch."""
        return is_ulid(self.at)

    def address(self, page: str | None = None, *, at: str | None = None, **parts: str | int | None) -> str:
        """Return the address of a page of this graph."""
        return page_address(self.source.graph_id, page or self.page, at=at or self.at, **parts)


def site_of(request: Request) -> GraphSite:
    """Return what the person who asks may see."""
    site: GraphSite = request.scope[VISITOR].site
    return site


@asynccontextmanager
async def framed(request: Request, page: str, graph_id: str, at: str) -> AsyncIterator[View]:
    """Build the frame of a page of a graph; what the page raises is shown in its place."""
    site = site_of(request)
    source = await site.graph(graph_id)
    is_dark = styled(request)
    view = View(site=site, source=source, page=page, at=at or MAIN_BRANCH, is_dark=is_dark)
    ids, branches = await _places(view)
    content = ui.element("main").classes("og-main").props("id=main")
    ui.page_title(f"{PAGES[page]} · {graph_id} · OmniGraph")
    with ui.element("header").classes("og-header") as header:
        _header(view, ids, branches)
    header.move(target_index=0)
    with ui.element("nav").classes("og-nav og-nav-low").props('aria-label="Pages"'):
        _links(view)
    _keyboard(view)
    with content:
        try:
            yield view
        except OmniError as error:
            failure(error)


def show_failed_page(error: Exception) -> None:
    """Show a page that could not be made, with a way on."""
    ui.add_css(STYLE)
    with ui.element("main").classes("og-main").props("id=main"):
        failure(error)
        ui.link("All graphs", "/")


def styled(request: Request) -> bool:
    """Set colours and fonts of a page; return whether it is dark."""
    ui.add_css(STYLE)
    ui.colors(primary="#0b5cad")
    ui.link("Skip to the content", "#main").classes("og-skip")
    chosen = request.cookies.get(DARK_COOKIE)
    dark = ui.dark_mode(None if chosen is None else chosen == "1")
    return bool(dark.value)


async def _places(view: View) -> tuple[list[str], list[str]]:
    try:
        ids = await view.site.graph_ids()
    except PolicyDenied:  # who may not list graphs may still look at one
        ids = [view.source.graph_id]
    return ids, await view.source.branches()


def _header(view: View, ids: list[str], branches: list[str]) -> None:
    graph_id = view.source.graph_id
    ui.link("OmniGraph", "/").classes("og-brand")
    if len(ids) > 1:
        ui.select(
            ids,
            value=graph_id,
            on_change=lambda event: ui.navigate.to(page_address(event.value, view.page)),
        ).props('dense outlined options-dense aria-label="Graph"')
    else:
        ui.label(graph_id).classes("og-wrap")
    known = branches if view.at in branches or view.is_past else [*branches, view.at]
    options = {name: name for name in known}
    if view.is_past:
        options[view.at] = f"commit …{view.at[-6:]}"
    ui.select(options, value=view.at, on_change=lambda event: ui.navigate.to(view.address(at=event.value))).props(
        'dense outlined options-dense aria-label="Branch or commit"'
    ).mark("at")
    if view.is_past:
        ui.link("back to main", view.address(at=MAIN_BRANCH)).classes("og-small")
    with ui.element("nav").classes("og-nav").props('aria-label="Pages"'):
        _links(view)
    ui.element("div").classes("og-spread")
    if view.source.is_read_only:
        ui.label("read-only").classes("og-badge og-soft")
    ui.button(icon="contrast", on_click=_toggle_dark).props('flat dense round aria-label="Light or dark"')
    ui.button(icon="keyboard", on_click=_show_keys).props('flat dense round aria-label="Keys"').classes("og-wide")


def _links(view: View) -> None:
    for name, title in PAGES.items():
        link = ui.link(title, view.address(name))
        if name == view.page:
            link.props("aria-current=page")


def _keyboard(view: View) -> None:
    pages = list(PAGES)

    def pressed(event: KeyEventArguments) -> None:
        if not event.action.keydown or not event.modifiers.alt:
            return
        digit = event.key.code.removeprefix("Digit")
        if digit in {"1", "2", "3", "4", "5"}:
            ui.navigate.to(view.address(pages[int(digit) - 1]))
        elif event.key.code == "KeyK":
            ui.run_javascript("document.querySelector('[data-focus] input, [data-focus] .cm-content')?.focus()")
        elif event.key.code == "Slash":
            _show_keys()

    ui.keyboard(on_key=pressed, ignore=[])


def _toggle_dark() -> None:
    ui.run_javascript(
        "const dark = !document.body.classList.contains('body--dark');"
        f"document.cookie = `{DARK_COOKIE}=${{dark ? 1 : 0}};path=/ui;max-age=31536000;samesite=strict`;"
        "location.reload();"
    )


def _show_keys() -> None:
    with ui.dialog() as dialog, ui.card():
        ui.label("Keys").classes("text-h6")
        for keys, meaning in _KEYS:
            with ui.element("div").classes("og-row"):
                ui.label(keys).classes("og-mono").style("min-width: 110px")
                ui.label(meaning)
        ui.button("Close", on_click=dialog.close).props("flat")
    dialog.open()
