"""`graph.changes`: what users ask about changes."""

from collections.abc import Sequence

from omnigraph.changes.commit import CommitChanges, changes_of_commit
from omnigraph.changes.feed import COMMITS_DEFAULT, Feed, FeedPage
from omnigraph.changes.filters import ChangesRequest
from omnigraph.changes.kept import KeptDiffs
from omnigraph.changes.paging import PageLimits
from omnigraph.graphs.context import GraphContext
from omnigraph.manifest.commits import MAIN_BRANCH


class Changes:
    """The changes of one graph: of one commit, or along a branch."""

    def __init__(self, context: GraphContext) -> None:
        self._context = context
        self._kept = KeptDiffs()

    def of_commit(
        self,
        commit_id: str,
        *,
        kinds: Sequence[str] = (),
        types: Sequence[str] = (),
        ops: Sequence[str] = (),
        exclude_types: Sequence[str] = (),
    ) -> CommitChanges:
        """Compare a commit with its first parent; iterate over the result, or take pages of it."""
        request = ChangesRequest(kinds=kinds, types=types, ops=ops, exclude_types=exclude_types)
        return changes_of_commit(self._context, commit_id, request, self._kept)

    def feed(
        self,
        branch: str = MAIN_BRANCH,
        *,
        kinds: Sequence[str] = (),
        types: Sequence[str] = (),
        ops: Sequence[str] = (),
        exclude_types: Sequence[str] = (),
    ) -> Feed:
        """Look at a branch once and follow it up to there; all pages of one poll are best asked of one feed."""
        request = ChangesRequest(kinds=kinds, types=types, ops=ops, exclude_types=exclude_types)
        return Feed.of_branch(self._context, branch, request, self._kept)

    def poll(
        self,
        *,
        branch: str = MAIN_BRANCH,
        cursor: str | None = None,
        start: str | None = None,
        page_token: str | None = None,
        kinds: Sequence[str] = (),
        types: Sequence[str] = (),
        ops: Sequence[str] = (),
        exclude_types: Sequence[str] = (),
        limits: PageLimits | None = None,
        commits_max: int = COMMITS_DEFAULT,
    ) -> FeedPage:
        """Return the next blocks of a branch's feed, oldest first.

        Begin with `start` (`now`, the default, gives only a cursor; `beginning`; `after:<commit>`) and go on with the
        cursor of each answer. An answer with a page token instead of a cursor holds part of one large commit: ask
        with the token for the rest. Apply a block again if it comes again: delivery is at least once.
        """
        feed = self.feed(branch, kinds=kinds, types=types, ops=ops, exclude_types=exclude_types)
        return feed.poll(cursor=cursor, start=start, page_token=page_token, limits=limits, commits_max=commits_max)
