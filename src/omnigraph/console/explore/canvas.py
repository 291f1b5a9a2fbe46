"""The canvas with the picture, and beside it the same in words for whoever does not use a mouse."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from nicegui import ui
from nicegui.events import GenericEventArguments

from omnigraph.base.units import counted
from omnigraph.console.explore.parts import sign_mark, text_button
from omnigraph.drawing.echart import NODE, STUB, echart_option
from omnigraph.drawing.gathering import LINKS_MAX, NODES_MAX, Gathered
from omnigraph.drawing.layout import Point
from omnigraph.drawing.picture import Mark, NodeKey, Picture, Stub
from omnigraph.drawing.signs import TypeSign

_NAMES_MAX = 60


class Canvas:
    """One chart, which stays where it is while its picture changes."""

    def __init__(
        self,
        *,
        is_dark: bool,
        pick: Callable[[NodeKey], Awaitable[None]],
        expand: Callable[[NodeKey], Awaitable[None]],
        more: Callable[[Stub], Awaitable[None]],
    ) -> None:
        self._is_dark = is_dark
        self._pick, self._expand, self._more = pick, expand, more
        self._picture = Picture(nodes=())
        self._chart = ui.echart({"series": [{"type": "graph", "data": []}]}).classes("og-canvas")
        self._chart.props('role=img aria-label="Picture of the graph; its nodes are listed below"')
        for event, handle in (("click", self._clicked), ("dblclick", self._clicked_twice)):
            self._chart.on(f"chart:{event}", handle, args=["data", "dataType"])

    def draw(
        self,
        picture: Picture,
        places: dict[NodeKey, Point],
        signs: dict[str, TypeSign],
        picked: NodeKey | None,
    ) -> None:
        """Show another picture; how far a person has zoomed stays."""
        self._picture = picture
        option = echart_option(picture, places, signs, picked=picked, is_dark=self._is_dark)
        self._chart.options.clear()
        self._chart.options.update(option)
        self._chart.update()

    async def _clicked(self, event: GenericEventArguments) -> None:
        what, number = _hit(event)
        if what == NODE and number < len(self._picture.nodes):
            await self._pick(self._picture.nodes[number].key)
        elif what == STUB and number < len(self._picture.stubs):
            await self._more(self._picture.stubs[number])

    async def _clicked_twice(self, event: GenericEventArguments) -> None:
        what, number = _hit(event)
        if what == NODE and number < len(self._picture.nodes):
            await self._expand(self._picture.nodes[number].key)


def _hit(event: GenericEventArguments) -> tuple[str, int]:
    data: Any = event.args.get("data") if isinstance(event.args, dict) else None
    if not isinstance(data, dict) or event.args.get("dataType") != "node" or not isinstance(data.get("at"), int):
        return "", 0
    return str(data.get("what")), max(data["at"], 0)


def show_legend(
    gathered: Gathered,
    signs: dict[str, TypeSign],
    hidden: frozenset[str],
    toggle: Callable[[str], Awaitable[None]],
) -> None:
    """Say which sign is which type and how many there are; a click hides or shows a type."""
    with ui.element("div").classes("og-legend").props('role=group aria-label="Types in the picture"'):
        for name, count in gathered.picture.count_by_type().items():
            pressed = "false" if name in hidden else "true"
            with (
                ui.element("button")
                .props(f'type=button aria-pressed={pressed} title="Show or hide"')
                .on("click", partial(toggle, name))
            ):
                sign_mark(signs.get(name))
                ui.label(f"{name} {count:,}")
    if gathered.is_cut:
        ui.label(
            f"Not everything is drawn: a picture ends at {counted(NODES_MAX, 'node')} and "
            f"{counted(LINKS_MAX, 'edge')} of a type."
        ).classes("og-small og-warn")


def show_names(
    picture: Picture,
    pick: Callable[[NodeKey], Awaitable[None]],
    more: Callable[[Stub], Awaitable[None]],
    *,
    is_open: bool,
) -> None:
    """List the nodes of the picture, so that they can be reached with a keyboard."""
    labels = {node.key: node.label for node in picture.nodes}
    with ui.element("details").props("open" if is_open else ""):
        with ui.element("summary").classes("og-small og-soft"):
            ui.label(f"{counted(len(picture.nodes), 'node')} in words").style("display: inline")
        with ui.element("div").classes("og-names"):
            for node in picture.nodes[:_NAMES_MAX]:
                with ui.element("div"):
                    text_button(_named(node.shown_label, node.mark), partial(pick, node.key))
        if len(picture.nodes) > _NAMES_MAX:
            ui.label(f"and {len(picture.nodes) - _NAMES_MAX:,} more").classes("og-small og-soft")
        for stub in picture.stubs:
            with ui.element("div"):
                text_button(f"{stub.shown_label}: {labels[stub.owner]} {stub.hop}", partial(more, stub))


def _named(label: str, mark: Mark) -> str:
    if not mark:
        return label
    return f"{label} ({'came' if mark is Mark.CAME else 'went'} since)"
