"""Which commits one branch has and another lacks, from lists that may end before history does. Pure."""

from collections.abc import Mapping, Sequence

from omnigraph.manifest.ancestry import parents_of
from omnigraph.manifest.commits import Commit


def known_ancestors(commit_by_id: Mapping[str, Commit], head: str) -> set[str]:
    """Return the head and all known commits before it, over both parents."""
    found: set[str] = set()
    waiting = [head]
    while waiting:
        commit_id = waiting.pop()
        if commit_id in found or commit_id not in commit_by_id:
            continue
        found.add(commit_id)
        waiting.extend(parents_of(commit_by_id[commit_id]))
    return found


def commits_to_bring(mine: Sequence[Commit], theirs: Sequence[Commit]) -> list[Commit]:
    """Return those commits of one line, oldest first, that a merge into the other would bring; lists are newest first.

    A merge that took over what the other has already brings nothing that is new there.
    """
    if not theirs:
        return [*reversed(mine)]
    by_id: dict[str, Commit] = {commit.graph_commit_id: commit for commit in (*theirs, *mine)}
    known = known_ancestors(by_id, theirs[0].graph_commit_id)
    return [
        commit
        for commit in reversed(mine)
        if commit.graph_commit_id not in known and commit.merged_parent_commit_id not in known
    ]
