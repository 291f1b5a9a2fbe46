"""The state of a merge base, wherever a live branch still has it."""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from omnigraph.errors import SnapshotNotFound
from omnigraph.manifest.addresses import Addresses
from omnigraph.manifest.ancestry import History, first_parent_line
from omnigraph.manifest.commits import Commit, CommitId
from omnigraph.manifest.snapshot import GraphSnapshot
from omnigraph.manifest.state import ManifestState

MERGE_OUTCOME: Final = "outcome"
"""The key under which the metadata of a merge says what it was."""
FAST_FORWARD: Final = "fast_forward"
MERGED_PINS: Final = "merged_pins"
"""The key under which the metadata of a merge keeps what its source pinned elsewhere than its target."""


def base_snapshot(
    addresses: Addresses, history: History, commit_id: CommitId, *, nearby: Iterable[ManifestState] = ()
) -> GraphSnapshot | None:
    """Return the graph version that a base made; None when it cannot be told. `nearby` is asked first.

    The branch of a base may be gone: two others have merged it. A merge that was a fast-forward has exactly the
    content of what it merged, so it stands in for it; any other merge says what its source pinned.
    """
    found = _snapshot_of(addresses, history, history[commit_id], nearby)
    if found is not None:
        return found
    for merge in sorted(
        merges_of(history, {commit_id}), key=lambda merge: (not is_fast_forward(merge), merge.graph_commit_id)
    ):
        snapshot = _snapshot_of(addresses, history, merge, nearby)
        if snapshot is not None and is_fast_forward(merge):
            return snapshot
        if snapshot is not None and MERGED_PINS in merge.metadata:
            return _merged_snapshot(snapshot, history[commit_id], merge.metadata[MERGED_PINS])
    return None


def merges_of(history: History, commit_ids: Container[CommitId]) -> list[Commit]:
    """Return the merges that brought one of these commits to another branch."""
    return [commit for commit in history.values() if commit.merged_parent_commit_id in commit_ids]


def is_fast_forward(merge: Commit) -> bool:
    """Whether a merge has exactly the content of what it merged."""
    return merge.metadata.get(MERGE_OUTCOME) == FAST_FORWARD


def spell_merged_pins(source: GraphSnapshot, target: GraphSnapshot) -> dict[str, list[Any]]:
    """Spell what a merge's source pins elsewhere than its target, for the metadata of the merge."""
    return {
        str(pin.identity): [pin.ref, pin.version, pin.row_count]
        for key, pin in source.pins.items()
        if (pin.ref, pin.version) != (target.pins[key].ref, target.pins[key].version)
    }


def _merged_snapshot(merge: GraphSnapshot, merged: Commit, spelled: Mapping[str, Sequence[Any]]) -> GraphSnapshot:
    """Put together what a merge's source was: as the merge, but for the tables that the source had elsewhere."""
    pins = {}
    for key, pin in merge.pins.items():
        ref, version, row_count = spelled.get(str(pin.identity), (pin.ref, pin.version, pin.row_count))
        pins[key] = replace(pin, ref=ref, version=version, row_count=row_count)
    return replace(
        merge,
        branch=merged.graph_branch,
        graph_version=merged.graph_version,
        commit_id=merged.graph_commit_id,
        pins=pins,
    )


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
