"""The change feed: what one commit changed, and what changed along a branch."""

from typing import Any

from omnigraph.changes.feed import FeedPage
from omnigraph.changes.paging import PageLimits
from omnigraph.documents.changes import commit_changes_document, feed_page_document
from omnigraph.errors import BadRequest, BranchNotFound, CommitNotFound, InvalidTarget, PolicyDenied, SnapshotNotFound
from omnigraph.server.calls import Call, branch_named
from omnigraph.server.handlers.history import commit_named
from omnigraph.server.polls import FeedKey, PollKey, SeenHead
from omnigraph.server.replies import Reply, document_reply


async def commit_changes(call: Call) -> Reply:
    """Show what a commit changed; one whose branch the actor may not read is answered like one that there is not."""
    commit_id = call.arguments["commit_id"]
    given = call.parameters()
    limits = _limits(given)
    missing = CommitNotFound(f"commit '{commit_id}' not found", id=commit_id)
    try:
        commit = await call.read(lambda: commit_named(call, given.get("by")))
        call.allow(branch=commit.graph_branch)
    except (CommitNotFound, SnapshotNotFound, InvalidTarget, PolicyDenied) as error:
        raise missing from error

    def work() -> Any:
        changes = call.graph.changes.of_commit(commit.graph_commit_id, **_filters(given))
        page = changes.page(page_token=given.get("page_token"), limits=limits)
        return commit_changes_document(changes.cause, page.changes, next_page_token=page.next_page_token)

    try:
        return document_reply(await call.read(work))
    except SnapshotNotFound as error:
        raise missing from error


async def poll(call: Call) -> Reply:
    """Deliver what changed on a branch behind a cursor, commit by commit."""
    given = call.parameters()
    branch = branch_named(given.get("branch"))
    limits = _limits(given)
    if sum(name in given for name in ("cursor", "start", "page_token")) > 1:
        raise BadRequest("A poll goes on from `cursor`, `start` or `page_token`; give one of them.")
    call.allow(branch=branch)
    polls = call.service.polls
    feed = _feed_key(call, branch, given)
    head = await _seen_head(call, branch)
    cursor = given.get("cursor")
    if cursor is not None and polls.is_at_end(feed, head, cursor):
        page = FeedPage(blocks=(), cursor=cursor, caught_up=True, next_page_token=None)
        return document_reply(feed_page_document(page))

    def work() -> tuple[bytes, SeenHead, str]:
        # What is asked for may be newer than the look that all share, so the feed looks for itself.
        followed = call.graph.changes.feed(branch, **_filters(given))
        page = followed.poll(cursor=cursor, start=given.get("start"), page_token=given.get("page_token"), limits=limits)
        seen = SeenHead(followed.head.graph_commit_id, followed.head_snapshot.incarnation)
        return document_reply(feed_page_document(page)).body, seen, followed.head_cursor

    async def make() -> bytes:
        body, seen, end = await call.read(work)
        polls.know_end(feed, seen, end)
        return body

    place = (cursor, given.get("start"), given.get("page_token"), limits)
    return Reply(await polls.page(PollKey(feed, head, place), make))


async def _seen_head(call: Call, branch: str) -> SeenHead:
    """Return the head that the shared look finds; what is no branch fails as the feed itself says it."""
    try:
        return SeenHead.of(await call.head(branch))
    except BranchNotFound:
        await call.read(lambda: call.graph.changes.feed(branch))
        raise


def _feed_key(call: Call, branch: str, given: dict[str, Any]) -> FeedKey:
    return call.at.graph_id, branch, tuple(tuple(chosen) for chosen in _filters(given).values())


def _limits(given: dict[str, Any]) -> PageLimits:
    limit = given.get("limit")
    if limit == 0:
        raise BadRequest("`limit` must be at least 1.")
    return PageLimits() if limit is None else PageLimits(changes=limit)


def _filters(given: dict[str, Any]) -> dict[str, Any]:
    return {"kinds": given.get("kind", ()), "types": given.get("type", ()), "ops": given.get("op", ())}
