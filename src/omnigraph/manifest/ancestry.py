"""The shape of history: ancestors over both parents, and the commits at which two histories part. Pure.

Ids and times say nothing here: clocks differ between machines, so only the parents count.
"""

import sys
from collections.abc import Iterator, Mapping
from heapq import heappop, heappush

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
            raise _lost(current, commit_id)
        found.add(current)
        waiting.extend(parents_of(history[current]))
    return found


def merge_bases(history: History, left: CommitId, right: CommitId) -> tuple[CommitId, ...]:
    """Return the best common ancestors of two commits, sorted: those that no other common ancestor descends from.

    Two histories that were merged into each other crosswise have several; unrelated ones have none. Looks only at what
    was made since they parted, unless they parted more than once.
    """
    met = _meeting_points(history, left, right)
    if len(met) <= 1:
        return tuple(met)
    common = ancestors(history, left) & ancestors(history, right)
    # With a commit all its ancestors are common, so what another common commit descends from is some parent in here.
    surpassed = {parent for commit_id in common for parent in parents_of(history[commit_id])}
    return tuple(sorted(common - surpassed))


def _meeting_points(history: History, left: CommitId, right: CommitId) -> set[CommitId]:
    """Walk back from both commits, newest first, until every way has come to a common commit, and return those.

    All best common ancestors are among them: whatever lies above one on a way to it belongs to one side only, so the
    walk goes on through it. A single one is therefore the best. Of several, one may descend from another on ways that
    were not walked.
    """
    names = {1: left, 2: right}
    both = 3
    sides: dict[CommitId, int] = {}
    walked: dict[CommitId, tuple[CommitId, ...]] = {}
    surpassed: set[CommitId] = set()
    waiting: list[tuple[int, CommitId]] = []

    def reach(commit_id: CommitId, side: int, version: int) -> None:
        reached = [(commit_id, side)]
        while reached:
            current, side = reached.pop()
            before = sides.get(current, 0)
            if before | side == before:
                continue
            sides[current] = before | side
            if current in walked:
                # What was walked through for one side is common after all, and so is everything found behind it.
                surpassed.update(walked[current])
                reached += [(parent, both) for parent in walked[current]]
            elif not before:
                heappush(waiting, (-version, current))

    reach(left, 1, sys.maxsize)
    reach(right, 2, sys.maxsize)
    while waiting:
        _, current = heappop(waiting)
        side = sides[current]
        if side == both:
            continue
        if current not in history:
            raise _lost(current, names[side])
        commit = history[current]
        walked[current] = tuple(parents_of(commit))
        for parent in walked[current]:
            reach(parent, side, commit.graph_version - 1)
    return {commit_id for commit_id, side in sides.items() if side == both} - surpassed


def _lost(commit_id: CommitId, descendant: CommitId) -> GraphCorrupt:
    return GraphCorrupt(f"Commit {commit_id}, an ancestor of {descendant}, is in no log.")


def first_parent_line(history: History, commit_id: CommitId) -> Iterator[CommitId]:
    """Yield a commit, its first parent, and so on to genesis: what a branch's own manifest can show."""
    current: CommitId | None = commit_id
    while current is not None:
        yield current
        current = history[current].parent_commit_id


def newest_first(history: History, head: CommitId) -> Iterator[Commit]:
    """Yield the head and everything before it, over both parents; no commit comes before one that was made from it.

    What a merge brought in follows right behind the merge. Neither ids nor times have a say.
    """
    reachable = ancestors(history, head)
    children = dict.fromkeys(reachable, 0)
    for commit_id in reachable:
        for parent in parents_of(history[commit_id]):
            children[parent] += 1
    ready = [head]
    while ready:
        commit = history[ready.pop()]
        yield commit
        for parent in parents_of(commit):
            children[parent] -= 1
            if children[parent] == 0:
                ready.append(parent)
