"""Changed entities, how much changed, and the change feed."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from omnigraph.base.values import Json
from omnigraph.documents.commits import graph_version_members

if TYPE_CHECKING:  # the result classes live beside code that imports Lance
    from omnigraph.changes.diff import Diff, TableCounts
    from omnigraph.changes.entities import EntityChange, Image
    from omnigraph.changes.feed import FeedPage
    from omnigraph.manifest.commits import Commit


def cause_document(cause: "Commit") -> dict[str, Json]:
    """Describe the commit that made changes; what it does not have is left out."""
    document: dict[str, Json] = {
        "graph_commit_id": cause.graph_commit_id,
        "parent_commit_id": cause.parent_commit_id,
        "merged_parent_commit_id": cause.merged_parent_commit_id,
        "authored_branch": cause.graph_branch,
        "actor_id": cause.actor_id,
        "authored_at": cause.created_at_us,
        "kind": cause.kind.value,
        **graph_version_members(cause.graph_version),
    }
    return {name: value for name, value in document.items() if value is not None}


def change_document(change: "EntityChange") -> Json:
    """Describe one change; an insert has no `before`, a delete no `after`."""
    document: dict[str, Json] = {
        "kind": change.type.kind,
        "type": {"id": change.type.type_id, "name": change.type.name},
        "id": change.id,
        "op": change.op.value,
    }
    for name, image in (("before", change.before), ("after", change.after)):
        if image is not None:
            document[name] = _image_document(image)
    return document


def changes_document(changes: "Iterable[EntityChange]") -> list[Json]:
    """Describe changes in their order."""
    return [change_document(change) for change in changes]


def counts_document(counts: "Iterable[TableCounts]") -> list[Json]:
    """Describe how much changed, table by table."""
    return [
        {
            "table_key": table.table_key,
            "inserted": table.inserted,
            "updated": table.updated,
            "deleted": table.deleted,
        }
        for table in counts
    ]


def commit_changes_document(cause: "Commit", changes: "Iterable[EntityChange]", *, next_page_token: str | None) -> Json:
    """Describe what a commit changed; the token is there only if there is more."""
    return {"cause": cause_document(cause), "changes": changes_document(changes), **_token(next_page_token)}


def diff_document(diff: "Diff", changes: "Iterable[EntityChange]", *, next_page_token: str | None) -> Json:
    """Describe what differs between two states; the token is there only if there is more."""
    return {**_compared(diff), "changes": changes_document(changes), **_token(next_page_token)}


def diff_counts_document(diff: "Diff", counts: "Iterable[TableCounts]") -> Json:
    """Describe how much differs between two states."""
    return {**_compared(diff), "tables": counts_document(counts)}


def feed_document(pages: "list[FeedPage]") -> Json:
    """Describe the pages of one poll as one answer; the parts of a large block are put together."""
    return {
        "blocks": [
            {"cause": cause_document(cause), "changes": changes_document(changes)}
            for cause, changes in feed_blocks(pages)
        ],
        "cursor": pages[-1].cursor,
        "caught_up": pages[-1].caught_up,
    }


def feed_page_document(page: "FeedPage") -> Json:
    """Describe one page of a poll as it is: what it does not have is left out."""
    document: dict[str, Json] = {
        "blocks": [
            {"cause": cause_document(block.cause), "changes": changes_document(block.changes)} for block in page.blocks
        ],
        **_token(page.next_page_token),
    }
    if page.cursor is not None:
        document |= {"cursor": page.cursor, "caught_up": page.caught_up}
    return document


def feed_blocks(pages: "list[FeedPage]") -> "list[tuple[Commit, list[EntityChange]]]":
    """Put the parts of large blocks together, over the pages of one poll."""
    found: list[tuple[Commit, list[EntityChange]]] = []
    for block in (block for page in pages for block in page.blocks):
        if found and found[-1][0] == block.cause:
            found[-1][1].extend(block.changes)
        else:
            found.append((block.cause, list(block.changes)))
    return found


def _compared(diff: "Diff") -> dict[str, Json]:
    return {"from": diff.before.commit_id, "to": diff.after.commit_id}


def _token(next_page_token: str | None) -> dict[str, Json]:
    return {"next_page_token": next_page_token} if next_page_token is not None else {}


def _image_document(image: "Image") -> Json:
    document: dict[str, Json] = {"properties": dict(image.properties)}
    if image.endpoints is not None:
        document["endpoints"] = {"from": image.endpoints.source, "to": image.endpoints.target}
    return document
