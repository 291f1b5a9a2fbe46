"""Changed entities as text."""

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

from omnigraph.base.values import Json
from omnigraph.cli.output import Grid, Text, TextColumn

if TYPE_CHECKING:  # the result classes live beside code that imports Lance
    from omnigraph.changes.diff import TableCounts
    from omnigraph.changes.entities import EntityChange, Image
    from omnigraph.changes.feed import FeedPage

_MARKS = {"insert": "+", "update": "~", "delete": "-"}


def changes_text(changes: "Iterable[EntityChange]") -> Text:
    """List changes, one per line: what happened, to what, and the values that differ."""
    listed = list(changes)
    if not listed:
        return ["nothing changed"]
    rows = tuple((_MARKS[change.op], change.type.name, change.id, _difference(change)) for change in listed)
    return [
        Grid(
            columns=(
                TextColumn(title=""),
                TextColumn(title="type"),
                TextColumn(title="id", is_whole=True),
                TextColumn(title="values"),
            ),
            rows=rows,
            plain=tuple(f"{mark} {name} {id_} {values}".rstrip() for mark, name, id_, values in rows),
        )
    ]


def counts_text(counts: "Iterable[TableCounts]") -> Text:
    """List how much changed, one table per line."""
    listed = list(counts)
    if not listed:
        return ["nothing changed"]
    return [counts_grid(listed)]


def counts_grid(tables: "Iterable[TableCounts]") -> Grid:
    """Lay out how much changed in each table."""
    return Grid(
        columns=(
            TextColumn(title="table", is_whole=True),
            TextColumn(title="inserted", justify="right"),
            TextColumn(title="updated", justify="right"),
            TextColumn(title="deleted", justify="right"),
        ),
        rows=tuple(
            (table.table_key, f"{table.inserted:,}", f"{table.updated:,}", f"{table.deleted:,}") for table in tables
        ),
    )


def feed_text(pages: "list[FeedPage]") -> Text:
    """List blocks, oldest first, then the cursor."""
    from omnigraph.documents.changes import feed_blocks

    lines: list[str | Grid] = []
    for cause, changes in feed_blocks(pages):
        actor = f" actor={cause.actor_id}" if cause.actor_id else ""
        lines.append(f"{cause.graph_commit_id} {cause.kind.value} branch={cause.graph_branch}{actor}")
        lines.extend(changes_text(changes))
    lines.append(f"cursor: {pages[-1].cursor}")
    lines.append("caught up" if pages[-1].caught_up else "more is waiting: poll again with this cursor")
    return lines


def token_text(next_page_token: str | None) -> Text:
    """Say how to go on, if there is more."""
    return [f"more: --page-token {next_page_token}"] if next_page_token is not None else []


def _difference(change: "EntityChange") -> str:
    """Spell the values of an insert or a delete that are there, and of an update those that differ."""
    before, after = ({} if image is None else _facts(image) for image in (change.before, change.after))
    if change.before is None or change.after is None:
        return ", ".join(
            f"{name}={_spelled(value)}" for name, value in {**before, **after}.items() if value is not None
        )
    changed = [name for name in after if before.get(name) != after[name]]
    return ", ".join(f"{name}={_spelled(before.get(name))}→{_spelled(after[name])}" for name in changed)


def _facts(image: "Image") -> dict[str, Json]:
    endpoints = {} if image.endpoints is None else {"from": image.endpoints.source, "to": image.endpoints.target}
    return {**endpoints, **image.properties}


_TEXT_MAX = 60


def _spelled(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _TEXT_MAX else f"{text[: _TEXT_MAX - 1]}…"
