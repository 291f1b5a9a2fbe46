"""A consumer of a change feed: applies blocks to a plain dictionary, and complains about everything that cannot be."""

import io
import json
from collections.abc import Iterable
from typing import Any

from omnigraph.changes.entities import EntityChange, Image
from omnigraph.changes.feed import FeedPage
from omnigraph.changes.paging import PageLimits
from omnigraph.graph import Graph

State = dict[tuple[str, str], dict[str, Any]]
"""Records as an export writes them, by type name and id."""


def state_of(graph: Graph, **at: Any) -> State:
    """Read a snapshot through an export."""
    out = io.BytesIO()
    graph.export(out, **at)
    return state_from(out.getvalue().splitlines())


def state_from(lines: Iterable[bytes]) -> State:
    records = map(json.loads, lines)
    return {(record.get("type") or record["edge"], record["data"]["id"]): record for record in records}


def apply(state: State, changes: Iterable[EntityChange]) -> None:
    """Apply changes; each must fit the state it meets."""
    for change in changes:
        key = (change.type.name, change.id)
        before = None if change.before is None else record_of(change, change.before)
        assert state.get(key) == before, f"{change.op} of {key} does not meet its image before"
        assert (change.before is None, change.after is None) == (change.op == "insert", change.op == "delete")
        if change.after is None:
            del state[key]
        else:
            state[key] = record_of(change, change.after)
            assert state[key] != before


def record_of(change: EntityChange, image: Image) -> dict[str, Any]:
    """Spell an image as the record of an export."""
    data = {"id": change.id, **image.properties}
    if image.endpoints is None:
        return {"type": change.type.name, "data": data}
    return {"edge": change.type.name, "from": image.endpoints.source, "to": image.endpoints.target, "data": data}


def follow(graph: Graph, state: State, *, branch: str, limit: int = 1_000, **start: Any) -> str:
    """Poll until the head is reached, applying every complete poll; return the last cursor."""
    limits = PageLimits(changes=limit)
    cursor: str | None = None
    while True:
        pages = [poll(graph, branch=branch, limits=limits, **({"cursor": cursor} if cursor else start))]
        while (token := pages[-1].next_page_token) is not None:
            pages.append(poll(graph, branch=branch, limits=limits, page_token=token))
        for page in pages:
            assert all(len(page.blocks) <= 1 or len(block.changes) <= limit for block in page.blocks)
            for block in page.blocks:
                apply(state, block.changes)
        cursor = pages[-1].cursor
        assert cursor is not None
        if pages[-1].caught_up:
            return cursor


def poll(graph: Graph, **options: Any) -> FeedPage:
    """Poll once; a page has a cursor or a token, never both and never neither."""
    page = graph.changes.poll(**options)
    assert (page.cursor is None) == (page.caught_up is None) == (page.next_page_token is not None)
    return page
