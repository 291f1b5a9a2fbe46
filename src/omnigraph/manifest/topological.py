"""All of a branch's history in one list: merged commits included, every commit before its parents."""

from collections.abc import Iterator
from itertools import islice

from omnigraph.manifest.ancestry import History, ancestors, parents_of
from omnigraph.manifest.commits import Commit, CommitId
from omnigraph.manifest.log import CommitLog


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


def newest_commits(log: CommitLog, head: Commit, *, limit: int | None, merged: bool) -> list[Commit]:
    """Return the history behind a head, newest first: along the first parents, or with all that was merged."""
    history = newest_first(log.history(head), head.graph_commit_id) if merged else log.first_parents(head)
    return [*history] if limit is None else [*islice(history, max(limit, 0))]
