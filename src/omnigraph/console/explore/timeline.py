"""The slider through the commits of a branch: the same picture at another time."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from nicegui import ui
from nicegui.events import GenericEventArguments

from omnigraph.base.units import shorten

if TYPE_CHECKING:
    from omnigraph.drawing.picture import Picture
    from omnigraph.manifest.commits import Commit

COMMITS_MAX = 200


def line_of(commits: "Sequence[Commit]") -> "list[Commit]":
    """Return the states that the branch itself has had, oldest first: those that merges brought are not among them."""
    known = {commit.graph_commit_id: commit for commit in commits}
    line: list[Commit] = []
    at = commits[0].graph_commit_id if commits else None
    while at is not None and at in known:
        line.append(known[at])
        at = known[at].parent_commit_id
    return line[::-1]


def commit_text(commit: "Commit") -> str:
    """Say when a commit was made, what it was, and what its author said."""
    made = datetime.fromtimestamp(commit.created_at_us / 1_000_000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    kind = commit.kind.value.replace("_", " ")
    return f"{made} UTC · {kind}" + (f" · {shorten(commit.message, 90)}" if commit.message else "")


def changes_text(picture: "Picture") -> str:
    """Say how many nodes and edges came and went since the commit that a picture shows."""
    came, went = picture.changes()
    if not came and not went:
        return "Nothing that is shown here came or went since this commit."
    return f"{came:,} came, {went:,} went since this commit."


class Timeline:
    """The slider, its two buttons and its line of text."""

    def __init__(self, line: "Sequence[Commit]", at: str, move: "Callable[[str | None], Awaitable[None]]") -> None:
        self._line = line
        self._move = move
        ids: list[str] = [commit.graph_commit_id for commit in line]
        last = max(len(line) - 1, 0)
        self._place = ids.index(at) if at in ids else last
        with ui.element("div").classes("og-time"):
            ui.button(icon="chevron_left", on_click=lambda: self._step(-1)).props(
                'flat dense round aria-label="Earlier commit"'
            )
            self._slider = ui.slider(min=0, max=last or 1, step=1, value=self._place)
            self._slider.props('snap aria-label="Commit"').on("change", self._released)
            self._slider.on_value_change(lambda: self._say(int(self._slider.value)))
            ui.button(icon="chevron_right", on_click=lambda: self._step(1)).props(
                'flat dense round aria-label="Later commit"'
            )
            if not last:
                self._slider.disable()
        self._text = ui.label().classes("og-small og-wrap")
        self._said = ui.label().classes("og-small").props("role=status")
        self._say(self._place)

    def tell(self, text: str) -> None:
        """Say what is different at the commit."""
        self._said.text = text

    def _say(self, place: int) -> None:
        if not self._line:
            return
        commit = self._line[min(place, len(self._line) - 1)]
        newest = " · newest" if place >= len(self._line) - 1 else ""
        self._text.text = commit_text(commit) + newest

    async def _released(self, event: GenericEventArguments) -> None:
        await self._go(int(event.args if isinstance(event.args, (int, float)) else self._slider.value))

    async def _step(self, by: int) -> None:
        await self._go(self._place + by)

    async def _go(self, place: int) -> None:
        place = min(max(place, 0), len(self._line) - 1)
        if place == self._place or not self._line:
            return
        self._place = place
        self._slider.value = place
        self._say(place)
        await self._move(None if place == len(self._line) - 1 else self._line[place].graph_commit_id)
