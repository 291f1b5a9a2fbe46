"""The drawing of history: one row per commit, its lines as paths that are made of numbers only."""

from typing import TYPE_CHECKING

from nicegui import ui

from omnigraph.console.history.lanes import LaneRow, LinePart
from omnigraph.console.history.words import exactly, kind_of, short_id
from omnigraph.console.theme import TYPE_COLOURS
from omnigraph.console.words import since

if TYPE_CHECKING:
    from omnigraph.console.frame import View
    from omnigraph.console.history.gathering import HistoryPage
    from omnigraph.console.history.lanes import LanePiece

_COLOURS = tuple(TYPE_COLOURS[number] for number in (0, 1, 2, 6, 3, 7))
"""Those of the colours that stand out from white and from black as thin lines."""
_LANE_PIXELS, _LANES_ROOMY = 16, 6
_HEIGHT = 100
"""Rows are as high as their text; the drawing is stretched to that."""


def draw(page: "HistoryPage", view: "View") -> None:
    """Show one page of history, newest first."""
    step = _LANE_PIXELS if page.width <= _LANES_ROOMY else max(4, _LANE_PIXELS * _LANES_ROOMY // page.width)
    tips = page.history.branches_by_head
    with ui.element("div").classes("og-log").props('role=list aria-label="Commits, newest first"'):
        for row in page.rows:
            current = ui.element("div").classes("og-commit").props("role=listitem")
            if row.commit.graph_commit_id == view.at:
                current.props("aria-current=true")
            with current:
                _lanes(row, page, step)
                _said(row, page, view, tips.get(row.commit.graph_commit_id, []))


def _lanes(row: LaneRow, page: "HistoryPage", step: int) -> None:
    width = step * page.width + 6
    with ui.element("div").classes("og-lanes").props("aria-hidden=true").style(f"width: {width}px"):
        drawing = ui.element("svg").props(f'viewBox="0 0 {width} {_HEIGHT}" preserveAspectRatio="none"')
        by_branch: dict[str, list[str]] = {}
        for piece in row.pieces:
            by_branch.setdefault(piece.branch, []).append(_path(piece, row.lane, step))
        with drawing:
            for branch, paths in by_branch.items():
                ui.element("path").props(f'd="{" ".join(paths)}" stroke="{_colour(page, branch)}"')
        colour = _colour(page, row.commit.graph_branch)
        knot = ui.element("span").classes("og-knot").style(f"left: {_x(row.lane, step)}px; background: {colour}")
        if row.commit.merged_parent_commit_id is not None:
            knot.classes("og-knot-merge").style(f"border-color: {colour}")


def _colour(page: "HistoryPage", branch: str) -> str:
    return _COLOURS[page.colours.get(branch, 0) % len(_COLOURS)]


def _x(lane: int, step: int) -> int:
    return step * lane + step // 2 + 3


def _path(piece: "LanePiece", lane: int, step: int) -> str:
    edge, middle = _x(piece.lane, step), _HEIGHT // 2
    match piece.part:
        case LinePart.THROUGH:
            return f"M{edge} 0 V{_HEIGHT}"
        case LinePart.ARRIVES:
            return f"M{edge} 0 C{edge} {middle} {_x(lane, step)} 0 {_x(lane, step)} {middle}"
        case LinePart.LEAVES:
            return f"M{_x(lane, step)} {middle} C{_x(lane, step)} {_HEIGHT} {edge} {middle} {edge} {_HEIGHT}"


def _said(row: LaneRow, page: "HistoryPage", view: "View", tips: list[str]) -> None:
    commit = row.commit
    with ui.element("div").classes("og-said"):
        with ui.element("div").classes("og-what"):
            for branch in tips:
                tip = ui.label(branch).classes("og-tip").style(f"border-left-color: {_colour(page, branch)}")
                tip.props["title"] = branch
            title = commit.message or "no message"
            link = ui.link(title, view.address(commit=commit.graph_commit_id))
            link.props["title"] = title
            if not commit.message:
                link.classes("og-absent")
        with ui.element("div").classes("og-facts og-small og-soft"):
            ui.label(kind_of(commit)).classes("og-badge")
            ui.label(commit.actor_id or "").classes("og-actor").props["title"] = commit.actor_id or ""
            ui.label(short_id(commit.graph_commit_id)).classes("og-mono")
            moment = ui.label(since(commit.created_at_us)).classes("og-moment")
            moment.props["title"] = exactly(commit.created_at_us)
