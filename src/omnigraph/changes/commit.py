"""What one commit changed against its first parent."""

from collections.abc import Iterator
from contextlib import contextmanager

from omnigraph.changes.diff import Diff, TableCounts, diff_snapshots
from omnigraph.changes.entities import EntityChange
from omnigraph.changes.filters import ChangesRequest
from omnigraph.changes.kept import KeptDiffs
from omnigraph.changes.paging import ChangePage, PageLimits
from omnigraph.errors import (
    ChangeFeedGap,
    HistoricalVersionReclaimed,
    ParentlessCommit,
    SnapshotNotFound,
    StorageError,
)
from omnigraph.graphs.context import GraphContext
from omnigraph.manifest.commits import Commit, CommitId
from omnigraph.manifest.snapshot import GraphSnapshot
from omnigraph.manifest.state import ManifestState


class CommitChanges:
    """The entities that one commit changed; a commit that only moved things physically has none."""

    def __init__(self, cause: Commit, diff: Diff, kept: KeptDiffs) -> None:
        self.cause = cause
        self._diff = kept.known(diff)
        self._kept = kept

    def __iter__(self) -> Iterator[EntityChange]:
        """Yield every change, nodes first, by type name and id."""
        with gap_at(self.cause.graph_commit_id):
            yield from self._diff

    def counts(self) -> tuple[TableCounts, ...]:
        """Count the changes of every type that has any."""
        with gap_at(self.cause.graph_commit_id):
            return self._diff.counts()

    def page(self, *, page_token: str | None = None, limits: PageLimits | None = None) -> ChangePage:
        """Return one page: the first, or the one that a token of this very answer names."""
        with gap_at(self.cause.graph_commit_id):
            page = self._diff.page(page_token=page_token, limits=limits)
        self._kept.settle(self._diff, is_done=page.next_page_token is None)
        return page


def changes_of_commit(
    context: GraphContext, commit_id: str, request: ChangesRequest, kept: KeptDiffs | None = None
) -> CommitChanges:
    """Compare a commit with its first parent; the first commit of a graph has none (`ParentlessCommit`)."""
    located = context.addresses.at_commit(commit_id)
    cause = located.commit
    if cause.parent_commit_id is None:
        raise ParentlessCommit(
            f"Commit {commit_id} is the first of its graph; there is nothing that it could have changed.",
            reason="parentless_commit",
            graph_commit_id=commit_id,
        )
    parent = context.addresses.commit(cause.parent_commit_id)
    with gap_at(cause.graph_commit_id):
        before, after = (snapshot_of(located.state, commit) for commit in (parent, cause))
        diff = diff_snapshots(context, before, after, request)
    return CommitChanges(cause, diff, kept or KeptDiffs())


def snapshot_of(state: ManifestState, commit: Commit) -> GraphSnapshot:
    """Return the graph version that a commit on the first-parent line of a branch made."""
    return state.snapshot_at(commit.graph_version, commit.graph_commit_id)


@contextmanager
def gap_at(commit_id: CommitId) -> Iterator[None]:
    """Tell what cleanup took from the changes of a commit; repeating cannot help."""
    try:
        yield
    except HistoricalVersionReclaimed as error:
        raise _gap(commit_id, "cleanup removed a version that it needs") from error
    except SnapshotNotFound as error:
        # A graph that was migrated from an older format knows only the schema that it had then.
        raise _gap(commit_id, "nobody recorded the schema of its time") from error
    except StorageError as error:
        # A cleanup that runs beside this read may take files of a version that was there when it was opened.
        if error.details["storage_kind"] != "not_found":
            raise
        raise _gap(commit_id, "cleanup removed files that it needs") from error


def _gap(commit_id: CommitId, why: str) -> ChangeFeedGap:
    return ChangeFeedGap(
        f"What commit {commit_id} changed can no longer be told: {why}. Take a new baseline.",
        first_unreadable_commit_id=commit_id,
    )
