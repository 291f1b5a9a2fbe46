"""The state of a merge base, wherever a live branch still has it."""

from collections.abc import Iterable
from typing import Final

from omnigraph.errors import SnapshotNotFound
from omnigraph.manifest.addresses import Addresses
from omnigraph.manifest.ancestry import History, first_parent_line
from omnigraph.manifest.commits import Commit, CommitId
from omnigraph.manifest.snapshot import GraphSnapshot
from omnigraph.manifest.state import ManifestState

MERGE_OUTCOME: Final = "outcome"
"""The key under which the metadata of a merge says what it was."""
FAST_FORWARD: Final = "fast_forward"


def base_snapshot(
    addresses: Addresses, history: History, commit_id: CommitId, *, nearby: Iterable[ManifestState] = ()
) -> GraphSnapshot | None:
    """Return the graph version that a base made; None when it went with its branch. `nearby` is asked first.

    The branch of a base may be gone: two others have merged it. A merge that was a fast-forward has exactly the
    content of what it merged, so it stands in for it.
    """
    forwards = sorted(
        commit.graph_commit_id
        for commit in history.values()
        if commit.merged_parent_commit_id == commit_id and commit.metadata.get(MERGE_OUTCOME) == FAST_FORWARD
    )
    for candidate in (commit_id, *forwards):
        found = _snapshot_of(addresses, history, history[candidate], nearby)
        if found is not None:
            return found
    return None


def _snapshot_of(
    addresses: Addresses, history: History, commit: Commit, nearby: Iterable[ManifestState]
) -> GraphSnapshot | None:
    for state in nearby:
        if commit.graph_commit_id in first_parent_line(history, state.head.graph_commit_id):
            return state.snapshot_at(commit.graph_version, commit.graph_commit_id)
    try:
        return addresses.at_commit(commit.graph_commit_id).snapshot
    except SnapshotNotFound:
        return None
