"""The page as a whole: one state, which every part shows and changes, and which is always in the address."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace

from nicegui import ui

from omnigraph.catalog.model import Catalog
from omnigraph.console.explore.answering import answered
from omnigraph.console.explore.canvas import Canvas, show_legend, show_names
from omnigraph.console.explore.card import NodeFacts, looked_up, show_card
from omnigraph.console.explore.finder import finder, show_hits
from omnigraph.console.explore.searching import Hits, found
from omnigraph.console.explore.state import ExploreState, Searched, state_of
from omnigraph.console.explore.style import EXPLORE_STYLE
from omnigraph.console.explore.timeline import COMMITS_MAX, Timeline, changes_text, line_of
from omnigraph.console.frame import View
from omnigraph.console.gatekeeper import PREFIX
from omnigraph.console.states import empty, failure, fetched
from omnigraph.drawing.asking import hops_of
from omnigraph.drawing.gathering import Gathered, Moment, gathered
from omnigraph.drawing.layout import Point, laid_out
from omnigraph.drawing.picture import NodeKey, Stub
from omnigraph.drawing.signs import signs_of
from omnigraph.drawing.tour import Opened, Tour
from omnigraph.errors import OmniError
from omnigraph.manifest.commits import MAIN_BRANCH, Commit

Drawn = tuple[Gathered, dict[NodeKey, Point]]


class Walk:
    """Someone's walk through a graph."""

    def __init__(self, view: View, state: ExploreState, catalog: Catalog, line: list[Commit]) -> None:
        self._view = view
        self._state = state
        self._catalog = catalog
        self._line = line
        self._signs = signs_of(node.name for node in catalog.nodes)
        self._turn = 0

    @classmethod
    async def begun(cls, view: View, parts: Mapping[str, str]) -> "Walk":
        """Begin where an address says."""
        branch = await _branch_of(view, parts.get("on", "")) if view.is_past else view.at
        catalog, commits = await asyncio.gather(
            view.source.catalog(branch), view.source.commits(branch, limit=COMMITS_MAX)
        )
        return cls(view, state_of(parts, at=view.at, branch=branch), catalog, line_of(commits))

    def show(self) -> None:
        """Build the page."""
        ui.add_css(EXPLORE_STYLE)
        ui.run_javascript("window.addEventListener('popstate', () => location.reload())")
        with ui.element("div").classes("og-card"):
            finder(self._catalog, self._state.searched, self._search)
            self._find = fetched(self._found, self._show_hits, lines=2)
        with ui.element("div").classes("og-explore"):
            with ui.element("div").classes("og-card"):
                self._stage = ui.element("div")
                with self._stage:
                    self._legend = ui.element("div")
                    self._canvas = Canvas(
                        is_dark=self._view.is_dark, pick=self._pick, expand=self._expand, more=self._more
                    )
                    self._timeline = Timeline(self._line, self._state.at, self._move)
                    self._names = ui.element("div")
                self._blank = ui.element("div")
                with self._blank:
                    empty("Nothing to look at yet", "Find a node above and choose it.")
                self._trouble = ui.element("div")
            with ui.element("div").classes("og-card"):
                self._card = fetched(self._facts, self._show_card)
        ui.timer(0, self._draw, once=True)

    # What is searched

    async def _search(self, searched: Searched) -> None:
        self._become(replace(self._state, searched=searched))
        await self._find()

    async def _found(self) -> Hits | None:
        searched = self._state.searched
        if not searched.is_asked and self._state.tour.steps:
            return None
        return await answered(self._view.source, found(self._catalog, searched, at=self._state.at))

    def _show_hits(self, hits: Hits | None) -> None:
        searched = self._state.searched
        if hits is None:
            return
        if not searched.is_asked:
            ui.label("Start with one of these, or search.").classes("og-small og-soft").style("margin-top: 10px")

        async def more() -> None:
            await self._search(replace(searched, pages=searched.pages + 1))

        show_hits(hits, searched=searched, signs=self._signs, pick=self._start, more=more)
        if searched.is_asked:
            ui.button("Close the results", on_click=lambda: self._search(Searched())).props("flat dense")

    async def _start(self, key: NodeKey) -> None:
        had_any = bool(self._state.tour.steps)
        await self._walk(self._state.tour.with_root(key), picked=key)
        if not had_any:
            await self._find()

    # What is drawn

    async def _walk(self, tour: Tour, picked: NodeKey | None = None) -> None:
        if not tour.steps:
            tour = Tour()
        picked = picked or self._state.picked
        if picked in tour.removed or not tour.steps:
            picked = None
        self._become(replace(self._state, tour=tour, picked=picked), is_step=True)
        await asyncio.gather(self._draw(), self._card())
        if not tour.steps:
            await self._find()

    async def _pick(self, key: NodeKey) -> None:
        self._become(replace(self._state, picked=key))
        await asyncio.gather(self._draw(), self._card())

    async def _expand(self, key: NodeKey) -> None:
        tour = self._state.tour
        for hop, _ in hops_of(self._catalog, key.type_name):
            if not tour.pages[Opened(owner=key, hop=hop)]:
                tour = tour.opened(key, hop)
        await self._walk(tour, picked=key)

    async def _more(self, stub: Stub) -> None:
        await self._walk(self._state.tour.opened(stub.owner, stub.hop))

    async def _toggle(self, type_name: str) -> None:
        self._become(replace(self._state, hidden=self._state.hidden ^ {type_name}))
        await self._draw()

    async def _move(self, commit_id: str | None) -> None:
        self._become(replace(self._state, at=commit_id or self._state.branch))
        await asyncio.gather(self._draw(), self._card())

    async def _draw(self) -> None:
        self._turn += 1
        turn = self._turn
        try:
            drawn = await self._drawn()
        except OmniError as error:
            self._trouble.clear()
            with self._trouble:
                failure(error, self._draw)
            return
        if turn == self._turn:
            self._trouble.clear()
            self._show_picture(*drawn)

    async def _drawn(self) -> Drawn:
        state, source = self._state, self._view.source
        now = Moment(at=state.branch, catalog=self._catalog)
        past = Moment(at=state.at, catalog=await source.catalog(state.at)) if state.is_past else None
        everything = await answered(source, gathered(state.tour, now, past))
        return everything, await asyncio.to_thread(laid_out, everything.picture, everything.stages)

    def _show_picture(self, everything: Gathered, places: dict[NodeKey, Point]) -> None:
        state = self._state
        has_any = bool(everything.picture.nodes)
        self._blank.set_visibility(not has_any)
        self._stage.set_visibility(has_any)
        picture = everything.picture.without_types(state.hidden)
        self._canvas.draw(picture, {node.key: places[node.key] for node in picture.nodes}, self._signs, state.picked)
        self._timeline.tell(changes_text(everything.picture) if state.is_past else "")
        self._legend.clear()
        with self._legend, ui.element("div").classes("og-row"):
            show_legend(everything, self._signs, state.hidden, self._toggle)
            ui.element("div").classes("og-spread")
            ui.button("Start over", on_click=lambda: self._walk(Tour())).props("flat dense")
        self._names.clear()
        with self._names:
            show_names(picture, self._pick, self._more, is_open=len(picture.nodes) <= 12)

    # The node that is looked at

    async def _facts(self) -> NodeFacts | None:
        state = self._state
        if state.picked is None:
            return None
        catalog = self._catalog if not state.is_past else await self._view.source.catalog(state.at)
        return await looked_up(self._view.source, catalog, state.picked, at=state.at, branch=state.branch)

    def _show_card(self, facts: NodeFacts | None) -> None:
        if facts is None:
            empty("No node chosen", "Choose one to see what it says, and what it is connected with.")
            return
        show_card(
            facts,
            catalog=self._catalog,
            tour=self._state.tour,
            sign=self._signs.get(facts.key.type_name),
            is_past=self._state.is_past,
            change=self._walk,
        )

    def _become(self, state: ExploreState, *, is_step: bool = False) -> None:
        """Take another state, and say it in the address; a step is one that the browser's back button undoes."""
        self._state = state
        address = PREFIX + self._view.address(at=state.at, **state.parts())
        (ui.navigate.history.push if is_step else ui.navigate.history.replace)(address)


async def _branch_of(view: View, wanted: str) -> str:
    """Return the branch along which a commit is looked at: the one that the address says, or its own, or main."""
    branches = await view.source.branches()
    own = wanted or (await view.source.commit(view.at)).graph_branch
    return own if own in branches else MAIN_BRANCH
