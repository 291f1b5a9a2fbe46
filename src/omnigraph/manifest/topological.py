"""All of a branch's history in one list: merged commits included, every commit before its parents. Pure."""

from collections.abc import Iterator

from omnigraph.manifest.ancestry import History, ancestors, parents_of
from omnigraph.manifest.commits import Commit, CommitId


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
