"""What a part of a page shows while it waits, when there is nothing, and when something went wrong."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from nicegui import ui

from omnigraph.base.logs import logger_of
from omnigraph.errors import OmniError, Unauthorized

FoundT = TypeVar("FoundT")
_log = logger_of(__name__)


def empty(title: str, text: str = "") -> None:
    """Say that there is nothing, and what to do about it."""
    with ui.element("div").classes("og-empty"):
        ui.label(title)
        if text:
            ui.label(text).classes("og-small")


def waiting(lines: int = 3) -> None:
    """Show where something will be."""
    with ui.element("div").props('role=status aria-label="Loading"').classes("w-full"):
        for line in range(lines):
            ui.skeleton().style(f"height: 18px; margin: 8px 0; width: {90 - line * 17 % 50}%")


def failure(error: Exception, retry: "Callable[[], object] | None" = None) -> None:
    """Say what went wrong, in the words that the command line has for it."""
    with ui.element("div").classes("og-card og-failure").props("role=alert"):
        if isinstance(error, Unauthorized):
            ui.label("Your token is no longer accepted.").classes("og-bad")
            ui.link("Sign in again", "/leave")
            return
        if isinstance(error, OmniError):
            ui.label(error.message).classes("og-wrap").style("white-space: pre-wrap")
        else:
            _log.error("a page failed", exc_info=error)
            ui.label("This part of the page failed; the log of the console says why.")
        if retry is not None:
            ui.button("Try again", on_click=retry).props("flat dense")


def fetched(
    fetch: Callable[[], Awaitable[FoundT]],
    show: "Callable[[FoundT], object]",
    *,
    lines: int = 3,
    is_quiet_later: bool = False,
) -> "Callable[[], Awaitable[None]]":
    """Show a part of a page when its data is there; until then, and if it fails, say so. Returns how to load it anew.

    With `is_quiet_later` what is there stays until what is new has come. Fetching must not touch the page; showing must
    not wait, unless it is a coroutine that does so by itself.
    """
    box = ui.element("div").classes("w-full")
    turn = 0

    async def load() -> None:
        nonlocal turn
        turn += 1
        mine = turn
        if mine == 1 or not is_quiet_later:
            box.clear()
            with box:
                waiting(lines)
        try:
            found = await fetch()
        except Exception as error:  # noqa: BLE001 — the boundary of a part of a page
            if mine == turn and not box.is_deleted:
                box.clear()
                with box:
                    failure(error, load)
            return
        if mine != turn or box.is_deleted:
            return
        box.clear()
        with box:
            outcome = show(found)
            if asyncio.iscoroutine(outcome):
                await outcome

    ui.timer(0, load, once=True)
    return load
