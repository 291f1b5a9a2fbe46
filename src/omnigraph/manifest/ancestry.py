"""The shape of history: ancestors over both parents, and the commits at which two histories part. Pure.

Ids and times say nothing here: clocks differ between machines, so only the parents count.
"""

from collections.abc import Iterator, Mapping

from omnigraph.errors import GraphCorrupt
from omnigraph.manifest.commits import Commit, CommitId

History = Mapping[CommitId, Commit]
"""Commits by id; every commit that is reachable from the ones asked about must be there."""


def parents_of(commit: Commit) -> Iterator[CommitId]:
    """Yield the first parent and, for a merge, the second."""
    for parent in (commit.parent_commit_id, commit.merged_parent_commit_id):
        if parent is not None:
            yield parent


def ancestors(history: History, commit_id: CommitId) -> set[CommitId]:
    """Return a commit and everything before it, over both parents.

    Raises `GraphCorrupt` for a commit that the history does not know: leaving it out would silently give an older base.
    """
    found: set[CommitId] = set()
    waiting = [commit_id]
    while waiting:
        current = waiting.pop()
        if current in found:
            continue
        if current not in history:
            raise GraphCorrupt(f"Commit {current}, an ancestor of {commit_id}, is in no log.")
        found.add(current)
        waiting.extend(parents_of(history[current]))
    return found


def merge_bases(history: History, left: CommitId, right: CommitId) -> tuple[CommitId, ...]:
    """Return the best common ancestors of two commits, sorted: those that no other common ancestor descends from.

    Two histories that were merged into each other crosswise have several; unrelated ones have none.
    """
    common = ancestors(history, left) & ancestors(history, right)
    # With a commit all its ancestors are common, so what another common commit descends from is some parent in here.
    surpassed = {parent for commit_id in common for parent in parents_of(history[commit_id])}
    return tuple(sorted(common - surpassed))


def first_parent_line(history: History, commit_id: CommitId) -> Iterator[CommitId]:
    """Yield a commit, its first parent, and so on to genesis: what a branch's own manifest can show."""
    current: CommitId | None = commit_id
    while current is not None:
        yield current
        current = history[current].parent_commit_id
